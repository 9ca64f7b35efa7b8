//! Files that something has happened to.

use proptest::prelude::*;

use super::super::parse::Parser;
use super::super::scan::{Scanned, scan_lines};
use super::*;

fn read(bytes: &[u8]) -> (Vec<Record>, Scanned) {
    let mut records = Vec::new();
    let scanned = scan_lines(bytes, &mut Parser::default(), |record, _| {
        records.extend(record);
        true
    });
    (records, scanned.expect("reading memory does not fail"))
}

/// Lines of every kind, and where each ends.
fn file() -> (Vec<Record>, Vec<u8>, Vec<usize>) {
    let records = vec![measured("a", 64, 50.0), traced(2), failed("b", Failure::Timeout { seconds: 1.5 }), traced(4)];
    let (mut bytes, mut ends) = (Vec::new(), Vec::new());
    for record in &records {
        bytes.extend(record.line().unwrap());
        ends.push(bytes.len());
    }
    (records, bytes, ends)
}

proptest! {
    #[test]
    fn any_bytes_are_read(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        let (records, scanned) = read(&bytes);
        prop_assert_eq!(records.len(), scanned.records);
    }

    #[test]
    fn a_file_that_was_cut_has_the_records_before(cut in any::<prop::sample::Index>()) {
        let (records, bytes, ends) = file();
        let cut = cut.index(bytes.len() + 1);
        let (found, scanned) = read(&bytes[..cut]);
        // A record is whole before the end of its line.
        let whole = ends.iter().filter(|end| **end <= cut + 1).count();
        prop_assert_eq!(&found[..], &records[..whole]);
        prop_assert_eq!(scanned.foreign, 0);
    }

    #[test]
    fn a_bit_that_flips_takes_its_own_line_and_the_next_at_most(
        at in any::<prop::sample::Index>(), bit in 0..8u32,
    ) {
        let (records, mut bytes, ends) = file();
        let at = at.index(bytes.len());
        bytes[at] ^= 1 << bit;
        let (found, _) = read(&bytes);
        let hit = ends.iter().filter(|end| **end <= at).count();
        let untouched: Vec<&Record> = records.iter().enumerate().filter(|(n, _)| *n != hit && *n != hit + 1).map(|(_, r)| r).collect();
        prop_assert!(untouched.iter().all(|record| found.contains(record)));
    }

    #[test]
    fn lines_between_records_change_nothing(noise in prop::collection::vec("[ -~]{0,60}", 1..4)) {
        let (records, _, _) = file();
        let mut bytes = Vec::new();
        for (n, record) in records.iter().enumerate() {
            bytes.extend(noise[n % noise.len()].as_bytes());
            bytes.push(b'\n');
            bytes.extend(record.line().unwrap());
        }
        prop_assert_eq!(read(&bytes).0, records);
    }
}

#[test]
fn numbers_beyond_all_bounds_and_deep_nests_are_no_records() {
    let line = String::from_utf8(measured("a", 64, 50.0).line().unwrap()).unwrap();
    let [format, later] = [FORMAT, FORMAT + 1].map(|format| format!("\"format\":{format}"));
    let (time, unknown) = ("\"time\":7", "\"made\":{\"mutant\":\"greedy\"},\"time\":7");
    for (part, other) in [(time, "\"time\":-1"), (time, "\"time\":1e400"), (time, unknown), (&*format, &*later)] {
        assert!(line.contains(part));
        let (records, scanned) = read(line.replace(part, other).as_bytes());
        assert_eq!((records.len(), scanned.torn), (0, 0), "{other}");
    }
    let deep = format!("{}\n", "[".repeat(100_000));
    assert_eq!(read(deep.as_bytes()).1.foreign, 1);
}

/// By its name a micro-kernel is known again: one that was given to another schedule would have its figures.
#[test]
fn a_name_that_does_not_follow_from_the_trace_is_no_record() {
    let record = measured("a", 64, 50.0);
    let line = String::from_utf8(record.line().unwrap()).unwrap();
    let named = |name: &str| line.replace(&record.name, name);
    assert_eq!(read(named(&record.name).as_bytes()).1.records, 1);
    for other in [&name("b"), "nest_00000000", ""] {
        assert_eq!(read(named(other).as_bytes()).1.foreign, 1, "{other}");
        // The record's own name alone, and the trace alone.
        assert_eq!(read(line.replacen(&record.name, other, 1).as_bytes()).1.foreign, 1, "{other}");
    }
    assert_eq!(read(line.replace("{\"a\":1}", "{\"a\":2}").as_bytes()).1.foreign, 1);
}

/// The schedules of the first were parameters, of which no trace follows without the nest; those of others have other names.
#[test]
fn lines_of_earlier_formats_are_passed_over_and_counted() {
    let cpu = r#"{"format":1,"workload":{"kernel":"dense","source_hash":"0","shape":null},"target":{"cpu":"Some CPU","march":"native","compiler":"gcc 14"},"name":"t","schedule":{"vector":"j"},"outcome":{"failed":{"kind":"launch","message":"no"}},"time":5}"#;
    let line = String::from_utf8(measured("a", 64, 50.0).line().unwrap()).unwrap();
    let second = line.trim_end().replace(&format!("\"format\":{FORMAT}"), "\"format\":5");
    let (records, scanned) = read(format!("{cpu}\n{second}\n{line}").as_bytes());
    assert_eq!((records.len(), scanned.foreign), (1, 2));
}

/// What nothing can have been measured to be is of no record, and is counted with what else is foreign.
#[test]
fn speeds_and_times_below_0_are_no_record() {
    for (gflops, records) in [(50.0, 1), (0.0, 1), (-50.0, 0)] {
        let (found, scanned) = read(&measured("a", 64, gflops).line().unwrap());
        assert_eq!((found.len(), scanned.foreign), (records, 1 - records), "{gflops}");
    }
    for (seconds, records) in [(1.5, 1), (0.0, 1), (-1.5, 0), (f64::NAN, 0)] {
        for failure in [Failure::Timeout { seconds }, Failure::CompileTimeout { seconds }] {
            let (found, scanned) = read(&failed("a", failure).line().unwrap());
            assert_eq!((found.len(), scanned.foreign), (records, 1 - records), "{seconds}");
        }
    }
}
