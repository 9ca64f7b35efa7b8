//! Several configs in one run.

use super::place::{Place, said};

#[test]
fn each_config_has_its_tuned_file() {
    let place = Place::new();
    place.tune(&["dense.json", "scale.json", "--trials", "3"]);
    for (file, kernel) in [("dense.cpu.tuned.json", "dense"), ("scale.cpu.tuned.json", "scale")] {
        assert_eq!(place.json(file)["kernel"], kernel);
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
fn an_instance_that_the_config_does_not_have_is_refused() {
    let output = Place::new().command(&["dense.json", "--wkl", "T=2", "--output", "two.json"]).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(said(&output).contains("--wkl T=2: expected an instance of the config: T=1 T=3"), "{}", said(&output));
}
