//! Finals that have no time for a duel, or none that says anything: what figures of the search say then.

use super::*;

/// There is time for the duels of few rows alone: many rows keep the default, which is behind by the figures of who challenges it.
#[test]
fn where_no_duel_told_figures_say_how_far_behind_an_instance_is() {
    let gflops = |at: usize, rows: i64| match (at, rows > 100) {
        (1, true) => 0.2,
        (1, false) => 0.15,
        (2, false) => 0.2,
        _ => 0.1,
    };
    let config = within("[16, 1024]", r#", "regret": {"worst": 1.1}"#);
    let aim = Towards { config: Some(&config), weights: [1.0; 4], most: 8, is_timed: true };
    let Ended { selected, tuned, .. } = finals_towards(aim, 70.0, DENSE, &[1, 2, 4], gflops, quiet(), None);
    assert_eq!(selected[2..], [0, 0]);
    let worst = tuned.regret.unwrap().worst;
    assert!(worst > 1.2, "{worst}");
}

/// Calls of the default take as long as there is time for duels: none comes to an end. Twelve times its speed is told by figures all the same, at each instance by its own;
/// a third more is not, and is not said to be nothing.
#[test]
fn where_there_is_no_time_figures_that_are_far_apart_decide_and_others_are_counted() {
    let folder = tempfile::tempdir().unwrap();
    let records = folder.path().join("records.jsonl");
    let gflops = |at: usize, rows: i64| match (at, rows) {
        (0, _) => 0.01,
        (_, 16) => 0.013,
        _ => 0.12,
    };
    let config = ranging("[16, 1024]");
    let run = || {
        let aim = Towards { config: Some(&config), weights: [1.0; 4], most: 8, is_timed: true };
        finals_towards(aim, 45.0, DENSE, &[1, 2], gflops, quiet(), Some(&records))
    };
    let Ended { selected, verdicts, names, tuned } = run();
    assert_eq!(selected, [0, 1, 1, 1], "{verdicts:?}");
    assert_eq!(verdicts, vec![(names[1].clone(), "default".to_owned(), 1, Verdict::Wins); 3]);
    let worst = tuned.regret.unwrap().worst;
    assert!((1.29..1.31).contains(&worst), "{worst}");
    let again = run();
    assert_eq!((again.selected, again.verdicts), (selected, verdicts), "verdicts are read");
}

/// One that won all instances together keeps those at which there was no time for the default's veto: figures say that it is ahead there.
#[test]
fn an_instance_of_a_region_that_was_won_has_its_default_by_no_want_of_time() {
    let gflops = |at: usize, _: i64| if at == 1 { 0.15 } else { 0.1 };
    let mut without = 0;
    for seconds in 100..130 {
        let ended = finals_within(f64::from(seconds), DENSE, &[1, 2], gflops, quiet(), None);
        if ended.verdicts.iter().any(|(.., shapes, verdict)| (*shapes, *verdict) == (4, Verdict::Wins)) {
            assert_eq!(ended.selected, [1; 4], "{seconds}: {:?}", ended.verdicts);
            without += usize::from(ended.verdicts.len() < 5);
        }
    }
    assert!(without > 0);
}
