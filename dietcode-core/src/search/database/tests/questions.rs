//! What is asked of a database.

use super::super::{Database, Filter, Replay, TargetFilter, new_run, ranked};
use super::*;
use crate::measure::Form;
use crate::paired::Verdict;

/// A database in memory and a file that is gone.
fn database(records: Vec<Record>) -> Database {
    let folder = tempfile::tempdir().unwrap();
    Database { records, ..Database::open(&folder.path().join("a.records.jsonl")).unwrap() }
}

#[test]
fn filters_ask_for_workload_target_failure_and_time() {
    let on_gpu = Record { target: gpu(), time: 9, ..measured("g", 64, 1.0) };
    let database = database(vec![measured("a", 64, 1.0), measured("b", 32, 1.0), on_gpu, failed("f", timeout())]);
    let asked = |filter: Filter| database.query(&filter).map(label).collect::<Vec<_>>().join(" ");
    let like = |text: &str| Filter { target: Some(TargetFilter::Like(text.into())), ..Filter::default() };
    assert_eq!(asked(Filter::default()), "a b g f");
    assert_eq!(asked(Filter::of("dense", "0", &cpu())), "a b f");
    assert_eq!(asked(Filter::of("dense", "1", &cpu())), "");
    assert_eq!(asked(Filter { kernel: Some("den".into()), ..Filter::default() }), "");
    assert_eq!(asked(Filter { shape: [("M".to_owned(), 32)].into(), ..Filter::default() }), "b");
    assert_eq!(asked(Filter { shape: [("T".to_owned(), 32)].into(), ..Filter::default() }), "");
    assert_eq!(
        (asked(like("cuda")), asked(like("h200")), asked(like("CPU"))),
        ("g".into(), "g".into(), "a b f".into())
    );
    assert_eq!(asked(Filter { failed: Some(None), ..Filter::default() }), "f");
    assert_eq!(asked(Filter { failed: Some(Some("crash".into())), ..Filter::default() }), "");
    assert_eq!(asked(Filter { since: Some(8), ..Filter::default() }), "g");
}

/// What was screened in place of a micro-kernel is replayed, and is no figure of its own.
#[test]
fn what_stood_in_is_replayed_and_ranks_nothing() {
    let form = Some(Form { parametric: true, whole_edges: true, level: "-O2".into() });
    let stood_in = Record { form, ..measured("a", 64, 50.0) };
    let name = stood_in.name.clone();
    assert_eq!((stood_in.figure(), stood_in.timed()), (None, Some((1, 50.0))));
    assert!(ranked([&stood_in].into_iter()).is_empty());
    let shape = stood_in.workload.shape.clone().unwrap();
    let mut replay = Replay::of(&[stood_in]);
    assert!(replay.has(&name, &shape, 1) && !replay.has(&name, &shape, 2));
    assert!(replay.take(&name, Some(&shape), 1).is_some() && !replay.has(&name, &shape, 1));
}

#[test]
fn the_best_of_an_instance_comes_first_and_what_failed_is_out() {
    let records = [
        measured("a", 64, 50.0),
        measured("b", 64, 100.0),
        measured("c", 32, 10.0),
        measured("d", 64, 1000.0),
        failed("d", timeout()),
    ];
    let ranked: Vec<(String, f64)> = ranked(records.iter()).iter().map(|r| (r.name.to_owned(), r.share)).collect();
    // Relative to the best on record, whether or not that failed elsewhere.
    assert_eq!(ranked, [("c", 1.0), ("b", 0.1), ("a", 0.05)].map(|(label, share)| (name(label), share)));
}

#[test]
fn the_last_run_of_a_seed_and_a_space_is_the_one_that_began_last() {
    let of = |run: &str, seed: u64| Record { run: run.into(), seed, ..traced(1) };
    // Two runs at once: the one that began first writes last.
    let database = database(vec![of("a", 9), of("b", 9), of("c", 8), of("a", 9), measured("old", 64, 1.0)]);
    assert_eq!(database.last_run(&Filter::default(), 9, "ff"), Some("b"));
    assert_eq!(database.last_run(&Filter::default(), 9, "other"), None);
    assert_eq!(database.last_run(&Filter::default(), 0, ""), None, "records of format 1 have no run");
    assert_ne!(new_run(), {
        std::thread::sleep(std::time::Duration::from_millis(1));
        new_run()
    });
}

#[test]
fn a_replay_answers_each_question_once_and_in_order() {
    let threads = |record: Record, threads: usize| match record.outcome {
        Outcome::Measured { gflops, rel_err, cache, .. } => {
            Record { outcome: Outcome::Measured { threads, gflops, rel_err, cache }, ..record }
        }
        _ => record,
    };
    let not_compiled = Record {
        workload: Workload { shape: None, ..workload(0) },
        ..failed("n", Failure::Compile { message: "no".into() })
    };
    let records = [
        measured("a", 64, 1.0),
        threads(measured("a", 64, 2.0), 2),
        measured("a", 64, 3.0),
        measured("b", 64, 1.0),
        failed("b", timeout()),
        failed("c", Failure::Stopped),
        not_compiled,
        unknown("u", 1),
    ];
    let mut replay = Replay::of(&records);
    let mut take = |label: &str, threads: usize| replay.take(&name(label), Some(&shape(64)), threads);
    let recorded = |at: usize| Some(records[at].outcome.clone());
    assert_eq!((take("a", 1), take("a", 1), take("a", 1)), (recorded(0), recorded(2), None));
    assert_eq!(take("a", 2), recorded(1));
    assert_eq!((take("b", 1), take("b", 2), take("b", 2)), (recorded(3), recorded(4), None));
    assert_eq!((take("c", 1), take("n", 1)), (None, None), "that a run was stopped answers nothing");
    assert_eq!((take("u", 2), take("u", 1)), (None, recorded(7)), "that it is unknown is an answer");
    assert_eq!(replay.take(&name("n"), None, 1), recorded(6));
}

#[test]
fn a_verdict_is_recalled_for_the_same_two_at_the_same_shapes() {
    let shapes = vec![shape(64), shape(32)];
    let (a, b) = (name("a"), name("b"));
    let outcome = Outcome::Verdict { against: b.clone(), shapes: shapes.clone(), verdict: Verdict::Equal, pairs: 16 };
    let replay = Replay::of(&[Record { outcome, ..measured("a", 64, 0.0) }]);
    assert_eq!(replay.verdict(&a, &b, &shapes), Some(Verdict::Equal));
    assert_eq!([replay.verdict(&b, &a, &shapes), replay.verdict(&a, &b, &shapes[..1])], [None, None]);
}

#[test]
fn turns_are_recalled_for_all_of_them_each_once_and_in_their_order() {
    let turns = |labels: &[&str], reached: Option<f64>, unknown| {
        let gflops = labels.iter().map(|label| (name(label), reached)).collect();
        Record { outcome: Outcome::Turns { gflops, unknown }, ..measured("a", 64, 0.0) }
    };
    let mut replay = Replay::of(&[
        turns(&["a", "b"], None, true),
        turns(&["a", "b"], Some(2.0), false),
        turns(&["c"], Some(-3.0), false),
        turns(&["c"], Some(3.0), false),
    ]);
    let mut take = |labels: &[&str], rows: i64| {
        let names: Vec<String> = labels.iter().map(|label| name(label)).collect();
        replay.take_turns(&names, &shape(rows)).map(|(reached, unknown)| (reached[&names[0]], unknown))
    };
    assert_eq!([take(&["a", "c"], 64), take(&["a"], 32)], [None, None], "not of all of them, not there");
    assert_eq!(take(&["c"], 64), Some((Some(3.0), false)));
    assert_eq!(
        [take(&["b"], 64), take(&["b", "a"], 64), take(&["a"], 64)],
        [Some((None, true)), Some((Some(2.0), false)), None]
    );
}

fn timeout() -> Failure {
    Failure::Timeout { seconds: 1.5 }
}
