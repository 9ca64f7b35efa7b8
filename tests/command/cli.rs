//! The command as its users meet it: exit statuses, messages, files.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::{Value, json};

const OPS: &str = include_str!("../nests/dense.rs");

const CONFIG: &str = r#"{
  "kernel": { "source": "ops.rs", "function": "dense" },
  "shape": { "M": "16*T", "K": 64, "N": 96 },
  "wkl_insts": [{ "T": 1 }, { "T": 4 }],
  "search": { "seconds": 20, "threads": [1], "strategy": "enumerate" },
  "targets": { "cpu": { "generators": [
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

    /// Tunes; gives the tuned file.
    fn tune(&self) -> Value {
        let output = self.run(&["tune", "dense.json", "--seconds", "10", "--json", "rows.json"]);
        assert_eq!(status(&output), 0, "{}", stderr(&output));
        read_json(&self.path("dense.cpu.tuned.json"))
    }
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

/// A dump for each kernel that a command lowers, from which the kernel is lowered again.
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
    assert_eq!(status(&output), 0, "{}", stderr(&output));
    assert!(stdout(&output).contains("median error"), "{}", stdout(&output));
    let sweeps = read_json(&place.path("grid.json"));
    let grids = sweeps[0]["grids"].as_array().unwrap();
    assert!(grids.len() > 1 && grids.iter().all(|at| at["measured"].as_f64().unwrap() > 0.0), "{sweeps}");
    assert!(fs::read_to_string(place.path("grid.svg")).unwrap().contains("predicted by two points"));
    assert_eq!(status(&place.run(&["bench", "dense.json", "--target", "cuda-host"])), 2, "only a sweep has targets");
    assert_eq!(status(&place.run(&["bench", "dense.json", "--sweep-grid", "--only", "blas"])), 2);
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
fn bad_input_is_status_2_and_says_what_is_wrong() {
    let place = Place::new();
    let wrong = |arguments: &[&str], expected: &str| {
        let output = place.run(arguments);
        assert_eq!(status(&output), 2, "{arguments:?}");
        assert!(stderr(&output).contains(expected), "{arguments:?}: {}", stderr(&output));
    };
    wrong(&["tune", "missing.json"], "missing.json");
    wrong(&["bench", "dense.json", "--wkl", "T"], "name=number");
    wrong(&["bench", "dense.json", "--wkl", "T=-1"], "a number from 0 to 2147483648");
    wrong(
        &["explain", "dense.json", "--wkl", "X=1"],
        "--wkl X=1: dense.json: found the unknown workload variable `X`, expected `T`\n",
    );
    wrong(&["explain", "dense.json", "--wkl", ""], "--wkl \"\": dense.json: the workload variable `T` is missing\n");
    // The kernel's source is no config.
    let how = "found a Rust source, expected a config, which is a JSON file; `dietcode tune --kernel ops.rs";
    for command in ["explain", "expand", "tune", "bench"] {
        wrong(&[command, "ops.rs"], &format!("dietcode: ops.rs: {how}:NAME --wkl …` makes one for a kernel in it\n"));
        wrong(&[command, "ops.rs:dense"], &format!("ops.rs:dense: {how}:dense --wkl …` makes one"));
    }
    wrong(&["explain", "dense.json", "--wkl", "T=0..9999:1"], "--wkl T=0..9999:1: found more than 1000 shapes");
    wrong(&["explain", "dense.json", "--shape", "T=1"], "found\n\n  tip: what was '--shape' is '--wkl'\n");
    fs::write(place.path("dense.json"), CONFIG.replace("\"dense\"", "\"sparse\"")).unwrap();
    wrong(&["expand", "dense.json"], "dense.json:2:47: key `kernel.function`: ops.rs has no function `sparse`");
    fs::write(place.path("dense.json"), CONFIG.replace("\"M\"", "\"Q\"")).unwrap();
    wrong(&["expand", "dense.json"], "`Q`");
    fs::write(place.path("dense.json"), CONFIG.replace("wkl_insts", "wkl_inst")).unwrap();
    wrong(&["expand", "dense.json"], "dense.json:4:");
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
    assert_eq!(
        read_json(&place.path("bench.json"))["rows"].as_array().unwrap().len(),
        1,
        "what was measured before is there"
    );
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

/// The config with two CUDA devices, and two micro-kernels for them.
fn with_cuda(place: &Place) {
    let cuda = r#""cuda": { "capabilities": ["sm_80", "sm_90"], "generators": [{
      "family": "blocked", "thread": [{ "i": 8, "j": 16 }], "inner": [{ "i": 2, "j": 2 }, { "i": 4, "j": 4 }],
      "reduce": [{ "k": 16 }], "stage": [{ "x": { "reduce_outside": true }, "w": { "reduce_outside": true } }]
    }] }, "cpu":"#;
    fs::write(place.path("dense.json"), CONFIG.replace("\"cpu\":", cuda)).unwrap();
}

#[test]
fn cuda_files_are_emitted_for_what_was_asked() {
    let place = Place::new();
    with_cuda(&place);
    let listed = |targets: &[&str]| {
        let targets = targets.iter().flat_map(|target| ["--target", target]);
        let arguments: Vec<&str> = ["emit", "dense.json", "--list-files"].into_iter().chain(targets).collect();
        stdout(&place.run(&arguments))
    };
    let all = listed(&[]);
    assert!(all.contains("registry.c\n") && all.contains("cuda/report.json\n") && all.contains("cuda/dietcode.cuh\n"));
    assert!(!listed(&["cpu"]).contains("cuda/"));
    let host = listed(&["cuda-host"]);
    assert!(host.contains("cuda/cuda_host/fibers.h\n") && !host.contains("registry.c"), "{host}");
    assert!(host.contains("registry.def\n") && host.contains("registry.rs\n"), "{host}");
    assert_eq!(status(&place.run(&["emit", "dense.json", "--target", "tpu", "-o", "out"])), 2);

    assert_eq!(status(&place.run(&["emit", "dense.json", "--target", "cuda", "-o", "out"])), 0);
    let report = read_json(&place.path("out/cuda/report.json"));
    let names: Vec<&str> = report["devices"][0]["instances"]
        .as_array()
        .unwrap()
        .iter()
        .map(|i| i["micro_kernel"].as_str().unwrap())
        .collect();
    for name in names {
        let source = fs::read_to_string(place.path(&format!("out/cuda/{name}.cu"))).unwrap();
        assert!(
            source.contains("__global__") && source.contains(" * sm_80 (A100): predicted to be the best of 3"),
            "{source}"
        );
    }
}

#[test]
fn what_runs_on_a_device_is_explained() {
    let place = Place::new();
    with_cuda(&place);
    let output = place.run(&["explain", "dense.json", "--wkl", "T=4", "--json", "-"]);
    let explained: Value = serde_json::from_str(&stdout(&output)).unwrap();
    let text = stdout(&place.run(&["explain", "dense.json"]));
    assert!(text.starts_with("the default micro-kernel runs: "), "{text}");
    for device in ["on this CPU", "on sm_80 (A100), predicted", "on sm_90 (H100 SXM), predicted"] {
        let (_, table) = text.split_once(device).unwrap_or_else(|| panic!("{text}"));
        assert!(table.contains(" T=1 ") && table.contains("not tuned"), "{text}");
    }
    for (device, name) in explained["cuda"].as_array().unwrap().iter().zip(["sm_80", "sm_90"]) {
        assert_eq!(device["device"], name);
        assert!(device["launches"][0]["report"]["registers"].as_u64().unwrap() > 0, "{device}");
        assert!(
            device["predicted"]["seconds"].as_f64().unwrap() > 0.0 && device["gflops_predicted"].is_f64(),
            "{device}"
        );
    }
    let text = stdout(&place.run(&["explain", "dense.json", "--wkl", "T=4"]));
    assert!(text.contains("on sm_90 (H100 SXM), predicted to be the best of 3: "), "{text}");
    assert!(text.contains(" blocks a multiprocessor (") && text.contains("  predicted "), "{text}");
}

/// The target that is asked for, and no other; also one that the config does not name, or none.
#[test]
fn a_target_is_explained_where_it_is_asked_for() {
    let place = Place::new();
    let explain = |target: &str| {
        let output = place.run(&["explain", "dense.json", "--wkl", "T=4", "--target", target, "--json", "-"]);
        assert_eq!(status(&output), 0, "{}", stderr(&output));
        (serde_json::from_str::<Value>(&stdout(&output)).unwrap(), stderr(&output))
    };
    // As a build with .cuda(["sm_80"]) has it: the default.
    let (without, said) = explain("sm_80");
    assert_eq!((&without["cuda"][0]["source"], &without["cuda"][0]["device"]), (&json!("default"), &json!("sm_80")));
    assert!(
        said.contains("dense.json does not name sm_80: this is what a build with .cuda([\"sm_80\"]) has"),
        "{said}"
    );
    with_cuda(&place);
    for device in ["sm_75", "sm_80", "sm_90"] {
        let (explained, said) = explain(device);
        let devices = explained["cuda"].as_array().unwrap();
        assert_eq!((devices.len(), &devices[0]["device"]), (1, &json!(device)));
        assert!(explained.get("kernel").is_none() && explained.get("threads").is_none(), "{explained}");
        assert_eq!(said.contains("does not name"), device == "sm_75", "{said}");
    }
    let (cpu, said) = explain("cpu");
    assert!(cpu["cuda"].as_array().unwrap().is_empty() && cpu["kernel"].is_string(), "{cpu}");
    assert!(!said.contains("sm_"), "{said}");
    let text = stdout(&place.run(&["explain", "dense.json", "--wkl", "T=4", "--target", "sm_80"]));
    assert!(text.contains("\non sm_80 (A100)") && !text.contains("sm_90") && !text.contains("thread:"), "{text}");

    for unknown in ["sm_81", "cuda", "CPU", ""] {
        for sketches in [&["--wkl", "T=4"][..], &["--sketches"]] {
            let output = place.run(&[&["explain", "dense.json", "--target", unknown], sketches].concat());
            assert_eq!(status(&output), 2);
            assert!(stderr(&output).contains("expected one of cpu, sm_75, sm_80, "), "{}", stderr(&output));
        }
    }
    let output = place.run(&["explain", "dense.json", "--wkl", "T=4", "--target", "sm_80", "--threads", "2"]);
    assert!(status(&output) == 2 && stderr(&output).contains("--threads: expected the target cpu, found sm_80"));
}

/// What a call takes, the commands about calls take; a search has nothing to measure there.
#[test]
fn extents_of_zero_are_taken_as_calls_take_them() {
    let place = Place::new();
    fs::write(
        place.path("dense.json"),
        CONFIG.replace("64, \"N\"", "\"K\", \"N\"").replace("1 }", "1, \"K\": 3 }").replace("4 }", "4, \"K\": 3 }"),
    )
    .unwrap();
    // Without rows a call computes nothing, without anything to sum it stores the sum of nothing.
    let explain = |wkl: &str| {
        let output = place.run(&["explain", "dense.json", "--wkl", wkl, "--threads", "1", "--json", "-"]);
        assert_eq!(status(&output), 0, "{}", stderr(&output));
        (serde_json::from_str::<Value>(&stdout(&output)).unwrap(), stderr(&output))
    };
    let (explained, said) = explain("T=0,K=5");
    assert_eq!((&explained["computes_nothing"], &explained["shape"]["M"]), (&json!(true), &json!(0)));
    assert!(
        explained.get("kernel").is_none() && said.contains("a call computes nothing and returns at once"),
        "{said}"
    );
    let (explained, _) = explain("T=1,K=0");
    assert_eq!(explained["computes_nothing"], false);
    assert!(explained["kernel"].is_string() && explained["threads"][0]["padding_ratio"].is_f64(), "{explained}");

    let bench = |wkl: &str| {
        let shapes = ["bench", "dense.json", "--wkl", wkl, "--threads", "1", "--blas", "none", "--json", "bench.json"];
        let output = place.run(&shapes);
        assert_eq!(status(&output), 0, "{}", stderr(&output));
        (read_json(&place.path("bench.json"))["rows"].as_array().unwrap().clone(), stdout(&output), stderr(&output))
    };
    let (rows, _, said) = bench("T=0,K=5");
    assert!(
        rows.is_empty() && said.contains("T=0: a call computes nothing and returns at once; not measured"),
        "{said}"
    );
    let (rows, table, _) = bench("T=1,K=0");
    assert_eq!(rows.iter().map(|row| row["impl"].as_str().unwrap()).collect::<Vec<_>>(), ["dietcode", "naive"]);
    assert!(rows[0]["rel_err"] == 0.0 && rows[0]["gflops_median"].as_f64().unwrap() > 0.0, "{rows:?}");
    assert!(!table.contains("no matmul"), "{table}");

    fs::write(place.path("dense.json"), CONFIG.replace("\"T\": 4", "\"T\": 0")).unwrap();
    let output = place.run(&["tune", "dense.json"]);
    assert_eq!(status(&output), 2);
    assert!(stderr(&output).contains("`M` = 16*T is 0 at T=0, expected from 1"), "{}", stderr(&output));
    // An extent may be made of shape variables that are none.
    let odd = "#[dynamic_kernel] fn odd(z: &[f32; M], x: &[f32; 2*M - 2], y: &mut [f32; 2*M - 2]) {
        for i in 0..2*M - 2 { y[i] = x[i] * z[0]; } }";
    fs::write(place.path("odd.rs"), odd).unwrap();
    let config =
        r#"{ "kernel": { "source": "odd.rs", "function": "odd" }, "shape": { "M": "M" }, "wkl_insts": [{ "M": 1 }] }"#;
    fs::write(place.path("odd.json"), config).unwrap();
    let output = place.run(&["tune", "odd.json"]);
    assert_eq!(status(&output), 2);
    let said = "dietcode: odd.json: found the instance M=1: the loop over `i` of `odd` has 2*M - 2 = 0 iterations at M=1, expected an \
        instance whose throughput can be measured\n";
    assert_eq!(stderr(&output), said);
    assert_eq!(status(&place.run(&["explain", "odd.json", "--wkl", "M=1"])), 0);
}

/// Where a loop would have less than no iterations, it is said which, and how many.
#[test]
fn a_loop_of_negative_length_is_told_with_the_instance() {
    let place = Place::new();
    let source = "#[dynamic_kernel] fn inner(x: &[f32; N], y: &mut [f32; N]) {
        for i in 1..N - 1 { y[i] = x[i] + 1.0; } }";
    fs::write(place.path("inner.rs"), source).unwrap();
    let config = r#"{ "kernel": { "source": "inner.rs", "function": "inner" }, "shape": { "N": "T" }, "wkl_insts": [{ "T": 9 }, { "T": 1 }] }"#;
    fs::write(place.path("inner.json"), config).unwrap();
    let refused = |arguments: &[&str]| {
        let output = place.run(arguments);
        assert_eq!(status(&output), 2, "{}", stderr(&output));
        stderr(&output)
    };
    let said = "the loop over `i` of `inner` has N - 2 = -1 iterations at N=1, expected 0 or more\n";
    for command in ["tune", "explain", "expand"] {
        assert_eq!(refused(&[command, "inner.json"]), format!("dietcode: inner.json: found the instance T=1: {said}"));
    }
    for command in ["explain", "bench"] {
        assert_eq!(refused(&[command, "inner.json", "--wkl", "T=1"]), format!("dietcode: --wkl T=1: {said}"));
    }
    // More than can be addressed.
    let large = "the loop over `i` of `large` has 65536*N = 140737488355328 iterations at N=2147483648, expected at most 2^40\n";
    let source = "#[dynamic_kernel] fn large(z: &[f32; N], x: &[f32; 65536*N], y: &mut [f32; 65536*N]) {
        for i in 0..65536*N { y[i] = x[i] + z[0]; } }";
    fs::write(place.path("large.rs"), source).unwrap();
    let refusal = refused(&["tune", "--kernel", "large.rs", "--wkl", "N=2147483648"]);
    assert_eq!(refusal, format!("dietcode: --wkl N=2147483648: {large}"));
    let made = |wkl: &str| refused(&["tune", "--kernel", "inner.rs", "--wkl", wkl]);
    assert_eq!(made("N=1,5"), format!("dietcode: --wkl N=1,5: {said}"));
    let empty = "has N - 2 = 0 iterations at N=2: a call takes it, but there is nothing to tune for\n";
    assert_eq!(made("N=2"), format!("dietcode: --wkl N=2: the loop over `i` of `inner` {empty}"));
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
    assert!(report["rows"].as_array().unwrap().len() == 2 && stderr(&output).contains("GFLOP/s on 1 thread"));
    assert_eq!(status(&place.run(&["explain", "dense.json", "--json", "no/such/folder.json"])), 3);
    assert!(!place.path("-").exists());
}

/// Those that neither measure nor write, in the repository, without a CUDA compiler, which takes long.
#[test]
fn examples_of_help_run_as_they_are_written() {
    let place = Place::new();
    let mut seen = 0;
    for command in ["explain", "expand", "emit", "occupancy"] {
        let help = stdout(&place.run(&[command, "--help"]));
        for line in help.lines().filter_map(|line| line.strip_prefix("  dietcode ")) {
            let words: Vec<&str> = line.split("  ").next().unwrap().split(' ').collect();
            if words.contains(&"-o") || words.contains(&"--csv") {
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

/// The space of a target, and a sketch of a user in its place.
#[test]
fn sketches_are_printed_with_the_rules_that_made_them() {
    let place = Place::new();
    let text = stdout(&place.run(&["explain", "dense.json", "--sketches"]));
    assert!(
        text.contains("sketch 1 of 13, SSRSRS, by InlineConstantScalars, AutoInline, MultiLevelTiling, "),
        "{text}"
    );
    assert!(text.contains("w_place = sample_compute_location(k_0, j_2, k_1) = _\n"), "{text}");
    let (_, reasons) = text.split_once("\nwithout effect\n").unwrap_or_else(|| panic!("{text}"));
    // On a CPU of few cores that is since its outputs are enough, on others since the sum is short.
    assert!(reasons.contains("AddRFactor on `dense`: it"), "{reasons}");
    assert!(reasons.contains("ApplyCustomRule on `dense`: no rule of a user's is set for it\n"), "{reasons}");
    assert!(
        text.ends_with(
            "\nmutators, by how often each is chosen: tile_size 0.9, compute_location 0.05, split_k 0.05, \
         thread_binding 0.05, unroll 0.03, choice 0.03, parallel 0.02\n"
        ),
        "{text}"
    );
    let text = stdout(&place.run(&["explain", "dense.json", "--sketches", "--target", "sm_80"]));
    assert!(text.contains("x_shared = cache_read(x, shared"), "{text}");
    assert!(text.contains(", SSSRRSRS, by InlineConstantScalars, AutoInline, "), "{text}");
    let structure = CONFIG.replace("\"search\": {", r#""search": { "structure": { "cpu": "SSRRS" }, "#);
    fs::write(place.path("flat.json"), structure).unwrap();
    let text = stdout(&place.run(&["explain", "flat.json", "--sketches"]));
    assert!(text.contains(", SSRRS, by ") && !text.contains("SSRSRS"), "{text}");
    let own = r#"{ "instructions": [{ "kind": ["unrolled", "i"] }] }"#;
    fs::write(place.path("own.json"), own).unwrap();
    let rules = r#""search": { "rules": { "dense": "own.json" }, "#;
    fs::write(place.path("dense.json"), CONFIG.replace("\"search\": {", rules)).unwrap();
    let output = place.run(&["explain", "dense.json", "--sketches"]);
    assert_eq!(status(&output), 2);
    assert!(
        stderr(&output).contains("the rule for block `dense`: instruction 1 of the trace, `unroll(i)`"),
        "{output:?}"
    );
}

#[test]
fn tuned_explained_and_measured() {
    let place = Place::new();
    let tuned = place.tune();
    assert_eq!(tuned["instances"].as_array().unwrap().len(), 2);
    let rows = read_json(&place.path("rows.json"));
    let implementations: Vec<&str> =
        rows["rows"].as_array().unwrap().iter().map(|r| r["impl"].as_str().unwrap()).collect();
    for expected in ["dietcode", "naive", "matrixmultiply"] {
        assert!(implementations.contains(&expected), "{implementations:?}");
    }
    let records = fs::read_to_string(place.path("dense.cpu.records.jsonl")).unwrap();
    assert!(records.lines().count() >= 3, "the default and two candidates");

    let output = place.run(&["explain", "dense.json", "--wkl", "T=4", "--threads", "1", "--json", "-"]);
    let explained: Value = serde_json::from_str(&stdout(&output)).unwrap();
    assert_eq!(explained["kernel"], tuned["instances"][1]["micro_kernel"]);
    let fit = &explained["threads"][0];
    assert!(fit["padding_ratio"].as_f64().unwrap() >= 1.0 && fit["waves"].as_i64().unwrap() >= 1, "{fit}");
    assert!(fit["gflops_measured"].is_f64() && fit["gflops_predicted"].is_f64(), "{fit}");

    let overview: Value = serde_json::from_str(&stdout(&place.run(&["explain", "dense.json", "--json", "-"]))).unwrap();
    assert!(overview["gap"].is_null() && overview["miss"].is_null(), "{overview}");
    for (row, instance) in overview["instances"].as_array().unwrap().iter().zip(tuned["instances"].as_array().unwrap())
    {
        assert!(row["tuned"] == true && row["micro_kernel"] == instance["micro_kernel"], "{row}");
        assert_eq!(row["measurements"], instance["measurements"]);
    }
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
    let picture = fs::read_to_string(place.path("bench.svg")).unwrap();
    for word in ["<svg", "on 1 thread", "T=3", "T=1", "dietcode", "naive"] {
        assert!(picture.contains(word), "no `{word}` in the picture");
    }
    let bench = read_json(&place.path("bench.json"));
    assert!(bench["machine"]["cpu"].is_string());
    for row in bench["rows"].as_array().unwrap() {
        assert!(row["gflops_median"].as_f64().unwrap() > 0.0 && row["rel_err"].as_f64().unwrap() < 1e-4, "{row}");
        assert_eq!(row["kernel"].is_string(), row["impl"] == "dietcode", "{row}");
    }
}

#[test]
fn a_tuned_file_that_does_not_hold_is_a_warning_and_the_default() {
    let place = Place::new();
    let mut other = place.tune();
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

#[test]
fn occupancy_agrees_with_a_table_or_says_where_not() {
    let place = Place::new();
    let table = include_str!("../compiler/occupancy/nvidia.csv");
    let check = |text: &[u8]| {
        fs::write(place.path("rows.csv"), text).unwrap();
        let output = place.run(&["occupancy", "--csv", "rows.csv"]);
        (status(&output), stdout(&output), stderr(&output))
    };
    assert_eq!(check(table.as_bytes()), (0, "0 of 600 rows differ\n".into(), String::new()));
    // The columns may stand in any order, and others beside them.
    let shuffled = "blocks_per_sm,note, static_shared_bytes,registers_per_thread,threads_per_block,target\r\n0,x,49153,32,64,sm_90\r\n";
    assert_eq!(check(shuffled.as_bytes()).0, 0);

    let head = table.lines().next().unwrap();
    let (code, rows, _) =
        check(format!("{head}\nsm_100,256,128,0,2\nsm_80,256,128,0,3\nsm_80,1025,16,0,1\n").as_bytes());
    assert_eq!((code, rows.lines().count()), (1, 3), "{rows}");
    assert!(
        rows.contains("rows.csv:3: sm_80, 256 threads") && rows.contains("3 blocks; 2 fit, limited by registers"),
        "{rows}"
    );
    assert!(rows.contains("rows.csv:4: ") && rows.ends_with("2 of 3 rows differ\n"), "{rows}");

    let wrong = |text: &[u8], expected: &str| {
        let (code, _, said) = check(text);
        assert!(code == 2 && said.contains(expected), "{code} {said}");
    };
    wrong(b"", "rows.csv:1: the column `target` is missing");
    wrong(b"target,threads_per_block\nsm_80,1\n", "rows.csv:1: the column `registers_per_thread` is missing");
    wrong(format!("{head}\nsm_80,256,many,0,1\n").as_bytes(), "rows.csv:2: `registers_per_thread` is `many`");
    wrong(format!("{head}\n\nsm_80,-1,16,0,1\n").as_bytes(), "rows.csv:3: `threads_per_block` is `-1`");
    wrong(format!("{head}\r\nsm_80,1,16,0,32\r\nsm_80,1,x,0,1\r\n").as_bytes(), "rows.csv:3: ");
    wrong(format!("{head}\nsm_80,99999999999,16,0,1\n").as_bytes(), "rows.csv:2: `threads_per_block`");
    wrong(format!("{head}\nsm_81,1,16,0,1\n").as_bytes(), "rows.csv:2: `sm_81` is not a known CUDA device");
    wrong(format!("{head}\nsm_80,1,16\n").as_bytes(), "rows.csv:2: the row ends before the column");
    wrong(&[head.as_bytes(), b"\nsm_80,1,16,0,\xff\n"].concat(), "rows.csv:2: field 5 is not UTF-8");
    let folder = place.run(&["occupancy", "--csv", "."]);
    assert!(status(&folder) == 2 && stderr(&folder).contains("cannot read ."), "{}", stderr(&folder));
    assert_eq!(status(&place.run(&["occupancy", "--csv", "missing.csv"])), 2);
}

#[test]
fn occupancy_of_one_kernel() {
    let place = Place::new();
    let ask = |line: &str| place.run(&line.split(' ').collect::<Vec<_>>());
    let output = ask("occupancy --target sm_90 --threads 256 --registers 128 --shared 32768");
    let text = stdout(&output);
    assert_eq!(status(&output), 0);
    assert!(text.contains("2 blocks per multiprocessor, limited by registers; 16 of 64 warps"), "{text}");
    let left = ["32 ", "64 ", "65536", "233472"];
    assert!(left.iter().all(|number| text.contains(number)), "{text}");
    let output = ask("occupancy --target sm_75 --threads 256 --registers 32 --shared 65537");
    assert!(stdout(&output).contains("cannot be launched: shared memory"), "{}", stdout(&output));

    let printed = ask("occupancy --target sm_90 --threads 256 --registers 128 --shared 32768 --json -");
    assert!(status(&printed) == 0 && stderr(&printed).contains("2 blocks per multiprocessor"), "{}", stderr(&printed));
    let fit: Value = serde_json::from_str(&stdout(&printed)).unwrap();
    assert_eq!(
        (&fit["target"], &fit["blocks_per_sm"], &fit["limiter"]),
        (&json!("sm_90"), &json!(2), &json!("registers"))
    );
    assert_eq!((&fit["warps"], &fit["warps_per_sm"]), (&json!(16), &json!(64)));
    let registers = json!({ "limit": "registers", "takes": 32768, "has": 65536, "allows": 2, "left": 0 });
    assert!(fit["limits"].as_array().unwrap().contains(&registers), "{fit}");
    let table = "target,threads_per_block,registers_per_thread,static_shared_bytes,blocks_per_sm\nsm_80,256,128,0,2\nsm_80,256,128,0,3\n";
    fs::write(place.path("rows.csv"), table).unwrap();
    let printed = ask("occupancy --csv rows.csv --json -");
    assert!(status(&printed) == 1 && stderr(&printed).contains("1 of 2 rows differ"), "{}", stderr(&printed));
    let differing =
        json!([{ "line": 3, "target": "sm_80", "blocks_per_sm": 3, "computed": 2, "limiter": "registers" }]);
    let checked: Value = serde_json::from_str(&stdout(&printed)).unwrap();
    assert_eq!(checked, json!({ "rows": 2, "differing": differing }));
    fs::remove_file(place.path("rows.csv")).unwrap();

    let unknown = ask("occupancy --target sm_42 --threads 256 --registers 32");
    assert!(status(&unknown) == 2 && stderr(&unknown).contains("sm_75, sm_80"), "{}", stderr(&unknown));
    assert_eq!(status(&ask("occupancy --target sm_80 --threads 256")), 2);
    assert_eq!(status(&ask("occupancy --target sm_80 --threads 0 --registers 32")), 2);
    assert_eq!(status(&ask("occupancy --target sm_80 --threads 256 --registers 0")), 2);
    assert_eq!(status(&ask("occupancy --csv rows.csv --target sm_80")), 2);
    let enormous = ask("occupancy --target sm_80 --threads 4294967295 --registers 4294967295 --shared 4294967295");
    assert_eq!(status(&enormous), 0, "{}", stderr(&enormous));
}
