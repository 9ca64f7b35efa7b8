//! What configurations that are part of a program can do to it: written by hand, through the real program and its workers.
//!
//! This is one of the programs itself, with a set of its own, which starts itself: hence there is no test harness.

#[path = "benchmark_linked/kernels.rs"]
mod kernels;
#[path = "benchmark_linked/run.rs"]
mod run;

use std::process::{Command, ExitCode};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use dietcode::benchmark::{Product, Program};
use dietcode::core::config::Config;
use dietcode::core::schedule::Trace;
use dietcode::core::sketch::rules::CustomRules;
use dietcode::ops::gemm_nt_interleaved;
use dietcode::tuning::{self, Target};
use run::{Ran, arguments, json};

static PROGRAM: Program = Program {
    name: "tune_linked",
    products: &[Product { strided: &kernels::GEMM_NT, interleaved: &gemm_nt_interleaved::KERNEL }],
    set: &kernels::SET,
};

fn main() -> ExitCode {
    // A worker, or a run of a shape; what `cargo test` says begins with a dash, or is the name of a test.
    let first = std::env::args().nth(1).unwrap_or_default();
    if first == "worker" || first.parse::<i64>().is_ok() || first == "-1" {
        return dietcode::benchmark::main(&PROGRAM);
    }
    for (name, test) in TESTS.iter().filter(|(name, _)| first.starts_with('-') || name.contains(&first)) {
        println!("test {name}");
        test();
    }
    ExitCode::SUCCESS
}

/// A name and what it does; a panic fails them all.
const TESTS: &[(&str, fn())] = &[
    ("each_fails_with_its_reason_and_the_run_goes_on", each_fails_with_its_reason_and_the_run_goes_on),
    ("a_filter_chooses", a_filter_chooses),
    ("a_set_is_tried_on_the_emulated_device", a_set_is_tried_on_the_emulated_device),
    ("a_program_tunes_by_a_rule_of_its_own", a_program_tunes_by_a_rule_of_its_own),
    ("a_run_ends_when_its_time_is_up", a_run_ends_when_its_time_is_up),
    ("an_interrupt_prints_what_is_known", an_interrupt_prints_what_is_known),
    ("another_layout_is_not_served", another_layout_is_not_served),
    ("alpha_and_beta_are_those_of_the_command_line", alpha_and_beta_are_those_of_the_command_line),
    ("bad_usage_is_status_2_with_a_sentence", bad_usage_is_status_2_with_a_sentence),
    ("targets_that_were_not_built_say_how_to", targets_that_were_not_built_say_how_to),
];

/// The library's function in a program that is its own worker, with a function that the config names.
fn a_program_tunes_by_a_rule_of_its_own() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("ops.rs"), include_str!("nests/dense.rs")).unwrap();
    let text = r#"{ "kernel": { "source": "ops.rs", "function": "dense" }, "shape": { "M": "8*T", "K": 32, "N": 48 },
        "wkl_insts": [{ "T": 1 }, { "T": 3 }],
        "search": { "threads": [1], "trials": 3, "rules": { "dense": "by_hand" } } }"#;
    let config = Config::parse(folder.path().join("dense.json"), text).unwrap();
    let (stop, called) = (AtomicBool::new(false), Arc::new(AtomicBool::new(false)));
    let budget = tuning::budget(60.0, &stop);
    let unregistered = dietcode::tune(&config, &CustomRules::default(), Target::Cpu, &budget).unwrap_err().to_string();
    assert!(unregistered.contains("`by_hand`, which is not registered"), "{unregistered}");
    let (mut rules, seen) = (CustomRules::default(), Arc::clone(&called));
    rules.register("by_hand", move |_, _| {
        seen.store(true, Ordering::Relaxed);
        Ok(vec![Trace::default()])
    });
    let tuned = dietcode::tune(&config, &rules, Target::Cpu, &budget).unwrap();
    assert!(called.load(Ordering::Relaxed));
    assert!(tuned.instances.iter().all(|instance| instance.measurements[0].gflops_measured > 0.0), "{tuned:?}");
    assert_eq!((tuned.instances.len(), tuned.provenance.estimated), (2, false));
}

const SHAPE: &str = "7 12 9 2 3";

fn each_fails_with_its_reason_and_the_run_goes_on() {
    let ran = Ran::of(&format!("{SHAPE} --limit 2 --threads 1 --json all.json --csv all.csv"));
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    let results = ran.results("all.json");
    let run = &results["runs"][0];
    let outcome = |name: &str| {
        let entries = run["configurations"].as_array().unwrap();
        entries.iter().find(|entry| entry["name"] == name).unwrap()["outcome"].clone()
    };
    for (name, kind, message) in [
        ("crashing", "crash", "Failed: crashing crashed: SIGSEGV"),
        ("hanging", "timeout", "Failed: hanging was still running after 2 s"),
        ("hanging_later", "timeout", "Failed: hanging_later was still running after"),
        ("wrong", "wrong", "Failed: wrong is wrong in 1 elements, first at [1, 2, 3]"),
        ("beside", "out_of_bounds", "Failed: beside wrote outside of parameter 4"),
        ("of_a_newer_cpu", "load", "Failed: of_a_newer_cpu cannot be loaded"),
    ] {
        assert_eq!(outcome(name)["failed"]["kind"], kind, "{name}");
        assert!(ran.stdout.contains(message), "{name}: {}", ran.stdout);
    }
    assert!(outcome("of_another_kernel")["unserved"].is_string());
    // A first call that something held up is no reason to give one up. Where others take the cores, one may have no figure.
    let (timed, unknown): (Vec<&str>, Vec<&str>) =
        ["right", "slow", "held_up", "last"].into_iter().partition(|name| outcome(name)["failed"]["kind"] != "unknown");
    for name in &timed {
        let measured = &outcome(name)["measured"];
        assert!(measured["seconds"].as_array().unwrap().len() >= 3, "{name}: {measured}");
        assert!(measured["rel_err"].as_f64().unwrap() < 1e-5);
    }
    assert!(ran.stdout.contains("\ndispatched (") && ran.stdout.contains("): "), "{}", ran.stdout);
    assert_eq!((&run["threads"], &run["reps"], &run["stopped"]), (&json("1"), &json("3"), &json("null")));
    let at = |name: &str| ran.stdout.find(&format!("│ {name} ")).unwrap_or_else(|| panic!("{name}: {}", ran.stdout));
    let is_behind = |name: &&str| *name == "held_up" || at("slow") <= at(name);
    assert!(!timed.contains(&"slow") || timed.iter().all(is_behind), "the worst comes first: {}", ran.stdout);
    let lines: Vec<csv::StringRecord> =
        csv::Reader::from_path(ran.path("all.csv")).unwrap().records().flatten().collect();
    assert_eq!(
        lines.iter().filter(|line| &line[5] == "measured" && &line[4] == "naive").count(),
        timed.len(),
        "{lines:?}"
    );
    assert_eq!(lines.iter().filter(|line| line[5].starts_with("failed: ")).count(), 6 + unknown.len(), "{lines:?}");
}

fn a_filter_chooses() {
    let ran = Ran::of(&format!("{SHAPE} --filter righ,las --json some.json --top 1"));
    let results = ran.results("some.json");
    let entries = results["runs"][0]["configurations"].as_array().unwrap();
    let names: Vec<&str> = entries.iter().map(|entry| entry["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["right", "last"]);
    // Where others take the cores, what could not be timed is told, and is no failure of a configuration.
    let timed = entries.iter().filter(|entry| entry["outcome"]["failed"]["kind"] != "unknown").count();
    assert_eq!(ran.status, if timed > 0 { 0 } else { 3 }, "{}", ran.stderr);
    assert_eq!(ran.stdout.contains("1 slower ones are not shown"), timed == 2, "{}", ran.stdout);
    assert_eq!(ran.stderr.contains("others took the cores"), timed == 0, "{}", ran.stderr);
    let ran = Ran::of(&format!("{SHAPE} --filter nobody"));
    assert_eq!(ran.status, 2);
    assert!(ran.stderr.contains("found `nobody`") && ran.stderr.contains("such as `right`"), "{}", ran.stderr);
}

fn a_set_is_tried_on_the_emulated_device() {
    let ran = Ran::of(&format!("{SHAPE} --target cuda-host --json all.json"));
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    let results = ran.results("all.json");
    let run = &results["runs"][0];
    assert_eq!((&results["machine"]["target"], &run["threads"]), (&json("\"cuda-host\""), &json("0")));
    let outcome = |name: &str| {
        let entries = run["configurations"].as_array().unwrap();
        entries.iter().find(|entry| entry["name"] == name).unwrap()["outcome"].clone()
    };
    assert!(outcome("right")["measured"]["seconds"].as_array().unwrap().len() >= 3, "{run}");
    assert_eq!(outcome("wrong")["failed"]["kind"], "wrong", "{run}");
    assert_eq!(outcome("slow")["unserved"], "it was not compiled for this product and target", "{run}");
    assert!(ran.stdout.contains("Best: right"), "{}", ran.stdout);
}

fn a_run_ends_when_its_time_is_up() {
    let ran = Ran::of(&format!("{SHAPE} --filter hanging --limit 300 --seconds 4 --json some.json"));
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    assert!(
        ran.stdout.contains("Incomplete: 2 of 2 configurations were not reached: the time was up"),
        "{}",
        ran.stdout
    );
    assert_eq!(ran.results("some.json")["runs"][0]["configurations"][0]["outcome"], "not_reached");
}

fn an_interrupt_prints_what_is_known() {
    let ran = Ran::interrupted(&format!("{SHAPE} --filter hanging --limit 300 --json some.json"), "dispatched");
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    assert!(ran.stdout.contains("the run was interrupted"), "{}", ran.stdout);
    let results = ran.results("some.json");
    assert!(results["runs"][0]["stopped"].as_str().unwrap().contains("interrupted"));
    // Where others had the cores, it is not known how fast one is.
    assert!(results["runs"][0]["baselines"].as_array().unwrap().iter().all(|b| b["outcome"] != "not_reached"));
}

fn another_layout_is_not_served() {
    let ran = Ran::of("5 6 7 3 2 interleaved --filter right");
    assert_eq!(ran.status, 1, "{}", ran.stderr);
    assert!(ran.stdout.contains("Not for this product: right"), "{}", ran.stdout);
    assert!(ran.stderr.contains("no configuration serves `gemm_nt_interleaved`"), "{}", ran.stderr);
}

fn alpha_and_beta_are_those_of_the_command_line() {
    for scalars in ["--alpha 0 --beta 1", "--alpha -0.5 --beta 0.25", "--beta -1"] {
        let ran = Ran::of(&format!("{SHAPE} --filter right {scalars}"));
        let is_unknown = ran.stderr.contains("others took the cores");
        assert_eq!(ran.status, if is_unknown { 3 } else { 0 }, "{scalars}: {}", ran.stderr);
        assert!(is_unknown || ran.stdout.contains("Best: right"), "{scalars}: {}", ran.stdout);
    }
}

fn bad_usage_is_status_2_with_a_sentence() {
    for (words, sentence) in [
        ("0 12 9 2 3", "expected a whole number from 1 to 2147483647"),
        ("7 -1 9 2 3", "expected a whole number from 1 to 2147483647"),
        ("7 12 1000000000000 2 3", "expected a whole number from 1 to 2147483647"),
        ("7 12 9 2 0", "expected a whole number from 1 to 100000"),
        ("7 12 9 2", "REPS"),
        ("7 12 9 2 3 diagonal", "[possible values: strided, interleaved]"),
        ("7 12 9 2 3 --target tpu", "[possible values: cpu, cuda, cuda-host]"),
        ("7 12 9 2 3 --alpha inf", "expected a finite number"),
        ("7 12 9 2 3 --seconds 0", "expected a number of seconds greater than 0"),
        ("7 12 9 2 3 --threads 100000", "expected a number from 0"),
        ("7 12 9 2 3 --json no/such/folder/x.json", "no/such/folder/x.json: cannot be written"),
        ("500000 3 500000 1 1", "GiB"),
        ("2147483647 2147483647 2147483647 2147483647 1", "more elements than fit memory"),
    ] {
        let ran = Ran::of(words);
        assert_eq!(ran.status, 2, "{words}: {}", ran.stderr);
        assert!(ran.stderr.contains(sentence), "{words}: {}", ran.stderr);
    }
}

fn targets_that_were_not_built_say_how_to() {
    let ran = Ran::of(&format!("{SHAPE} --target cuda"));
    assert_eq!(ran.status, 3);
    assert!(ran.stderr.contains("left out by hand"), "{}", ran.stderr);
    assert!(ran.stderr.contains("DIETCODE_TARGETS=cpu,cuda "), "{}", ran.stderr);
    // Help is there whatever was built.
    let help = Command::new(std::env::current_exe().unwrap()).args(arguments("1 --help")).output().unwrap();
    assert_eq!(help.status.code(), Some(0));
    assert!(String::from_utf8_lossy(&help.stdout).contains("Examples:"));
}
