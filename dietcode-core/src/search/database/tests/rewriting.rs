//! Union and pruning.

use super::super::{Pruned, prune, scan, unite};
use super::*;

fn lines(records: &[Record]) -> Vec<u8> {
    records.iter().flat_map(|record| record.line().unwrap()).collect()
}

#[test]
fn a_union_has_each_record_once_by_time() {
    let folder = tempfile::tempdir().unwrap();
    let [a, b, out] = ["a", "b", "out"].map(|name| folder.path().join(name));
    let at = |time: u64, name: &str| Record { time, ..measured(name, 64, 1.0) };
    std::fs::write(&a, lines(&[at(3, "late"), at(1, "early"), at(1, "early")])).unwrap();
    // The same record may be written differently.
    let spaced = String::from_utf8(lines(&[at(3, "late")])).unwrap().replace(",\"", ", \"");
    std::fs::write(&b, [spaced.as_bytes(), &lines(&[at(2, "middle")]), b"noise\n{\"format\":3,\"wo"].concat()).unwrap();
    let united = unite(&[a.clone(), b], &out).unwrap();
    assert_eq!((united.records, united.duplicates, united.notices.len()), (3, 2, 2));
    let mut found = Vec::new();
    scan(&out, |record, _| {
        found.push(label(&record).to_owned());
        Ok(())
    })
    .unwrap();
    assert_eq!(found, ["early", "middle", "late"]);
    std::fs::write(&a, lines(&[at(4, "latest")])).unwrap();
    let more = unite(&[a], &out).unwrap();
    assert_eq!((more.records, more.duplicates), (4, 0), "what the file has stays");
}

#[test]
fn a_union_of_no_records_leaves_things_as_they_were() {
    let folder = tempfile::tempdir().unwrap();
    let [noise, out, missing] = ["noise", "out", "missing"].map(|name| folder.path().join(name));
    std::fs::write(&noise, "noise\n").unwrap();
    for from in [&noise, &missing] {
        assert_eq!(unite(std::slice::from_ref(from), &out).unwrap_err().kind(), crate::ErrorKind::Input);
        assert!(!out.exists());
    }
    unite(std::slice::from_ref(&noise), &noise).unwrap_err();
    assert_eq!(std::fs::read(&noise).unwrap(), b"noise\n");
}

#[test]
fn pruning_keeps_the_best_of_each_instance_and_what_failed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.records.jsonl");
    let mut records = vec![
        measured("slow", 64, 1.0),
        measured("fast", 64, 3.0),
        measured("fast", 64, 4.0),
        measured("middle", 64, 2.0),
        measured("slow", 32, 9.0),
        failed("bad", Failure::Timeout { seconds: 1.0 }),
        failed("bad", Failure::Timeout { seconds: 2.0 }),
        failed("stopped", Failure::Stopped),
    ];
    std::fs::write(&path, [&lines(&records)[..], b"noise\n{\"format\":3,\"wo"].concat()).unwrap();
    assert_eq!(prune(&path, 2).unwrap(), Pruned { kept: 4, dropped: 4, foreign: 1, unreadable: 1 });
    let text = std::fs::read(&path).unwrap();
    records = [2, 3, 4, 5].map(|n| records[n].clone()).to_vec();
    assert_eq!(text, [&lines(&records)[..], b"noise\n"].concat());
    // Once is enough.
    assert_eq!(prune(&path, 2).unwrap(), Pruned { kept: 4, dropped: 0, foreign: 1, unreadable: 0 });
}

#[test]
fn pruning_to_nothing_is_refused() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let before = lines(&[measured("a", 64, 1.0)]);
    std::fs::write(file.path(), &before).unwrap();
    assert!(prune(file.path(), 0).unwrap_err().to_string().contains("expected 1 or more"));
    assert_eq!(std::fs::read(file.path()).unwrap(), before);
}

#[test]
fn pruning_makes_no_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("none");
    assert!(prune(&path, 1).unwrap_err().to_string().contains("cannot be read as records"));
    assert!(!path.exists());
}
