//! The command as its users meet it: exit statuses, messages, files.

mod bad_input;
mod explained;
mod extents;
mod occupancy;

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::{Value, json};

const OPS: &str = include_str!("../nests/dense.rs");

const CONFIG: &str = r#"{
  "kernel": { "source": "ops.rs", "function": "dense" },
  "shape": { "M": "16*T", "K": 64, "N": 96 },
  "wkl_insts": [{ "T": 1 }, { "T": 4 }], "regret": { "worst": 4 },
  "search": { "seconds": 20, "threads": [1], "strategy": "enumerate" },
  "targets": { "cpu": { "march": "x86-64-v3", "generators": [
    { "family": "tiled", "vector": ["j"], "register_tile": [{ "i": 4, "j": 16 }, { "i": 2, "j": 32 }, { "i": 5, "j": 7 }],
      "block_tile": [{ "k": 64 }], "pack": [["w"]] }
  ] } }
}"#;

/// A folder with a config and its source.
struct Place(tempfile::TempDir);

impl Place {
    fn new() -> Place {
        let place = Place(tempfile::tempdir().unwrap());
        fs::write(place.path("ops.rs"), OPS).unwrap();
        fs::write(place.path("dense.json"), CONFIG).unwrap();
        place
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn run(&self, arguments: &[&str]) -> Output {
        self.command(arguments).output().unwrap()
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_dietcode"));
        command.args(arguments).current_dir(self.0.path());
        command
    }

    /// Tunes; gives the tuned file, and how many of its two instances there was time to compare with others.
    fn tune(&self) -> (Value, usize) {
        let output = self.run(&["tune", "dense.json", "--seconds", "10", "--json", "rows.json"]);
        assert_eq!(status(&output), 0, "{}", stderr(&output));
        let left_out = stdout(&output).matches(", not compared with others, as the time was over").count();
        (read_json(&self.path("dense.cpu.tuned.json")), 2 - left_out)
    }
}

/// The rows of an implementation in a report of so many comparisons. One in which it has no figure is among those that are counted as such, since
/// others took the cores.
fn rows_of<'r>(report: &'r Value, implementation: &str, comparisons: usize) -> Vec<&'r Value> {
    assert_eq!(report["in_use"]["comparisons"], comparisons, "{report}");
    let unknown = report["in_use"]["unknown"].as_u64().unwrap() as usize;
    let rows = report["rows"].as_array().unwrap().iter();
    let rows: Vec<&Value> = rows.filter(|row| row["impl"] == implementation).collect();
    assert!((comparisons - unknown..=comparisons).contains(&rows.len()), "{implementation}: {report}");
    for row in &rows {
        assert!(row["gflops_median"].as_f64().unwrap() > 0.0 && row["rel_err"].as_f64().unwrap() < 1e-4, "{row}");
        assert_eq!(row["kernel"].is_string(), implementation == "dietcode", "{row}");
    }
    rows
}

fn status(output: &Output) -> i32 {
    output.status.code().unwrap()
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn stdout(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn read_json(path: &Path) -> Value {
    serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap()
}

#[test]
fn features_of_a_kernel_and_of_tvms_programs() {
    let place = Place::new();
    let shown = |arguments: &[&str]| {
        let output = place.run(arguments);
        assert_eq!(status(&output), 0, "{arguments:?}: {}", stderr(&output));
        String::from_utf8(output.stdout).unwrap()
    };
    for target in ["cpu", "sm_80"] {
        let loops = shown(&["features", "dense.json", "--loops", "--wkl", "T=4", "--target", target]);
        assert!(loops.contains("._attr_.nest_level") && loops.contains(".x_0.T_reuse"), "{loops}");
        let log = shown(&["features", "dense.json", "--loops", "--log", "--wkl", "T=4", "--target", target]);
        assert_eq!(log.lines().count(), loops.lines().count());
        assert_ne!(log, loops);
        let stores = shown(&["features", "dense.json", "--target", target]);
        assert!(stores.contains("auto_unroll_max_step") && stores.contains("B4.stride"), "{stores}");
    }
    let oracle = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/oracles/tvm_per_store_features.json");
    let table = shown(&["features", "--check", oracle]);
    assert!(table.contains("24 records, 70 rows"), "{table}");

    let text = fs::read_to_string(oracle).unwrap();
    let failed = |name: &str, text: &str| {
        fs::write(place.path(name), text).unwrap();
        let output = place.run(&["features", "--check", name]);
        (status(&output), stderr(&output))
    };
    let (code, said) = failed("cut.json", &text[..1000]);
    assert!(code == 2 && said.starts_with("dietcode: cut.json: EOF while parsing"), "{code} {said}");
    let (code, said) = failed("off.json", &text.replacen("\"features\":[[0.0,31", "\"features\":[[0.5,31", 1));
    assert!(code == 1 && said.contains("off beyond the tolerance: float_mad"), "{code} {said}");
    assert_eq!(status(&place.run(&["features"])), 2);
    assert_eq!(status(&place.run(&["features", "dense.json", "--loops", "--wkl", "T=1,4"])), 2);
}

/// A dump for each kernel that a command lowers, from which the kernel is lowered again.
#[test]
fn passes_are_dumped_and_replayed() {
    let place = Place::new();
    let output = place.command(&["emit", "dense.json", "-o", "out"]).env("DIETCODE_DUMP_IR", "dumps").output().unwrap();
    assert_eq!(status(&output), 0, "{}", stderr(&output));
    let dumps: Vec<PathBuf> = fs::read_dir(place.path("dumps")).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert!(!dumps.is_empty());
    for dump in &dumps {
        let output = place.run(&["lower", dump.to_str().unwrap()]);
        assert_eq!((status(&output), stdout(&output)), (0, fs::read_to_string(dump).unwrap()), "{}", stderr(&output));
    }
    let text = fs::read_to_string(&dumps[0]).unwrap();
    fs::write(place.path("wrong.ir"), text.replace("== trace", "== race")).unwrap();
    let output = place.run(&["lower", "wrong.ir"]);
    assert_eq!(status(&output), 2);
    assert!(stderr(&output).contains("wrong.ir:") && stderr(&output).contains("found `race`"), "{}", stderr(&output));
    // A file stands where the folder would be.
    let output =
        place.command(&["emit", "dense.json", "-o", "out"]).env("DIETCODE_DUMP_IR", "wrong.ir").output().unwrap();
    assert_eq!(status(&output), 3);
    assert!(stderr(&output).contains("DIETCODE_DUMP_IR names wrong.ir"), "{}", stderr(&output));
}

#[test]
fn a_grid_is_swept_and_drawn() {
    let place = Place::new();
    let sweep = ["bench", "dense.json", "--sweep-grid", "--threads", "1", "--json", "grid.json", "--plot", "grid.svg"];
    let output = place.run(&sweep);
    if status(&output) == 3 {
        let unknown = stderr(&output).ends_with(" has no figure to sweep from: others took the cores\n");
        assert!(unknown && !place.path("grid.json").exists(), "{}", stderr(&output));
    } else {
        assert_eq!(status(&output), 0, "{}", stderr(&output));
        assert!(stdout(&output).contains("median error"), "{}", stdout(&output));
        let sweeps = read_json(&place.path("grid.json"));
        let grids = sweeps[0]["grids"].as_array().unwrap();
        assert!(!grids.is_empty() && grids.iter().all(|at| at["measured"].as_f64().unwrap() > 0.0), "{sweeps}");
        assert!(fs::read_to_string(place.path("grid.svg")).unwrap().contains("predicted by its points"));
    }
    assert_eq!(status(&place.run(&["bench", "dense.json", "--target", "cuda-host"])), 2, "only a sweep has targets");
    assert_eq!(status(&place.run(&["bench", "dense.json", "--sweep-grid", "--only", "blas"])), 2);
}

/// Another program asks for one shape after the other; of a shape that was asked for before nothing is checked again.
#[test]
fn shapes_are_measured_as_standard_input_asks_for_them() {
    let place = Place::new();
    let turns = |lines: &str| {
        let mut command = place.command(&["bench", "dense.json", "--turns", "--only", "dietcode", "--only", "naive"]);
        let command = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        child.stdin.take().unwrap().write_all(lines.as_bytes()).unwrap();
        let output = child.wait_with_output().unwrap();
        let values: Vec<Value> = stdout(&output).lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        (status(&output), values, stderr(&output))
    };
    let (code, said, errors) = turns("1 T=3\n2 T=1,4\n1 T=3\n");
    assert_eq!(code, 0, "{errors}");
    assert_eq!((&said[0]["tuned"], said[0]["machine"]["cpu"].is_string()), (&json!(false), true));
    let shapes: Vec<(i64, i64)> = said[1..]
        .iter()
        .map(|turn| (turn["threads"].as_i64().unwrap(), turn["shape"]["M"].as_i64().unwrap()))
        .collect();
    assert_eq!(shapes, [(1, 48), (2, 16), (2, 64), (1, 48)]);
    for turn in &said[1..] {
        let flops = 2 * turn["shape"]["M"].as_i64().unwrap() * 96 * 64;
        assert_eq!((turn["flops"].as_f64(), &turn["shape"]["K"]), (Some(flops as f64), &json!(64)), "{turn}");
        // Where others take the cores, an implementation has no samples, and is left out.
        for (name, samples) in turn["seconds"].as_object().unwrap() {
            assert!(["dietcode", "naive"].contains(&name.as_str()), "{turn}");
            let samples = samples.as_array().unwrap();
            assert!(samples.len() >= 3 && samples.iter().all(|seconds| seconds.as_f64().unwrap() > 0.0), "{turn}");
        }
    }
    for (lines, expected) in [
        ("T=3\n", "--turns: found `T=3`, expected a number of threads and a shape, such as `2 T=37`"),
        ("1 T\n", "--turns: found `1 T`, expected a number of threads and a shape"),
        ("1 Q=3\n", "such as `2 T=37`: dense.json: found the unknown workload variable `Q`, expected `T`"),
        ("1\n", "--turns: found `1`, expected a number of threads and a shape, such as `2 T=37`: dense.json: "),
        ("1 T=0\n", "--turns: found `1 T=0`, expected a shape that can be timed: T=0: a call computes nothing"),
    ] {
        let (code, said, errors) = turns(lines);
        assert!(code == 2 && said.len() == 1 && errors.contains(expected), "{lines}: {code} {errors}");
    }
    assert_eq!(status(&place.run(&["bench", "dense.json", "--turns", "--wkl", "T=1"])), 2);
    assert_eq!((&said[0]["machine"]["caches"], &said[1]["cache"]), (&json!("warm"), &json!("warm")));
    fs::write(place.path("dense.json"), CONFIG.replace(r#""search": {"#, r#""search": { "cache": "cold","#)).unwrap();
    let (_, said, errors) = turns("1 T=3\n");
    assert_eq!((&said[0]["machine"]["caches"], &said[1]["cache"]), (&json!("cold"), &json!("cold")), "{errors}");
    let only = ["--only", "dietcode", "--threads", "1", "--json", "cold.json"];
    let output = place.run(&[&["bench", "dense.json", "--wkl", "T=1"][..], &only].concat());
    assert_eq!(status(&output), 0, "{}", stderr(&output));
    assert_eq!(read_json(&place.path("cold.json"))["machine"]["caches"], "cold");
}

#[test]
fn usage() {
    let place = Place::new();
    assert_eq!(status(&place.run(&[])), 2);
    assert_eq!(status(&place.run(&["tune"])), 2);
    assert_eq!(status(&place.run(&["tune", "dense.json", "--seconds", "-1"])), 2);
    assert_eq!(status(&place.run(&["bench", "dense.json", "--only", "magic"])), 2);
    assert_eq!(status(&place.run(&["emit", "dense.json"])), 2);
    for command in ["tune", "bench", "explain", "emit", "expand", "occupancy", "records", "simulate", "merge"] {
        let output = place.run(&[command, "--help"]);
        assert_eq!(status(&output), 0);
        assert!(stdout(&output).contains("Examples:"), "{command}");
    }
}

#[test]
fn what_is_missing_is_status_3_and_says_what_to_install() {
    let place = Place::new();
    let output = place.command(&["expand", "dense.json"]).env("CC", "no-such-compiler").output().unwrap();
    assert_eq!(status(&output), 3, "{}", stderr(&output));
    assert!(stderr(&output).contains("apt-get install gcc"), "{}", stderr(&output));
    let output = place.command(&["expand", "dense.json"]).env("CC", "/bin/false").output().unwrap();
    assert_eq!(status(&output), 3, "{}", stderr(&output));
    assert!(stderr(&output).contains("/bin/false does not work"), "{}", stderr(&output));
    let output = place.run(&["bench", "dense.json", "--blas", "no-such-blas.so"]);
    assert_eq!(status(&output), 3);
    assert!(stderr(&output).contains("no-such-blas.so"), "{}", stderr(&output));
    let output = place.run(&["bench", "dense.json", "--only", "blas", "--blas", "none"]);
    assert_eq!(status(&output), 3);
    assert!(stderr(&output).contains("found nothing to measure"), "{}", stderr(&output));
}

#[test]
fn a_file_that_cannot_be_written_is_told_before_anything_is_measured() {
    let place = Place::new();
    for option in ["--json", "--output"] {
        let output = place.run(&["tune", "dense.json", option, "no/such/folder.json"]);
        assert_eq!(status(&output), 3, "{}", stderr(&output));
        let told = "dietcode: no/such/folder.json: cannot be written";
        assert!(stderr(&output).lines().any(|line| line.starts_with(told)), "{}", stderr(&output));
    }
    let output = place.run(&["bench", "dense.json", "--json", "."]);
    assert_eq!(status(&output), 3, "{}", stderr(&output));
    assert!(!place.path("dense.cpu.records.jsonl").exists(), "nothing was begun");
}

#[test]
fn a_shape_that_does_not_fit_memory_is_status_3() {
    let place = Place::new();
    fs::write(place.path("dense.json"), CONFIG.replace("\"K\": 64", "\"K\": 600")).unwrap();
    let shapes = ["--wkl", "T=1", "--wkl", "T=100000000"];
    let arguments = ["bench", "dense.json", "--threads", "1", "--only", "dietcode", "--json", "bench.json"];
    let output = place.run(&[&arguments[..], &shapes].concat());
    assert_eq!(status(&output), 3, "{}", stderr(&output));
    // What was measured before is there.
    rows_of(&read_json(&place.path("bench.json")), "dietcode", 1);
    assert!(stderr(&output).contains("no memory for a tensor of 3840000000000 bytes"), "{}", stderr(&output));
}

#[test]
fn a_schedule_space_can_be_looked_at() {
    let place = Place::new();
    assert_eq!(stdout(&place.run(&["expand", "dense.json", "--count"])), "3\n");
    let summary = stdout(&place.run(&["expand", "dense.json"]));
    assert!(summary.starts_with("3 schedules: 2 valid, 1 not\n"), "{summary}");
    let list = stdout(&place.run(&["expand", "dense.json", "--list"]));
    assert_eq!(list.lines().filter(|line| line.ends_with(": valid")).count(), 2, "{list}");
    let lines = stdout(&place.run(&["expand", "dense.json", "--json", "-"]));
    let valid = |line: &str| serde_json::from_str::<Value>(line).unwrap()["valid"] == Value::Bool(true);
    assert_eq!(lines.lines().filter(|line| valid(line)).count(), 2);
}

#[test]
fn emitting_needs_no_tuned_file() {
    let place = Place::new();
    let listed = place.run(&["emit", "dense.json", "--list-files"]);
    assert_eq!(status(&listed), 0);
    let output = place.run(&["emit", "dense.json", "-o", "out"]);
    assert_eq!(status(&output), 0);
    assert!(stderr(&output).contains("default micro-kernel"), "{}", stderr(&output));
    for name in stdout(&listed).lines() {
        assert!(place.path("out").join(name).is_file(), "{name}");
    }
    assert!(stdout(&listed).contains("registry.def") && stdout(&listed).contains("registry.rs"));
}

/// A kernel without shape variables has an instance without a name.
#[test]
fn the_only_shape_of_a_kernel_is_named() {
    let place = Place::new();
    let source =
        "#[dynamic_kernel] fn fixed(x: &[f32; 64], y: &mut [f32; 64]) { for i in 0..64 { y[i] = x[i] + 1.0; } }";
    fs::write(place.path("fixed.rs"), source).unwrap();
    let output = place.run(&["tune", "--kernel", "fixed.rs", "--trials", "1", "--threads", "1"]);
    assert_eq!(status(&output), 0, "{}", stderr(&output));
    let table = stdout(&output);
    assert!(table.starts_with("Written: configs/fixed.json: 1 instance of `fixed`, its only shape\n"), "{table}");
    assert!(table.contains("│ its only shape ┆"), "{table}");
    let output = place.run(&["explain", "configs/fixed.json"]);
    assert!(stdout(&output).contains("│ its only shape ┆"), "{}", stdout(&output));
    let output = place.run(&["records", "configs/fixed.cpu.records.jsonl"]);
    assert!(stdout(&output).contains("┆ its only shape ┆"), "{}", stdout(&output));
    let wrong = place.run(&["records", "configs/fixed.cpu.records.jsonl", "--wkl", "N=3"]);
    assert!(
        status(&wrong) == 2 && stderr(&wrong).ends_with("shape variables of the kernel: none\n"),
        "{}",
        stderr(&wrong)
    );
    let wrong = place.run(&["explain", "configs/fixed.json", "--wkl", "N=3"]);
    let said = "found the unknown workload variable `N`, expected none, since no extent depends on one\n";
    assert!(status(&wrong) == 2 && stderr(&wrong).ends_with(said), "{}", stderr(&wrong));
}

/// On standard output there is JSON and nothing else, the same as in a file.
#[test]
fn json_goes_to_a_file_or_to_standard_output() {
    let place = Place::new();
    let cases: [(&[&str], &str); 4] = [
        (&["explain", "dense.json", "--wkl", "T=4", "--threads", "1"], "micro-kernel   "),
        (&["explain", "dense.json", "--wkl", "T=1,4", "--target", "cpu"], "T=4: "),
        (&["expand", "dense.json"], "3 schedules: 2 valid, 1 not"),
        (&["expand", "dense.json", "--count"], "3\n"),
    ];
    for (arguments, text) in cases {
        let printed = place.run(&[arguments, &["--json", "-"]].concat());
        let written = place.run(&[arguments, &["--json", "out.json"]].concat());
        assert_eq!((status(&printed), status(&written)), (0, 0), "{}", stderr(&printed));
        assert_eq!(stdout(&printed), fs::read_to_string(place.path("out.json")).unwrap());
        assert!(stdout(&printed).starts_with(['{', '[']) && stderr(&printed).contains(text), "{}", stderr(&printed));
        assert!(stdout(&written).contains(text), "{}", stdout(&written));
    }
    let explained = place.run(&[cases[0].0, &["--json", "-"]].concat());
    let json: Value = serde_json::from_str(&stdout(&explained)).unwrap();
    let name = json["kernel"].as_str().unwrap_or_else(|| panic!("{json}"));
    let line = format!("micro-kernel   {name}\n");
    assert!(name.contains('_') && stderr(&explained).contains(&line), "{}", stderr(&explained));
    let bench = ["bench", "dense.json", "--wkl", "T=1,3", "--threads", "1", "--only", "dietcode", "--json", "-"];
    let output = place.run(&bench);
    assert_eq!(status(&output), 0, "{}", stderr(&output));
    let report: Value = serde_json::from_str(&stdout(&output)).unwrap();
    rows_of(&report, "dietcode", 2);
    assert!(stderr(&output).contains("GFLOP/s on 1 thread"), "{}", stderr(&output));
    assert_eq!(status(&place.run(&["explain", "dense.json", "--json", "no/such/folder.json"])), 3);
    assert!(!place.path("-").exists());
}

/// Those that neither measure nor write, in the repository, and need no CUDA compiler, which takes long.
#[test]
fn examples_of_help_run_as_they_are_written() {
    let place = Place::new();
    let mut seen = 0;
    for command in ["explain", "expand", "emit", "occupancy"] {
        let help = stdout(&place.run(&[command, "--help"]));
        for line in help.lines().filter_map(|line| line.strip_prefix("  dietcode ")) {
            let words: Vec<&str> = line.split("  ").next().unwrap().split(' ').collect();
            if words.iter().any(|word| ["-o", "--csv"].contains(word) || word.starts_with("--sass")) {
                continue;
            }
            let mut example = Command::new(env!("CARGO_BIN_EXE_dietcode"));
            example.args(&words).current_dir(env!("CARGO_MANIFEST_DIR")).env("NVCC", "none");
            let output = example.output().unwrap();
            assert!(status(&output) == 0 && !stdout(&output).is_empty(), "{line}: {}", stderr(&output));
            seen += 1;
        }
    }
    assert!(seen >= 10, "{seen}");
}

/// Shapes that are asked for, also of ranges.
#[test]
fn shapes_are_asked_for_in_the_same_words() {
    let place = Place::new();
    let shapes = |wkl: &[&str]| {
        let output = place.run(&[&["explain", "dense.json", "--target", "cpu", "--json", "-"], wkl].concat());
        let explained: Value = serde_json::from_str(&stdout(&output)).unwrap();
        let all = explained.as_array().cloned().unwrap_or_else(|| vec![explained]);
        all.iter().map(|one| one["wkl"]["T"].as_i64().unwrap()).collect::<Vec<_>>()
    };
    assert_eq!(shapes(&["--wkl", "T=2"]), [2]);
    assert_eq!(shapes(&["--wkl", "T=2,7", "--wkl", "T=5..128"]), [2, 7, 5, 9, 15, 25, 43, 75, 128]);
    assert_eq!(shapes(&["--wkl", "T=16..64:16"]), [16, 32, 48, 64]);
}

/// How many leaves a tree of a tuned file has.
fn leaves(tree: &Value) -> usize {
    tree.get("if").map_or(1, |_| leaves(&tree["then"]) + leaves(&tree["else"]))
}

#[test]
fn tuned_explained_and_measured() {
    let place = Place::new();
    let (tuned, comparisons) = place.tune();
    assert_eq!(tuned["instances"].as_array().unwrap().len(), 2);
    let report = read_json(&place.path("rows.json"));
    for implementation in ["dietcode", "naive", "matrixmultiply"] {
        rows_of(&report, implementation, comparisons);
    }
    let records = fs::read_to_string(place.path("dense.cpu.records.jsonl")).unwrap();
    assert!(records.lines().count() >= 3, "the default and two candidates");

    let output = place.run(&["explain", "dense.json", "--wkl", "T=4", "--threads", "1", "--json", "-"]);
    let explained: Value = serde_json::from_str(&stdout(&output)).unwrap();
    assert_eq!(explained["kernel"], tuned["instances"][1]["micro_kernel"]);
    let fit = &explained["threads"][0];
    assert!(fit["padding_ratio"].as_f64().unwrap() >= 1.0 && fit["waves"].as_i64().unwrap() >= 1, "{fit}");
    // None where others took the cores all the time.
    assert_eq!(fit["gflops_measured"], tuned["instances"][1]["measurements"][0]["gflops_measured"], "{fit}");
    assert!(fit["gflops_predicted"].is_f64(), "{fit}");

    let overview: Value = serde_json::from_str(&stdout(&place.run(&["explain", "dense.json", "--json", "-"]))).unwrap();
    assert!(overview["gap"].is_null() && overview["miss"].is_null(), "{overview}");
    let rows = overview["instances"].as_array().unwrap();
    assert_eq!(rows.len(), 2, "{overview}");
    for (row, instance) in rows.iter().zip(tuned["instances"].as_array().unwrap()) {
        assert!(row["tuned"] == true && row["micro_kernel"] == instance["micro_kernel"], "{row}");
        assert_eq!(row["measurements"], instance["measurements"]);
    }
    let text = stdout(&place.run(&["explain", "dense.json", "--regret", "--json", "regret.json"]));
    assert_eq!(read_json(&place.path("regret.json")), tuned["regret"]);
    assert!(
        text.contains("of T=") && text.contains("mean regret") && text.contains("regions of the decision tree"),
        "{text}"
    );
    assert_eq!(tuned["regret"]["held_out"]["budget"]["worst"], 4.0);
    let tree = stdout(&place.run(&["explain", "dense.json", "--tree"]));
    let names = tree.lines().filter(|line| !line.trim_start().starts_with("if ") && line.trim_start() != "else");
    assert_eq!(names.count(), leaves(&tuned["tree"]), "{tree}");
    assert!(text.contains("the budget of 4 at worst"), "{text}");
    fs::write(place.path("dense.json"), CONFIG.replace("{ \"T\": 4 }", "{ \"T\": 4 }, { \"T\": 7 }, { \"T\": 9 }"))
        .unwrap();
    let line = "`dense` was tuned for 2 instances; T=7 and 1 more of dense.json are not among them; run `dietcode tune dense.json`";
    let text = stdout(&place.run(&["explain", "dense.json"]));
    assert!(text.starts_with(line), "{text}");
    let rows: Vec<&str> = text.lines().filter(|line| line.starts_with('│') && line.contains(" T=")).collect();
    let untuned: Vec<bool> = rows.iter().map(|row| row.contains("not tuned")).collect();
    assert_eq!(untuned, [false, false, true, true], "{text}");
    assert!(stdout(&place.run(&["explain", "dense.json", "--wkl", "T=4"])).contains(line));
    let arguments = ["--threads", "1", "--wkl", "T=1", "--only", "dietcode"];
    let bench = place.run(&[&["bench", "dense.json"], &arguments[..]].concat());
    assert!(stderr(&bench).starts_with(&format!("warning: {line}")), "{}", stderr(&bench));
    assert!(stderr(&place.run(&["emit", "dense.json", "--list-files"])).starts_with(&format!("warning: {line}")));
    fs::write(place.path("dense.json"), CONFIG).unwrap();

    let shapes = ["bench", "dense.json", "--wkl", "T=3", "--wkl", "T=1", "--threads", "1"];
    let bench = [&shapes[..], &["--json", "bench.json", "--plot", "bench.svg"]].concat();
    let output = place.run(&bench);
    assert_eq!(status(&output), 0, "{}", stderr(&output));
    assert!(!stderr(&output).contains("warning"), "{}", stderr(&output));
    let report = read_json(&place.path("bench.json"));
    assert!(report["machine"]["cpu"].is_string());
    let picture = fs::read_to_string(place.path("bench.svg")).unwrap();
    assert!(picture.contains("<svg"), "{picture}");
    for implementation in ["dietcode", "naive"] {
        for row in rows_of(&report, implementation, 2) {
            for word in ["on 1 thread", implementation, &format!("T={}", row["wkl"]["T"])] {
                assert!(picture.contains(word), "no `{word}` in the picture");
            }
        }
    }
    let output = place.run(&[
        "bench",
        "dense.json",
        "--regret",
        "3",
        "--threads",
        "1",
        "--json",
        "regret.json",
        "--plot",
        "regret.svg",
    ]);
    // A shape that others took the cores at is told and left out.
    match 3 - stderr(&output).lines().filter(|line| line.starts_with("dietcode at T=")).count() {
        0 => {
            assert_eq!(status(&output), 3, "{}", stderr(&output));
            assert!(stderr(&output).contains("found no shape that could be measured"), "{}", stderr(&output));
        }
        known => {
            assert_eq!(status(&output), 0, "{}", stderr(&output));
            assert!(stdout(&output).contains(&format!("by pairs at {known} shape")), "{}", stdout(&output));
            let regret = read_json(&place.path("regret.json"));
            let shapes = regret["shapes"].as_array().unwrap();
            let timed = shapes.iter().filter(|shape| shape["gflops"].as_f64().unwrap() > 0.0).count();
            assert_eq!((shapes.len(), timed), (known, known), "{regret}");
            assert!(fs::read_to_string(place.path("regret.svg")).unwrap().contains("dispatched"));
        }
    }
    #[cfg(unix)]
    super::report::is_drawn(&place.path(""), &tuned);
}

#[test]
fn a_tuned_file_that_does_not_hold_is_a_warning_and_the_default() {
    let place = Place::new();
    let (mut other, _) = place.tune();
    let path = place.path("dense.cpu.tuned.json");
    other["provenance"]["cpu"] = "another".into();
    for text in [other.to_string(), "{\"format\": 1".to_owned()] {
        fs::write(&path, text).unwrap();
        let output = place.run(&["bench", "dense.json", "--wkl", "T=1", "--threads", "1", "--only", "dietcode"]);
        assert_eq!(status(&output), 0, "{}", stderr(&output));
        let warned =
            stderr(&output).lines().any(|line| line.starts_with("warning: measuring the default micro-kernel: "));
        assert!(warned, "{}", stderr(&output));
    }
}

#[test]
fn a_torn_record_is_dropped_with_a_notice() {
    let place = Place::new();
    let path = place.path("dense.cpu.records.jsonl");
    fs::write(&path, "{\"format\":1,\"workload\":{\"ker").unwrap();
    let output = place.run(&["tune", "dense.json", "--trials", "1", "--seconds", "5"]);
    assert_eq!(status(&output), 0, "{}", stderr(&output));
    assert!(stderr(&output).contains("torn"), "{}", stderr(&output));
    for line in fs::read_to_string(&path).unwrap().lines() {
        serde_json::from_str::<Value>(line).unwrap();
    }
}

#[test]
fn a_kernel_that_computes_the_wrong_thing_is_status_1() {
    use std::os::unix::fs::PermissionsExt;
    let place = Place::new();
    // A compiler that breaks micro-kernels, and nothing else.
    let compiler = place.path("broken-cc");
    let script = "#!/bin/sh\nfor a in \"$@\"; do case \"$a\" in *[0-9]x[0-9]*_????????.c) sed -i 's/+=/-=/g' \"$a\";; esac; done\nexec cc \"$@\"\n";
    fs::write(&compiler, script).unwrap();
    fs::set_permissions(&compiler, fs::Permissions::from_mode(0o755)).unwrap();
    let arguments = ["bench", "dense.json", "--wkl", "T=1", "--threads", "1", "--blas", "none"];
    let output = place.command(&arguments).env("CC", &compiler).output().unwrap();
    assert_eq!(status(&output), 1, "{}", stderr(&output));
    assert!(stderr(&output).contains("dietcode at T=1"), "{}", stderr(&output));
}

#[test]
fn a_reader_that_went_away_changes_no_status() {
    let place = Place::new();
    let head = include_str!("../compiler/occupancy/nvidia.csv").lines().next().unwrap();
    fs::write(place.path("rows.csv"), format!("{head}\nsm_80,256,128,0,3\n")).unwrap();
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let mut command = Command::new(env!("CARGO_BIN_EXE_dietcode"));
    command.args(["occupancy", "--csv"]).arg(place.path("rows.csv"));
    command.stdout(writer.try_clone().unwrap()).stderr(writer);
    assert_eq!(command.status().unwrap().code(), Some(1));
}
