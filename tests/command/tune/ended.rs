//! Runs that are ended from outside, and continued.

use std::collections::BTreeSet;
use std::process::Child;
use std::thread::sleep;
use std::time::{Duration, Instant};

use serde_json::Value;

use super::place::{Place, said};

/// What runs where nothing was tuned comes first, and three trials.
const DEFAULTS: u64 = 3;
const CANDIDATES: usize = 6;

/// Numbers that are others each time (or those of `DIETCODE_SEED`); a failure tells where they started.
struct Chance(u64);

impl Chance {
    fn new() -> Chance {
        let given = std::env::var("DIETCODE_SEED").ok().and_then(|seed| seed.parse().ok());
        let now = std::time::UNIX_EPOCH.elapsed().unwrap().as_nanos() as u64;
        let seed = given.unwrap_or(now);
        println!("DIETCODE_SEED={seed}");
        Chance(seed)
    }

    fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % n
    }
}

/// The names of the candidates on record.
fn names(records: &[Value]) -> BTreeSet<String> {
    records.iter().map(|record| record["name"].as_str().unwrap().to_owned()).collect()
}

/// The names of the first trials, which depend on the seed alone: the defaults, and the first round.
fn first(records: &[Value]) -> BTreeSet<String> {
    let is_first = |record: &&Value| record["trial"].as_u64().unwrap() < 5;
    records.iter().filter(is_first).map(|record| record["name"].as_str().unwrap().to_owned()).collect()
}

/// Lets it work until it has written so many more records and somewhat longer, or is done.
fn watch(place: &Place, child: &mut Child, more: usize, delay: Duration) -> bool {
    let (start, before) = (Instant::now(), place.lines().len());
    while place.lines().len() < before + more {
        if child.try_wait().unwrap().is_some() {
            return true;
        }
        assert!(start.elapsed() < Duration::from_secs(300), "nothing is recorded any more");
        sleep(Duration::from_millis(2));
    }
    sleep(delay);
    child.try_wait().unwrap().is_some()
}

#[test]
fn a_killed_run_is_continued_and_nothing_is_lost_or_measured_again() {
    let moments = if std::env::var_os("DIETCODE_ALL").is_some_and(|all| all == "1") { 10 } else { 3 };
    let mut chance = Chance::new();
    for strategy in ["enumerate", "evolution"] {
        killed_and_continued(strategy, moments, &mut chance);
    }
}

fn killed_and_continued(strategy: &str, moments: usize, chance: &mut Chance) {
    let place = Place::new();
    let arguments = ["dense.json", "--trials", "3", "--strategy", strategy, "--resume"];
    let mut there: Vec<String> = Vec::new();
    for _ in 0..moments {
        let mut child = place.command(&arguments).spawn().unwrap();
        let (more, delay) = (chance.below(4) as usize, Duration::from_millis(chance.below(400)));
        watch(&place, &mut child, more, delay);
        // SIGKILL: nothing can be finished.
        child.kill().unwrap();
        child.wait().unwrap();
        let now = place.lines();
        assert_eq!(now[..there.len()], there[..], "what was flushed stays");
        there = now;
    }
    place.tune(&arguments);
    let finished = place.lines();
    assert_eq!(finished[..there.len()], there[..]);
    let records = place.records();
    // The fastest default is timed after each batch; a point that is unknown may be timed again.
    let of_candidates = records.iter().filter(|record| record["trial"].as_u64().unwrap() >= DEFAULTS);
    let figures = of_candidates.filter(|record| record["outcome"]["measured"].is_object());
    let asked = |record: &Value| {
        ["name", "form"].map(|key| record[key].to_string()).concat() + &record["workload"]["shape"].to_string()
    };
    let figures: Vec<String> = figures.map(asked).collect();
    assert_eq!(figures.len(), figures.iter().collect::<BTreeSet<_>>().len(), "each is measured once: {figures:#?}");
    assert_eq!(names(&records).len(), CANDIDATES, "the trials of all parts together");
    assert!(records.iter().all(|record| record["run"] == records[0]["run"]), "it is one run");
    let tuned = place.json("dense.cpu.tuned.json");

    let said = place.tune(&arguments);
    assert!(said.contains(&format!("continuing a run of which {CANDIDATES} candidates are on record")), "{said}");
    assert_eq!(place.lines(), finished, "a finished run has nothing left to measure");
    assert_eq!(place.json("dense.cpu.tuned.json")["tree"], tuned["tree"], "its verdicts are on record");
    let (known, instances) = (names(&records), tuned["instances"].as_array().unwrap());
    assert_eq!(instances.len(), 2, "{tuned}");
    for instance in instances {
        assert!(known.contains(instance["micro_kernel"].as_str().unwrap()), "{instance}");
    }

    let unbroken = Place::new();
    unbroken.tune(&["dense.json", "--trials", "3", "--strategy", strategy]);
    assert_eq!(first(&unbroken.records()), first(&records), "the same candidates as in one go");
    if strategy == "enumerate" {
        assert_eq!(names(&unbroken.records()), names(&records), "a list does not depend on figures");
    }
}

#[test]
fn an_interrupted_run_finishes_its_batch_and_writes_what_it_has() {
    let place = Place::new();
    let mut child = place.command(&["dense.json"]).spawn().unwrap();
    let done = watch(&place, &mut child, 1, Duration::ZERO);
    assert!(!done, "it is interrupted at its first record");
    let process = child.id().to_string();
    assert!(std::process::Command::new("kill").args(["-INT", &process]).status().unwrap().success());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    let tuned = place.json("dense.cpu.tuned.json");
    assert_eq!(tuned["instances"].as_array().unwrap().len(), 2);
}

#[test]
fn a_run_that_differs_is_not_continued() {
    let place = Place::new();
    place.tune(&["dense.json", "--trials", "1"]);
    for other in [&["--seed", "8"][..], &["--wkl", "T=3", "--output", "one.json"]] {
        let said = place.tune(&[&["dense.json", "--trials", "1", "--resume"], other].concat());
        assert!(said.contains("no run with this config"), "{said}");
    }
    let runs: BTreeSet<String> = place.records().iter().map(|record| record["run"].to_string()).collect();
    assert_eq!(runs.len(), 3);
}

#[test]
fn a_search_that_is_near_enough_to_the_roofline_ends() {
    let place = Place::new();
    let said = place.tune(&["dense.json", "--until", "0.0001"]);
    assert!(said.contains("% of the roofline"), "{said}");
    assert_eq!(names(&place.records()).len(), 3, "the default micro-kernels reach a ten thousandth");
}
