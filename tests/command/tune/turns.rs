//! Processes take turns at measuring.

use std::fs::File;
use std::io::{BufRead, BufReader};

use super::place::Place;

/// Another process has the right to measure: a search waits for it, says so, and goes on when it is free.
#[test]
fn a_search_waits_for_another_process_that_measures() {
    let place = Place::new();
    let turn = File::create(place.path(".dietcode-measuring-cpu-turn")).unwrap();
    turn.lock().unwrap();
    let mut search = place.command(&["dense.json", "--trials", "2"]).env("TMPDIR", place.path("")).spawn().unwrap();
    let mut said = BufReader::new(search.stderr.take().unwrap()).lines().map(Result::unwrap);
    let waits = "waiting for another dietcode on this machine to finish a measurement";
    assert!(said.any(|line| line.contains(waits)), "it ended");
    assert!(place.lines().iter().all(|line| !line.contains("measured")), "{:?}", place.lines());
    turn.unlock().unwrap();
    let rest: Vec<String> = said.collect();
    assert!(search.wait().unwrap().success(), "{rest:?}");
    assert!(place.lines().iter().any(|line| line.contains("measured")), "{:?}", place.lines());
}
