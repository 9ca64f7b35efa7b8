//! What proposals depend on.

use std::fs;

use super::place::{Place, said};

/// What was tried, in order.
fn trials(place: &Place) -> Vec<(u64, String)> {
    let trial =
        |record: &serde_json::Value| (record["trial"].as_u64().unwrap(), record["name"].as_str().unwrap().to_owned());
    let mut trials: Vec<(u64, String)> = place.records().iter().map(trial).collect();
    trials.sort();
    trials.dedup();
    trials
}

/// What made each of them.
fn families(place: &Place) -> Vec<String> {
    let family = |record: &serde_json::Value| {
        (record["trial"].as_u64().unwrap(), record["schedule"]["origin"]["family"].as_str().unwrap().to_owned())
    };
    let mut families: Vec<(u64, String)> = place.records().iter().map(family).collect();
    families.sort();
    families.dedup();
    families.into_iter().map(|(_, family)| family).collect()
}

/// A round that nothing measured can change, one that depends on the first, and what is known of the run afterwards.
#[test]
fn the_whole_space_is_searched_and_the_search_is_continued() {
    for strategy in ["evolution", "random"] {
        let place = Place::new();
        let arguments = ["dense.json", "--trials", "3", "--strategy", strategy];
        let said = place.tune(&arguments);
        assert!(said.contains(&format!("{strategy} of ")), "{said}");
        let (tried, lines) = (trials(&place), place.lines());
        assert_eq!(tried.len(), 6, "three beside the defaults: {tried:?}");
        let families = families(&place);
        assert_eq!(families[..3], ["nest", "tiled", "tiled"], "the defaults");
        assert!(families[3..].iter().all(|family| family == "traced"), "{families:?}");
        let made = |record: &serde_json::Value| (record["trial"].as_u64().unwrap() >= 3, !record["made"].is_null());
        assert!(
            place.records().iter().map(made).all(|(is_drawn, is_said)| is_drawn == is_said),
            "what made each trace"
        );
        let structures = place.records().into_iter().filter(|record| record["structure"].is_string());
        assert!(structures.count() >= 4);
        place.tune(&[&arguments[..], &["--resume"]].concat());
        assert_eq!(place.lines(), lines, "given the same measurements, the proposals are the same");
        let again = Place::new();
        again.tune(&arguments);
        assert_eq!(trials(&again), tried, "the first round depends on the seed alone");
    }
}

#[test]
fn an_evolution_is_guided_by_the_model_that_was_asked_for() {
    let tried = |model: &[&str], named: &str| {
        let place = Place::new();
        let arguments = [&["dense.json", "--trials", "3", "--strategy", "evolution"], model].concat();
        let said = place.tune(&arguments);
        assert!(said.contains(&format!("guided by the model \"{named}\"")), "{said}");
        (trials(&place), place)
    };
    let (analytic, place) = tried(&[], "analytic");
    let (random, _) = tried(&["--model", "random"], "random");
    assert_ne!(analytic, random, "the seed and the space are the same");
    let (_, again) = tried(&["--model", "learned"], "learned");
    let lines = again.lines();
    again.tune(&["dense.json", "--trials", "3", "--strategy", "evolution", "--model", "learned", "--resume"]);
    assert_eq!(again.lines(), lines, "what was learned depends on what was measured alone");
    let said = place.tune(&["dense.json", "--trials", "1", "--strategy", "evolution", "--model", "random", "--resume"]);
    assert!(said.contains("no run with this config"), "{said}");
    place.set("dense.json", "\"seed\"", "\"model\": \"random\", \"seed\"");
    fs::remove_file(place.path("dense.cpu.records.jsonl")).unwrap();
    place.tune(&["dense.json", "--trials", "3", "--strategy", "evolution"]);
    assert_eq!(trials(&place), random, "a config and the command line say the same");
}

/// With one instance and no baselines: caches are emptied before each call, which takes a while where they are large.
#[test]
fn caches_are_as_the_config_says_and_what_is_written_says_so() {
    let place = Place::new();
    let cold = |of: &serde_json::Value| of["outcome"]["measured"]["cache"].clone();
    place.tune(&["scale.json", "--trials", "1"]);
    let warm = place.records_of("scale");
    assert!(warm.iter().all(|record| cold(record).is_null()), "{warm:?}");
    place.set("scale.json", "\"threads\"", "\"cache\": \"cold\", \"threads\"");
    let said = place.tune(&["scale.json", "--trials", "1", "--resume"]);
    assert!(said.contains("no run with this config"), "{said}");
    let later = place.records_of("scale").split_off(warm.len()).into_iter();
    let measured: Vec<serde_json::Value> = later.filter(|of| of["outcome"]["measured"].is_object()).collect();
    assert!(!measured.is_empty() && measured.iter().all(|record| cold(record) == "cold"), "{measured:?}");
    assert_eq!(place.json("scale.cpu.tuned.json")["provenance"]["cache"], "cold");
}

#[test]
fn what_failed_before_is_never_tried_again() {
    let place = Place::new();
    let arguments = ["dense.json", "--trials", "2", "--strategy", "random"];
    place.tune(&arguments);
    // Behind the three defaults, which are tried in each run.
    let failed = trials(&place)[3].1.clone();
    let damaged = place.records().into_iter().map(|mut record| {
        if record["name"] == failed {
            record["outcome"] =
                serde_json::json!({ "failed": { "kind": "crash", "signal": "SIGSEGV", "message": "" } });
        }
        format!("{record}\n")
    });
    let damaged: Vec<String> = damaged.collect();
    fs::write(place.path("dense.cpu.records.jsonl"), damaged.concat()).unwrap();
    place.tune(&[&arguments[..], &["--seed", "7"]].concat());
    let later = place.records().split_off(damaged.len());
    assert!(later.iter().all(|record| record["name"] != failed), "{failed}");
    assert!(!later.is_empty());
}

#[test]
fn the_same_seed_tries_the_same_candidates_in_the_same_order() {
    let order = |seed: &str| {
        let place = Place::new();
        place.tune(&["dense.json", "--trials", "2", "--seed", seed]);
        trials(&place)
    };
    let first = order("3");
    assert_eq!(first.len(), 5, "two beside the defaults");
    assert_eq!(first, order("3"));
    assert_ne!(first, order("4"));
}

/// What no candidate can run with is no failure of theirs, which a later run would not try again.
#[test]
fn a_wrong_setting_of_helper_threads_is_told_before_anything_is_tried() {
    let place = Place::new();
    let output = place.command(&["dense.json"]).env("DIETCODE_SPIN_US", "long").output().unwrap();
    let said = said(&output);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(
        said.ends_with("DIETCODE_SPIN_US is \"long\", but must be a number of microseconds from 0 to 1000000\n"),
        "{said}"
    );
    assert!(place.lines().is_empty());
}
