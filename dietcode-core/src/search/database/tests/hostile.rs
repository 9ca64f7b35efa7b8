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
    for (part, other) in
        [("\"time\":7", "\"time\":-1"), ("\"time\":7", "\"time\":1e400"), ("\"format\":2", "\"format\":3")]
    {
        let (records, scanned) = read(line.replace(part, other).as_bytes());
        assert_eq!((records.len(), scanned.torn), (0, 0), "{other}");
    }
    let deep = format!("{}\n", "[".repeat(100_000));
    assert_eq!(read(deep.as_bytes()).1.foreign, 1);
}

#[test]
fn lines_of_format_1_are_read() {
    let measured = r#"{"measured":{"threads":2,"gflops":{"median":50.5,"iqr":0.5,"repeats":3},"rel_err":1e-7}}"#;
    let cpu = format!(
        r#"{{"format":1,"workload":{{"kernel":"dense","source_hash":"0","shape":{{"M":64,"K":768}}}},"target":{{"cpu":"Some CPU","march":"native","compiler":"gcc 14"}},"name":"t","schedule":{{"vector":"j","register_tile":{{"i":8,"j":48}},"block_tile":{{"k":384}},"pack":["w"],"order":["i"]}},"outcome":{measured},"time":5}}"#
    );
    let gpu = r#"{"format":1,"workload":{"kernel":"dense","source_hash":"0","shape":null},"target":{"device":"H200","capability":"sm_90","driver":"1","toolchain":"nvcc 13"},"name":"b","schedule":{"thread":{"i":16,"j":16},"reduce":{"k":16}},"outcome":{"failed":{"kind":"launch","message":"no"}},"time":6}"#;
    let (records, scanned) = read(format!("{cpu}\n{gpu}\n").as_bytes());
    assert_eq!((scanned.records, scanned.foreign), (2, 0));
    assert!(matches!(&records[0].schedule, crate::sketch::MicroKernel::Tiled(tiled) if tiled.pack == ["w"]));
    assert_eq!((records[0].figure(), records[0].format), (Some((2, 50.5)), 1));
    assert!(matches!(&records[1].schedule, crate::sketch::MicroKernel::Blocked(_)));
    assert_eq!(records[1].failure().map(Failure::kind), Some("launch"));
}
