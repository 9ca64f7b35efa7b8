//! Several configs in one run.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};

use super::place::{Place, said};

#[test]
fn each_config_has_its_tuned_file() {
    let place = Place::new();
    let said = place.tune(&["dense.json", "scale.json", "--trials", "1"]);
    assert!(!said.contains("BLAS: none found"), "none was asked for: {said}");
    for (file, kernel) in [("dense.cpu.tuned.json", "dense"), ("scale.cpu.tuned.json", "scale")] {
        assert_eq!(place.json(file)["kernel"], kernel);
    }
}

#[test]
fn whose_latency_counts_more_gets_the_trials_that_are_left() {
    let place = Place::new();
    fs::copy(place.path("dense.json"), place.path("other.json")).unwrap();
    for config in ["dense.json", "other.json"] {
        place.set(config, "\"enumerate\"", "\"random\", \"scheduler\": { \"epsilon\": 0 }");
    }
    place.set("other.json", "\"seed\"", "\"weight\": 1e6, \"seed\"");
    place.tune(&["dense.json", "other.json", "--trials", "4"]);
    let tried = |name: &str| place.records_of(name).iter().map(|record| record["trial"].as_u64().unwrap()).max();
    // Three defaults and a round of three for each; then there are two more.
    assert_eq!((tried("dense"), tried("other")), (Some(5), Some(7)));
}

/// A compiler that refuses the candidates of `scale`, and compiles all else.
const REFUSES_SCALE: &str = r#"#!/bin/sh
for argument; do
    case "$argument" in
        *_reference.c | *_naive.c) ;;
        *.c) if grep -q scale "$argument"; then echo "error: not this one" >&2; exit 1; fi ;;
    esac
done
exec cc "$@"
"#;

#[test]
fn what_was_found_for_the_others_is_kept_when_one_kernel_fails() {
    let place = Place::new();
    fs::write(place.path("compiler"), REFUSES_SCALE).unwrap();
    fs::set_permissions(place.path("compiler"), fs::Permissions::from_mode(0o755)).unwrap();
    for configs in [["scale.json", "dense.json"], ["dense.json", "scale.json"]] {
        drop(fs::remove_file(place.path("dense.cpu.tuned.json")));
        let mut command = place.command(&[&configs[..], &["--trials", "1"]].concat());
        let output = command.env("CC", place.path("compiler")).output().unwrap();
        assert_eq!(output.status.code(), Some(1), "{}", said(&output));
        assert!(said(&output).contains("dietcode: scale.json: the default micro-kernel `nest_"), "{}", said(&output));
        assert!(said(&output).contains("` of `scale` does not compile: error: not this one"), "{}", said(&output));
        assert_eq!(place.json("dense.cpu.tuned.json")["kernel"], "dense");
        assert!(!place.path("scale.cpu.tuned.json").exists());
    }
}

#[test]
fn what_is_meant_for_one_config_is_refused_for_two() {
    let place = Place::new();
    for option in [["--output", "a.json"], ["--records", "a.jsonl"], ["--wkl", "T=1"], ["--json", "a.json"]] {
        let output = place.command(&[&["dense.json", "scale.json"], &option[..]].concat()).output().unwrap();
        assert_eq!(output.status.code(), Some(2));
        assert!(said(&output).contains("expected one config, found 2"), "{}", said(&output));
    }
}

#[test]
fn a_model_without_an_evolution_is_refused() {
    let output = Place::new().command(&["dense.json", "--model", "random"]).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    let why = "--model: expected the strategy evolution, found enumerate, which no model guides";
    assert!(said(&output).contains(why), "{}", said(&output));
}

#[test]
fn an_instance_that_the_config_does_not_have_is_refused() {
    let output = Place::new().command(&["dense.json", "--wkl", "T=2", "--output", "two.json"]).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(said(&output).contains("--wkl T=2: expected an instance of the config: T=1 T=3"), "{}", said(&output));
}

#[test]
fn an_instance_counts_once() {
    let twice = ["dense.json", "--wkl", "T=3", "--wkl", "T = 3", "--output", "two.json"];
    let output = Place::new().command(&twice).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(said(&output).contains("--wkl T=3: found a second time, expected each instance once"), "{}", said(&output));
}

/// Nothing was measured, and nothing is left of the attempt.
fn refused(place: &Place, arguments: &[&str], status: i32, why: &str) {
    let listing = || {
        let mut names: Vec<_> = fs::read_dir(place.path("")).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        names.sort();
        names
    };
    let before = listing();
    let output = place.command(arguments).output().unwrap();
    assert_eq!(output.status.code(), Some(status), "{}", said(&output));
    assert!(said(&output).contains(why), "{}", said(&output));
    assert_eq!(listing(), before);
}

#[test]
fn a_config_is_tuned_once_in_a_run() {
    let place = Place::new();
    let twice = "found a second time, expected each config once";
    refused(&place, &["dense.json", "scale.json", "dense.json"], 2, &format!("dense.json: {twice}"));
    refused(&place, &["dense.json", "./dense.json"], 2, twice);
    symlink("dense.json", place.path("other.json")).unwrap();
    refused(&place, &["dense.json", "other.json"], 2, twice);
    // Another file, whose winners would lie in the same place; and a target that is there twice.
    fs::copy(place.path("dense.json"), place.path("dense.JSON")).unwrap();
    let both = "dense.cpu.tuned.json: two searches of this run would write it";
    refused(&place, &["dense.json", "dense.JSON"], 2, both);
    refused(&place, &["dense.json", "--target", "cpu,cpu"], 2, both);
}

#[test]
fn a_tuned_file_that_cannot_be_written_is_told_before_anything_is_measured() {
    let place = Place::new();
    fs::create_dir(place.path("dense.cpu.tuned.json")).unwrap();
    refused(&place, &["dense.json"], 3, "dense.cpu.tuned.json: cannot be written: it is a folder");
    refused(&place, &["dense.json", "-o", "nowhere/a.json"], 3, "nowhere/a.json: cannot be written");
    symlink("nowhere/a.json", place.path("scale.cpu.tuned.json")).unwrap();
    refused(&place, &["scale.json"], 3, "scale.cpu.tuned.json: cannot be written");
    // The same of figures.
    symlink("figures.json", place.path("link.json")).unwrap();
    refused(&place, &["scale.json", "--json", "link.json"], 3, "scale.cpu.tuned.json: cannot be written");
}

#[test]
fn a_tuned_file_that_is_a_link_stays_one() {
    let place = Place::new();
    fs::create_dir(place.path("elsewhere")).unwrap();
    symlink("elsewhere/scale.json", place.path("scale.cpu.tuned.json")).unwrap();
    for _ in 0..2 {
        place.tune(&["scale.json", "--trials", "1"]);
        assert!(place.path("scale.cpu.tuned.json").is_symlink());
        assert_eq!(place.json("elsewhere/scale.json")["kernel"], "scale");
        assert_eq!(fs::read_dir(place.path("elsewhere")).unwrap().count(), 1);
    }
}
