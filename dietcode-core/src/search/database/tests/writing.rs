//! Appending, alone and beside others.

use std::io::Write;
use std::sync::Arc;

use super::super::{Database, FORMAT, prune, unite};
use super::*;
use crate::ErrorKind;
use crate::config::Cache;
use crate::sketch::MicroKernel;

#[test]
fn what_was_appended_is_there_when_opened_again() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.records.jsonl");
    let blocked = Record {
        target: gpu(),
        schedule: MicroKernel::of_trace(micro_kernel("b").trace, "blocked"),
        ..measured("b", 64, 5.0)
    };
    let wrong = Failure::Wrong { index: vec![1, 2], found: "NaN".into(), expected: 0.1, bound: 1e-9, elements: 3 };
    let stopped = failed("t", Failure::Stopped);
    let records = [measured("a", 64, 50.1), failed("w", wrong), blocked, traced(2), stopped, unknown("u", 2)];
    let mut database = Database::open(&path).unwrap();
    records.iter().for_each(|record| database.append(record).unwrap());
    assert_eq!(database.records, records);
    let again = Database::open(&path).unwrap();
    assert_eq!((&again.records[..], again.notices.len()), (&records[..], 0));
}

/// The reference may be NaN where a candidate is wrong, and its largest element 0 where one is right.
#[test]
fn what_json_has_no_number_for_is_on_record_too() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.records.jsonl");
    let mut database = Database::open(&path).unwrap();
    let wrong = |expected: f64| {
        let (found, bound) = ("0".into(), f64::INFINITY);
        failed("w", Failure::Wrong { index: vec![0], found, expected, bound, elements: 1 })
    };
    let outcome = Outcome::Measured { threads: 1, gflops: gflops(5.0), rel_err: f64::INFINITY, cache: Cache::Warm };
    let zeros = Record { outcome, ..measured("z", 64, 5.0) };
    for record in [wrong(f64::NAN), wrong(f64::NEG_INFINITY), zeros] {
        database.append(&record).unwrap();
    }
    let again = Database::open(&path).unwrap();
    assert_eq!((format!("{:?}", again.records), again.notices.len()), (format!("{:?}", database.records), 0));
}

#[test]
fn records_of_one_sketch_share_its_instructions() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.records.jsonl");
    let mut database = Database::open(&path).unwrap();
    [1, 2].iter().for_each(|unroll| database.append(&traced(*unroll)).unwrap());
    let again = Database::open(&path).unwrap();
    let instructions: Vec<_> =
        (again.records.iter()).map(|record| record.schedule.trace.instructions.clone()).collect();
    assert!(Arc::ptr_eq(&instructions[0], &instructions[1]));
}

#[test]
fn a_figure_that_is_no_number_is_refused_and_nothing_is_written() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.records.jsonl");
    let mut database = Database::open(&path).unwrap();
    let error = database.append(&measured("a", 64, f64::NAN)).unwrap_err();
    assert!(error.kind() == ErrorKind::Failed && error.to_string().contains("not finite"), "{error}");
    assert_eq!(std::fs::read(&path).unwrap(), b"");
}

#[test]
fn a_torn_last_line_is_dropped_with_a_notice_and_not_continued() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.records.jsonl");
    let mut database = Database::open(&path).unwrap();
    database.append(&measured("a", 64, 50.0)).unwrap();
    append_raw(&path, b"{\"format\":3,\"work");
    let mut torn = Database::open(&path).unwrap();
    assert!(torn.records.len() == 1 && torn.notices[0].contains("torn (17 bytes"), "{:?}", torn.notices);
    torn.append(&measured("b", 64, 60.0)).unwrap();
    let again = Database::open(&path).unwrap();
    assert_eq!((labels(&again.records), again.notices.len()), (vec!["a", "b"], 0));
}

#[test]
fn of_a_file_that_is_somebody_elses_nothing_is_cut_off() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.json");
    let long = "x".repeat(super::super::lines::LONGEST + 1);
    for text in ["{\"kernel\":\"dense\"}", "{\"format\": 1}", "\0", &long] {
        std::fs::write(&path, text).unwrap();
        let mut database = Database::open(&path).unwrap();
        assert!(database.notices[0].contains("1 line is no record"), "{:?}", database.notices);
        database.append(&measured("a", 64, 1.0)).unwrap();
        assert!(std::fs::read_to_string(&path).unwrap().starts_with(&format!("{text}\n{{\"format\":{FORMAT},")));
        assert_eq!(labels(&Database::open(&path).unwrap().records), ["a"]);
    }
}

#[test]
fn a_record_that_lacks_only_the_end_of_its_line_is_whole() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.records.jsonl");
    let line = measured("a", 64, 50.0).line().unwrap();
    std::fs::write(&path, &line[..line.len() - 1]).unwrap();
    let mut database = Database::open(&path).unwrap();
    assert_eq!((labels(&database.records), database.notices.len()), (vec!["a"], 0));
    database.append(&measured("b", 64, 60.0)).unwrap();
    assert_eq!(labels(&Database::open(&path).unwrap().records), ["a", "b"]);
}

/// Another process was ended in the middle of a line while this one had the file open.
#[test]
fn nobodys_line_is_continued() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.records.jsonl");
    let mut database = Database::open(&path).unwrap();
    append_raw(&path, b"{\"format\":3,\"work");
    database.append(&measured("a", 64, 50.0)).unwrap();
    let again = Database::open(&path).unwrap();
    assert_eq!(labels(&again.records), ["a"]);
    assert!(again.notices[0].contains("1 line is no record"), "{:?}", again.notices);
}

#[test]
fn foreign_lines_stay_and_are_counted() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.records.jsonl");
    std::fs::write(&path, "{\"format\": 99}\n\nnoise\n").unwrap();
    let mut database = Database::open(&path).unwrap();
    let told = format!("2 lines are no records of format {FORMAT}, and passed over");
    assert!(database.notices[0].ends_with(&told), "{:?}", database.notices);
    database.append(&measured("a", 64, 1.0)).unwrap();
    assert!(
        std::fs::read_to_string(&path)
            .unwrap()
            .starts_with(&format!("{{\"format\": 99}}\n\nnoise\n{{\"format\":{FORMAT},"))
    );
}

/// Locks are those of open files, so that writers in one process are as much apart as those of several.
#[test]
fn several_writers_and_one_who_rewrites_lose_nothing() {
    const WRITERS: usize = 4;
    const RECORDS: usize = 40;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.records.jsonl");
    Database::open(&path).unwrap();
    std::thread::scope(|scope| {
        for writer in 0..WRITERS {
            let path = &path;
            scope.spawn(move || {
                let mut database = Database::open(path).unwrap();
                for n in 0..RECORDS {
                    database.append(&measured(&format!("{writer}_{n}"), 64, 1.0 + n as f64)).unwrap();
                }
            });
        }
        for _ in 0..20 {
            prune(&path, usize::MAX).unwrap();
            unite(&[], &path).unwrap();
        }
    });
    let again = Database::open(&path).unwrap();
    assert_eq!((again.records.len(), again.notices), (WRITERS * RECORDS, Vec::new()));
}

#[test]
fn a_file_that_was_removed_is_begun_anew() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.records.jsonl");
    let mut database = Database::open(&path).unwrap();
    database.append(&measured("a", 64, 1.0)).unwrap();
    std::fs::remove_file(&path).unwrap();
    database.append(&measured("b", 64, 1.0)).unwrap();
    assert_eq!(labels(&Database::open(&path).unwrap().records), ["b"]);
}

#[test]
fn what_is_no_file_cannot_be_opened() {
    let folder = tempfile::tempdir().unwrap();
    let error = Database::open(folder.path()).unwrap_err();
    assert!(error.kind() == ErrorKind::Unavailable && error.to_string().ends_with("it is a folder"), "{error}");
    let pipe = folder.path().join("pipe");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let error = Database::open(&pipe).unwrap_err();
    assert!(error.to_string().ends_with("it is no ordinary file"), "{error}");
}

fn append_raw(path: &std::path::Path, bytes: &[u8]) {
    std::fs::OpenOptions::new().append(true).open(path).unwrap().write_all(bytes).unwrap();
}
