//! What is in files and in the environment reaches a terminal as text, and not as what a terminal obeys.

use std::fs;
use std::process::Output;

use super::place::{BENCH, CONFIG, Place, status};

/// Turns red, goes back, rings, in one byte begins a sequence; and a line that looks like another message.
const ODD: &str = "\u{1b}[31m\r\u{7}\u{9b}2J\u{202e}";

/// The same as JSON writes it.
const ODD_JSON: &str = r"\u001b[31m\r\u0007\u009b2J\u202e\ndietcode: done";

fn check(what: &str, output: &Output, expected: i32) {
    let said = [&output.stdout[..], &output.stderr[..]].concat();
    let said = String::from_utf8(said).unwrap();
    assert_eq!(status(output), Some(expected), "{what}: {said:?}");
    let obeyed = |c: char| c.is_control() && c != '\n' || c == '\u{202e}';
    assert!(!said.contains(obeyed), "{what}: {said:?}");
    assert!(
        !said.lines().any(|line| line == "dietcode: done" || line.starts_with("dietcode: done`")),
        "{what}: {said:?}"
    );
    assert!(said.contains(r"\u{1b}"), "{what}: {said:?}");
}

fn with_sketch(sketch: &str) -> Place {
    let place = Place::new();
    let rules = CONFIG.replace("\"search\": {", "\"search\": { \"rules\": { \"dense\": \"own.json\" },");
    fs::write(place.path("dense.json"), rules).unwrap();
    fs::write(place.path("own.json"), sketch.replace("ODD", ODD_JSON)).unwrap();
    place
}

#[test]
fn of_a_sketch() {
    for sketch in [
        r#"{ "instructions": [{ "kind": ["unrolled", "ODD"] }] }"#,
        r#"{ "instructions": ["ODD"] }"#,
        r#"{ "instructions": [{ "ODD": 1 }] }"#,
        r#"{ "ODD": [] }"#,
        r#"{ "instructions": [{ "add_unit_loop": "ODD" }] }"#,
        r#"{ "instructions": [{ "reorder": ["i", "ODD"] }] }"#,
        r#"{ "instructions": [], "decisions": { "ODD": 1 , "ODD": 2 } }"#,
        r#"{ "instructions": "ODD" }"#,
    ] {
        check(sketch, &with_sketch(sketch).run(&["explain", "dense.json", "--sketches"]), 2);
    }
}

#[test]
fn of_a_config() {
    let place = Place::new();
    for (part, instead) in [
        ("\"dense\"", "\"ODD\""),
        ("\"T\": 1", "\"ODD\": 1"),
        ("8*T", "8*ODD"),
        ("\"seed\": 7", "\"ODD\": 7"),
        ("ops.rs", "ODD.rs"),
        ("\"seed\": 7", "\"strategy\": \"ODD\""),
    ] {
        let text = CONFIG.replacen(part, instead, 1).replace("ODD", ODD_JSON);
        assert_ne!(text, CONFIG);
        fs::write(place.path("dense.json"), text).unwrap();
        check(instead, &place.run(&["expand", "dense.json"]), 2);
    }
}

#[test]
fn of_a_nest() {
    let place = Place::new();
    let nest = fs::read_to_string(place.path("ops.rs")).unwrap();
    // Rust's own strings may hold all of it but a carriage return.
    let argument = format!("#[dynamic_kernel(\"{}\")]", ODD.replace('\r', ""));
    let nest = nest.replace("#[dynamic_kernel]", &argument);
    fs::write(place.path("ops.rs"), nest).unwrap();
    check("a literal", &place.run(&["expand", "dense.json"]), 2);
}

#[test]
fn of_arguments_and_variables() {
    let place = Place::new();
    check("a path", &place.run(&["expand", &format!("{ODD}.json")]), 2);
    check("a shape", &place.run(&["bench", "dense.json", "--wkl", &format!("{ODD}=1")]), 2);
    let output = place.command(&["expand", "dense.json"]).env("CC", format!("/{ODD}")).output().unwrap();
    check("a compiler", &output, 3);
    let output = place.command(&["expand", "dense.json"]).env("TMPDIR", format!("/{ODD}")).output().unwrap();
    check("a folder", &output, 3);
}

#[test]
fn of_a_compiler() {
    let place = Place::new();
    let script = place
        .script("red", r#"case "$*" in *-shared*) printf 'error: \033[31mred\n' >&2; exit 1 ;; esac; exec "$CC" "$@""#);
    check("its words", &place.command(BENCH).env("CC", script).output().unwrap(), 1);
}

#[test]
fn of_a_tuned_file() {
    let place = Place::new();
    let output = place.run(&["tune", "dense.json", "--trials", "1", "--strategy", "random", "--blas", "none"]);
    assert_eq!(status(&output), Some(0));
    let path = place.path("dense.cpu.tuned.json");
    let mut tuned: serde_json::Value = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
    tuned["provenance"]["cpu"] = format!("{ODD}\ndietcode: done").into();
    fs::write(&path, tuned.to_string()).unwrap();
    check("its CPU", &place.run(BENCH), 0);
}
