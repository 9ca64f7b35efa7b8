//! `dietcode records` and `dietcode simulate` as their users meet them.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Output};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use dietcode::core::schedule::{Instruction, Trace};
use dietcode::core::search::Database;
use dietcode::core::sketch::MicroKernel;

use serde_json::{Value, json};

/// A folder.
pub(crate) struct Place(tempfile::TempDir);

impl Place {
    pub(crate) fn new() -> Place {
        Place(tempfile::tempdir().unwrap())
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// Writes records to a file.
    pub(crate) fn write(&self, name: &str, records: &[Value]) {
        fs::write(self.path(name), records.iter().map(|record| format!("{record}\n")).collect::<String>()).unwrap();
    }

    fn run(&self, arguments: &[&str]) -> Output {
        self.dietcode("records", arguments)
    }

    pub(crate) fn dietcode(&self, command: &str, arguments: &[&str]) -> Output {
        let mut process = Command::new(env!("CARGO_BIN_EXE_dietcode"));
        process.arg(command).args(arguments).current_dir(self.0.path()).output().unwrap()
    }

    /// Simulates on `a.jsonl`.
    fn simulate(&self, arguments: &[&str]) -> Output {
        self.dietcode("simulate", &[&["a.jsonl", "--config", "dense.json"], arguments].concat())
    }

    /// What is printed, of a command that has to succeed.
    fn print(&self, arguments: &[&str]) -> String {
        let output = self.run(arguments);
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        String::from_utf8(output.stdout).unwrap()
    }

    /// What is said, of a command that has to end with a status.
    fn refuse(&self, status: i32, arguments: &[&str]) -> String {
        let output = self.run(arguments);
        assert_eq!(output.status.code(), Some(status), "{}", stderr(&output));
        stderr(&output)
    }
}

pub(crate) fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// A micro-kernel that tests tell from others by a label, which its trace holds.
fn micro_kernel(label: &str) -> MicroKernel {
    let trace = Trace::new([Instruction::DecomposeReduction]);
    MicroKernel::of_trace(trace.with([(label.into(), 1)].into()), "tiled")
}

/// A record of a run.
fn record(label: &str, m: i64, trial: u64, outcome: &Value) -> Value {
    let schedule = micro_kernel(label);
    json!({
        "format": 7,
        "workload": { "kernel": "dense", "source_hash": "0123456789abcdef", "shape": { "M": m, "N": 768 } },
        "target": { "cpu": "Some CPU", "march": "native", "compiler": "gcc 14" },
        "name": schedule.name(),
        "schedule": schedule,
        "outcome": outcome, "trial": trial, "run": "r", "seed": 0, "space_hash": "", "time": 1_700_000_000 + trial,
    })
}

pub(crate) fn measured(label: &str, m: i64, trial: u64, median: f64) -> Value {
    let gflops = json!({ "median": median, "iqr": 0.5, "repeats": 9 });
    record(label, m, trial, &json!({ "measured": { "threads": 1, "gflops": gflops, "rel_err": 1e-7 } }))
}

pub(crate) fn crashed(label: &str, trial: u64) -> Value {
    record(label, 64, trial, &json!({ "failed": { "kind": "crash", "signal": "SIGSEGV", "message": "" } }))
}

/// Three micro-kernels on two instances, one of which crashes.
pub(crate) fn records() -> Vec<Value> {
    vec![measured("slow", 64, 0, 10.0), measured("slow", 32, 0, 20.0), measured("fast", 64, 1, 40.0), crashed("bad", 2)]
}

#[test]
fn the_best_of_each_instance_stands_in_a_table() {
    let place = Place::new();
    place.write("a.jsonl", &records());
    let [slow, fast] = ["slow", "fast"].map(|label| micro_kernel(label).name());
    let text = place.print(&["a.jsonl", "--json", "out.json", "--plot", "out.svg"]);
    assert!(
        text.contains("M=64,N=768")
            && text.contains("M=32,N=768")
            && text.contains(&format!("  A  {slow}\n  B  {fast}\n")),
        "{text}"
    );
    assert!(text.ends_with("4 records, 1 failed: 1 crash\n") && !text.contains("10.0"), "{text}");
    let best: Value = serde_json::from_str(&fs::read_to_string(place.path("out.json")).unwrap()).unwrap();
    let said = |n: usize| (best[n]["name"].clone(), best[n]["outcome"]["measured"]["gflops"]["median"].clone());
    assert_eq!([said(0), said(1)], [(json!(slow), json!(20.0)), (json!(fast), json!(40.0))]);
    let svg = fs::read_to_string(place.path("out.svg")).unwrap();
    assert!(svg.contains("Best so far on 1 thread") && svg.contains("dense, run 1"), "{svg}");
}

#[test]
fn records_are_filtered() {
    let place = Place::new();
    place.write("a.jsonl", &records());
    let count = |arguments: &[&str]| {
        let all = [&["a.jsonl", "--all", "--json", "out.json"], arguments].concat();
        place.print(&all);
        let found: Value = serde_json::from_str(&fs::read_to_string(place.path("out.json")).unwrap()).unwrap();
        found.as_array().unwrap().len()
    };
    assert_eq!(count(&[]), 4);
    assert_eq!((count(&["--kernel", "dense"]), count(&["--kernel", "other"])), (4, 0));
    assert_eq!((count(&["--wkl", "M=64"]), count(&["--wkl", "M=32,N=768"]), count(&["--wkl", "M=32,N=1"])), (3, 1, 0));
    assert_eq!((count(&["--target", "cpu"]), count(&["--target", "GCC"]), count(&["--target", "cuda"])), (4, 4, 0));
    assert_eq!((count(&["--failed"]), count(&["--failed", "crash"]), count(&["--failed", "wrong"])), (1, 1, 0));
    assert_eq!(count(&["--since", "1h"]), 0);
    assert_eq!(place.print(&["a.jsonl", "--since", "1h"]), "No records.\n");
    assert!(place.print(&["a.jsonl", "--failed"]).contains("crash"));
}

/// As the config beside the file says, in its workload variables; where none is, in shape variables.
#[test]
fn records_are_filtered_by_instances_of_the_config_beside_them() {
    let place = Place::new();
    let config = r#"{ "kernel": { "source": "ops.rs", "function": "dense" }, "shape": { "M": "16*T", "N": 768 },
        "wkl_insts": [{ "T": 2 }] }"#;
    fs::write(place.path("c.json"), config).unwrap();
    place.write("c.cpu.records.jsonl", &records());
    place.write("d.cpu.records.jsonl", &records());
    let count = |file: &str, wkl: &[&str]| {
        let text = place.print(&[&[file, "--all", "--json", "-"], wkl].concat());
        serde_json::from_str::<Value>(&text).unwrap().as_array().unwrap().len()
    };
    // T=4 is no instance of the config any more.
    for (wkl, expected) in
        [("T=2", 1), ("T=4", 3), ("T=3", 0), ("T=1..3", 1), ("T=2,4", 4), ("M=32,N=768", 1), ("M=33..99", 3)]
    {
        assert_eq!(count("c.cpu.records.jsonl", &["--wkl", wkl]), expected, "{wkl}");
    }
    assert_eq!(count("c.cpu.records.jsonl", &["--wkl", "T=2", "--wkl", "M=64"]), 4);
    assert_eq!(count("d.cpu.records.jsonl", &["--wkl", "M=32"]), 1);
    assert_eq!(count("d.cpu.records.jsonl", &["c.cpu.records.jsonl", "--wkl", "T=2"]), 1);
    // What is no variable of any file is wrong usage; what was never measured is not.
    let expected = "expected workload variables of the config beside the file or shape variables of the kernel";
    for (file, wkl, known) in [("c", "Q=2", "`M`, `N`, `T`"), ("d", "T=2", "`M`, `N`"), ("d", "M=32,T=2", "`M`, `N`")] {
        let said = place.refuse(2, &[&format!("{file}.cpu.records.jsonl"), "--wkl", wkl]);
        let unknown = if wkl.contains('Q') { 'Q' } else { 'T' };
        let sentence = format!("--wkl {wkl}: found the unknown variable `{unknown}`, {expected}: {known}\n");
        assert_eq!(said, format!("dietcode: {sentence}"));
    }
    let output = place.run(&["d.cpu.records.jsonl", "--wkl", "N=769"]);
    assert_eq!(
        (output.status.code(), &*output.stdout, stderr(&output)),
        (Some(0), &b"No records.\n"[..], String::new())
    );
}

#[test]
fn what_cannot_be_asked_for_is_told() {
    let place = Place::new();
    place.write("a.jsonl", &records());
    assert!(place.refuse(2, &["a.jsonl", "--failed", "crush"]).contains("expected one of compile, "));
    assert!(place.refuse(2, &["a.jsonl", "--wkl", "M"]).contains("such as `T=37`"));
    assert!(place.refuse(2, &["a.jsonl", "--since", "yesterday"]).contains("90s, 30m, 12h or 7d"));
    place.refuse(2, &[]);
    place.refuse(2, &["merge", "a.jsonl"]);
    place.refuse(3, &["a.jsonl", "--json", "no/folder/out.json"]);
}

#[test]
fn files_that_are_none_of_records_are_told() {
    let place = Place::new();
    assert!(place.refuse(2, &["missing.jsonl"]).contains("missing.jsonl: cannot be read as records: No such file"));
    assert!(place.refuse(2, &["."]).contains("it is a folder"));
    fs::write(place.path("binary"), [0xff, 0, b'\n', 7]).unwrap();
    assert!(place.refuse(2, &["binary"]).contains("binary: found none, expected tuning records"));
    fs::write(place.path("empty"), "").unwrap();
    assert_eq!(place.print(&["empty"]), "No records.\n");
    let torn = format!("{}\n{{\"format\":3,\"wor", measured("a", 64, 0, 1.0));
    fs::write(place.path("torn"), &torn).unwrap();
    let output = place.run(&["torn"]);
    assert!(output.status.success() && stderr(&output).contains("torn: the last line was torn"), "{}", stderr(&output));
    assert_eq!(fs::read_to_string(place.path("torn")).unwrap(), torn, "reading changes nothing");
}

#[test]
fn names_in_a_file_do_nothing_to_a_terminal() {
    let place = Place::new();
    let mut record = measured("a", 64, 0, 1.0);
    for place in ["/workload/kernel", "/target/cpu"] {
        *record.pointer_mut(place).unwrap() = "\u{1b}[2J".into();
    }
    place.write("a.jsonl", &[record]);
    let text = place.print(&["a.jsonl"]);
    assert!(text.contains("[2J") && !text.contains('\u{1b}'), "{text}");
}

#[test]
fn files_are_merged_and_pruned() {
    let place = Place::new();
    let records = records();
    place.write("a.jsonl", &records[..3]);
    place.write("b.jsonl", &records[1..]);
    let said = place.print(&["merge", "a.jsonl", "b.jsonl", "-o", "a.jsonl"]);
    assert_eq!(said, "Written: a.jsonl, 4 records; 2 were there more than once\n");
    let lines = |name: &str| fs::read_to_string(place.path(name)).unwrap().lines().count();
    assert_eq!(lines("a.jsonl"), 4);
    assert_eq!(place.print(&["prune", "a.jsonl", "--best", "1"]), "Written: a.jsonl, 3 records kept, 1 dropped\n");
    assert_eq!(lines("a.jsonl"), 3);
    place.refuse(2, &["prune", "missing.jsonl"]);
    assert!(!place.path("missing.jsonl").exists());
}

/// A search that appends is this process; another one merges and prunes.
#[test]
fn nothing_is_lost_of_a_file_that_is_merged_and_pruned_while_a_search_appends_to_it() {
    const RECORDS: usize = 400;
    let place = Place::new();
    let record = |n: usize| measured(&format!("a{n}"), 64, n as u64, n as f64 + 1.0);
    place.write("all.jsonl", &(0..RECORDS).map(record).collect::<Vec<_>>());
    place.write("other.jsonl", &[measured("other", 64, 0, 1.0)]);
    place.write("live.jsonl", &[]);
    let source = Database::open(&place.path("all.jsonl")).unwrap();
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut live = Database::open(&place.path("live.jsonl")).unwrap();
            source.records.iter().for_each(|record| {
                live.append(record).unwrap();
                std::thread::sleep(Duration::from_millis(1));
            });
            done.store(true, Ordering::Relaxed);
        });
        while !done.load(Ordering::Relaxed) {
            place.print(&["merge", "other.jsonl", "-o", "live.jsonl"]);
            place.print(&["prune", "live.jsonl", "--best", "1000"]);
        }
    });
    let live = Database::open(&place.path("live.jsonl")).unwrap();
    assert_eq!((live.records.len(), live.notices.len()), (RECORDS + 1, 0));
    assert!(source.records.iter().all(|record| live.records.contains(record)));
}

const OPS: &str = include_str!("../nests/dense.rs");

const CONFIG: &str = r#"{
  "kernel": { "source": "ops.rs", "function": "dense" },
  "shape": { "M": "16*T", "K": 64, "N": 96 },
  "wkl_insts": [{ "T": 1 }, { "T": 4 }],
  "targets": { "cpu": { "generators": [{ "family": "tiled" }] } }
}"#;

/// Forty traces with their figures at both instances, of the nest as it stands.
fn traces() -> Vec<Value> {
    let def: dietcode::core::syntax::KernelDef = dietcode::core::syntax::scan(OPS).unwrap()[0].parse().unwrap();
    let of = |n: u64, m: u64| {
        let mut record = measured("", 0, n, (10 + n) as f64);
        let candidates: Vec<u64> = (0..40).collect();
        let sampled = json!({ "into": "u", "candidates": candidates, "weights": vec![1.0; 40] });
        let instructions = json!([{ "sample_categorical": sampled }, { "kind": ["parallel", "nowhere"] }]);
        let trace = json!({ "instructions": instructions, "decisions": { "u": n } });
        let schedule = MicroKernel::of_trace(serde_json::from_value(trace).unwrap(), "traced");
        record["name"] = schedule.name().into();
        record["schedule"] = json!(schedule);
        record["workload"]["shape"] = json!({ "M": m, "K": 64, "N": 96 });
        record["workload"]["source_hash"] = format!("{:016x}", def.source_hash()).into();
        record
    };
    (0..40).flat_map(|n| [of(n, 16), of(n, 64)]).collect()
}

#[test]
fn strategies_are_compared_on_records() {
    let place = Place::new();
    fs::write(place.path("ops.rs"), OPS).unwrap();
    fs::write(place.path("dense.json"), CONFIG).unwrap();
    place.write("a.jsonl", &traces());
    let run = |json: &str| {
        let output = place.simulate(&["--strategies", "random", "--seeds", "3", "--json", json, "--plot", "out.svg"]);
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        (String::from_utf8(output.stdout).unwrap(), fs::read_to_string(place.path(json)).unwrap())
    };
    let (text, first) = run("first.json");
    assert!(text.contains("40 candidates; every search begins at 10.0, the best on record are 49.0"), "{text}");
    assert_eq!(first, run("second.json").1, "a simulation depends on its seeds only");
    let printed = place.simulate(&["--strategies", "random", "--seeds", "3", "--json", "-"]);
    assert_eq!(String::from_utf8(printed.stdout.clone()).unwrap(), first);
    assert!(stderr(&printed).contains("40 candidates"), "{}", stderr(&printed));
    let report: Value = serde_json::from_str(&first).unwrap();
    let random = &report["strategies"][0];
    assert_eq!(random["checkpoints"].as_array().unwrap().len(), 2, "after 16 and 32 of 40 candidates");
    assert_eq!(random["curves"][2]["gflops"].as_array().unwrap().len(), 41);
    assert!(fs::read_to_string(place.path("out.svg")).unwrap().contains("random"));
}

#[test]
fn what_cannot_be_simulated_is_told() {
    let place = Place::new();
    fs::write(place.path("ops.rs"), OPS).unwrap();
    fs::write(place.path("dense.json"), CONFIG).unwrap();
    let told = |records: &[Value], arguments: &[&str], text: &str| {
        place.write("a.jsonl", records);
        let output = place.simulate(arguments);
        assert!(output.status.code() == Some(2) && stderr(&output).contains(text), "{}", stderr(&output));
    };
    told(&records(), &[], "found no records of `dense` as its source stands");
    let mut families = traces();
    families.iter_mut().for_each(|record| record["schedule"]["origin"]["family"] = "tiled".into());
    told(&families, &[], "found no measured traces");
    let mut two = traces();
    two[0]["target"]["march"] = "haswell".into();
    told(&two, &[], "on 2 targets, expected one, by --target");
    // Their loop `nowhere` is in no space.
    told(&traces(), &["--strategies", "evolution"], "none of the space as it is now");
    told(&traces(), &["--strategies", "random", "--model", "random"], "expected a strategy that a model guides");
    told(&traces(), &["--strategies", "best"], "possible values: random, evolution, nearest");
}

#[test]
fn a_file_is_read_once() {
    let place = Place::new();
    place.write("a.jsonl", &records());
    for twice in [["a.jsonl", "a.jsonl"], ["a.jsonl", "./a.jsonl"]] {
        let why = place.refuse(2, &twice);
        assert!(why.contains("a.jsonl: found a second time, expected each file once"), "{why}");
    }
}

#[test]
fn something_of_each_instance_is_kept() {
    let place = Place::new();
    place.write("a.jsonl", &records());
    let before = fs::read(place.path("a.jsonl")).unwrap();
    let why = place.refuse(2, &["prune", "a.jsonl", "--best", "0"]);
    assert!(why.contains("--best <N>"), "{why}");
    assert_eq!(fs::read(place.path("a.jsonl")).unwrap(), before);
}
