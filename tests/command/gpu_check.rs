//! `dietcode gpu-check`: a rehearsal on the emulated device, the files that it leaves, and the results that are kept.

mod result;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use result::{Kind, check};
use serde_json::Value;

/// A handful of micro-kernels: of `f32`, of two kinds of matrix instructions, batched.
const SET: &str = r#"{
  "kernels": [
    { "source": "ops.rs", "function": "dense" },
    { "source": "ops/batched.rs", "function": "batch_matmul_nn_f16" }
  ],
  "targets": { "cuda": { "capabilities": ["sm_80"], "generators": [
    { "family": "blocked", "kernels": ["dense"], "thread": [{ "i": 8, "j": 8 }], "inner": [{ "i": 2, "j": 2 }],
      "reduce": [{ "k": 8 }], "stage": [{ "x": { "reduce_outside": true }, "w": { "reduce_outside": true } }] },
    { "family": "blocked", "kernels": ["dense"], "thread": [{ "i": 1, "j": 2 }], "inner": [{ "i": 1, "j": 2 }],
      "reduce": [{ "k": 16 }], "stage": [{ "x": { "vector": 4, "pad": 4 }, "w": { "vector": 4, "pad": 4 } }],
      "matrix_unit": ["tf32"] },
    { "family": "blocked", "kernels": ["batch_matmul_nn_f16"], "thread": [{ "i": 1, "j": 2 }],
      "inner": [{ "i": 1, "j": 2 }], "reduce": [{ "k": 16 }],
      "stage": [{ "x": { "vector": 8, "pad": 8 }, "w": { "vector": 8, "pad": 8, "reduce_outside": true } }],
      "matrix_unit": ["half"] }
  ] } }
}"#;

/// A folder with that set and the sources it names.
struct Place(tempfile::TempDir);

impl Place {
    fn new() -> Place {
        let place = Place(tempfile::tempdir().unwrap());
        fs::create_dir(place.path("ops")).unwrap();
        fs::write(place.path("ops.rs"), include_str!("../../src/ops.rs")).unwrap();
        fs::write(place.path("ops/batched.rs"), include_str!("../../src/ops/batched.rs")).unwrap();
        fs::write(place.path("set.json"), SET).unwrap();
        place
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_dietcode"));
        command.arg("gpu-check").args(arguments).current_dir(self.0.path());
        command
    }

    fn run(&self, arguments: &[&str]) -> (i32, String, String) {
        told(&self.command(arguments).output().unwrap())
    }

    /// The whole run of what the set lists, with a C++ compiler.
    fn rehearse(&self, compiler: Option<&Path>) -> (i32, String, String) {
        let set = ["--device", "cuda-host", "--config", "set.json", "--strategy", "enumerate"];
        let mut command = self.command(&set);
        command.args(["--seconds", "4", "--json", "result.json"]);
        compiler.into_iter().for_each(|compiler| {
            command.env("CXX", compiler);
        });
        told(&command.output().unwrap())
    }

    fn result(&self) -> Value {
        serde_json::from_str(&fs::read_to_string(self.path("result.json")).unwrap()).unwrap()
    }
}

fn told(output: &Output) -> (i32, String, String) {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.code().unwrap(), text(&output.stdout), text(&output.stderr))
}

#[test]
fn a_rehearsal_leaves_a_result_with_its_provenance() {
    let place = Place::new();
    let (status, table, said) = place.rehearse(None);
    assert_eq!(status, 0, "{said}\n{table}");
    assert!(table.contains("9 of 9 checks passed") && table.contains("times mean nothing"), "{table}");
    let result = place.result();
    check(&result, Kind::Rehearsal).unwrap();
    assert!(result["complete"] == true && result["failures"] == 0, "{result}");
    let precisions: Vec<&str> =
        result["tuned"].as_array().unwrap().iter().map(|t| t["precision"].as_str().unwrap()).collect();
    assert_eq!(precisions, ["f32", "tf32", "tf32x3", "f16"]);
    let problems: Vec<&str> =
        result["tuned"].as_array().unwrap().iter().map(|t| t["problem"].as_str().unwrap()).collect();
    assert_eq!(problems, ["bert_dense", "bert_dense", "bert_dense", "bert_p_v"]);
    assert_eq!(result["comparisons"].as_array().unwrap().len(), 8, "two shapes each");
    let records = fs::read_to_string(place.path("result.records.jsonl")).unwrap();
    // Verdicts and turns are on record too, as far as the time goes.
    let outcomes = records.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()["outcome"].clone());
    let errors: Vec<f64> = outcomes
        .inspect(|outcome| assert!(outcome["failed"].is_null(), "{outcome}"))
        .filter_map(|outcome| Some(outcome.get("measured")?["rel_err"].as_f64().unwrap()))
        .collect();
    assert!(records.lines().count() >= 6 && !errors.is_empty(), "{records}");
    assert!(errors.iter().all(|error| *error < 1e-2), "{records}");
    // A rehearsal is no result of a GPU, and what lacks its provenance is none of either.
    assert!(check(&result, Kind::Measured).is_err());
    for part in ["format", "date", "device", "toolchain", "settings", "micro_kernels", "tuned", "comparisons"] {
        let mut torn = result.clone();
        torn.as_object_mut().unwrap().remove(part);
        assert!(check(&torn, Kind::Rehearsal).unwrap_err().contains(part));
    }
    let mut empty = result.clone();
    empty["comparisons"][0]["entries"] = Value::Array(Vec::new());
    assert!(check(&empty, Kind::Rehearsal).unwrap_err().contains("comparisons"));
}

/// One without a loop that blocks and threads could share takes nothing from the others.
#[test]
fn a_config_whose_nest_no_gpu_can_run_is_told_and_left_out() {
    let place = Place::new();
    let total = "#[dynamic_kernel] pub fn total(x: &[f32; N], y: &mut [f32; 1]) {
        let mut acc = 0.0;
        for k in 0..N { acc += x[k]; }
        y[0] = acc;
    }";
    fs::write(place.path("total.rs"), total).unwrap();
    let config = |source: &str, function: &str, shape: &str| {
        format!(
            r#"{{ "kernel": {{ "source": "{source}", "function": "{function}" }}, "shape": {shape}, "wkl_insts": [{{ "T": 7 }}],
                "search": {{ "seed": 3, "trials": 1 }} }}"#
        )
    };
    fs::write(place.path("total.json"), config("total.rs", "total", r#"{ "N": "T" }"#)).unwrap();
    fs::write(place.path("sums.json"), config("ops.rs", "row_sum", r#"{ "M": "T", "N": 2000 }"#)).unwrap();
    let configs = ["--config", "total.json", "--config", "sums.json"];
    let (status, _, said) = place.run(&[&["--device", "cuda-host", "--json", "result.json"], &configs[..]].concat());
    let why = "`total` cannot run on sm_90: its nest has no loop that blocks and threads could share";
    assert!(status == 1 && said.contains(why), "{status}: {said}");
    let result = place.result();
    assert!(result["complete"] == true && result["failures"] == 1, "{result}");
    assert_eq!((&result["tuned"][0]["failure"], &result["tuned"][0]["problem"]), (&why.into(), &"total".into()));
    assert_eq!((&result["tuned"][1]["failure"], result["tuned"][1]["file"].is_object()), (&Value::Null, true));
    // Twice is once too often.
    let (status, _, said) = place.run(&["--device", "cuda-host", "--config", "sums.json", "--config", "./sums.json"]);
    assert!(status == 2 && said.contains("found a second time, expected each file once"), "{status}: {said}");
}

/// A kernel that is no product, and a config without a schedule: all that is tried but the default comes from the tuner's space.
#[test]
fn a_config_of_any_nest_is_tuned_by_evolution() {
    let place = Place::new();
    let config = r#"{ "kernel": { "source": "ops.rs", "function": "row_sum" }, "shape": { "M": "T", "N": 2000 },
        "wkl_insts": [{ "T": 7 }, { "T": 3000 }, { "T": 4 }], "search": { "seed": 3, "trials": 3,
        "evolution": { "population": 8, "generations": 1, "retries": 3, "per_round": 3 } } }"#;
    fs::write(place.path("sums.json"), config).unwrap();
    let arguments = ["--device", "cuda-host", "--config", "sums.json", "--seconds", "60", "--json", "result.json"];
    let (status, table, said) = place.run(&arguments);
    assert_eq!(status, 0, "{said}\n{table}");
    assert!(said.contains("evolution of ") && table.contains("sums"), "{said}\n{table}");
    let result = place.result();
    assert!(result["complete"] == true && result["failures"] == 0, "{result}");
    let tuned = &result["tuned"][0];
    assert_eq!(
        (&tuned["problem"], &tuned["precision"], &tuned["kernel"]),
        (&"sums".into(), &"f32".into(), &"row_sum".into())
    );
    assert_eq!((&tuned["strategy"], &tuned["candidates"]), (&"evolution".into(), &3.into()));
    assert_eq!(result["comparisons"].as_array().unwrap().len(), 2, "a rehearsal takes two instances");
    let records = fs::read_to_string(place.path("result.records.jsonl")).unwrap();
    let records: Vec<Value> = records.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let traced: std::collections::BTreeSet<&str> =
        (records.iter().filter(|r| r["schedule"]["origin"]["family"] == "traced").map(|r| r["name"].as_str().unwrap()))
            .collect();
    assert_eq!(traced.len(), 3, "traces beside the default: {traced:?}");
}

#[test]
fn wrong_micro_kernels_are_told_and_the_run_goes_on() {
    use std::os::unix::fs::PermissionsExt;
    let place = Place::new();
    // A compiler that breaks sums of f32 in the set's own micro-kernel, which is named after its register tile.
    let compiler = place.path("broken-c++");
    let script = "#!/bin/sh\nfor a in \"$@\"; do case \"$a\" in *-2x2_*.cu) sed -i 's/ + x_shared\\[/ - x_shared[/g' \"$a\";; esac; done\nexec c++ \"$@\"\n";
    fs::write(&compiler, script).unwrap();
    fs::set_permissions(&compiler, fs::Permissions::from_mode(0o755)).unwrap();
    let (status, table, said) = place.rehearse(Some(&compiler));
    assert_eq!(status, 1, "{said}\n{table}");
    assert!(table.contains("6 of 9 checks passed") && table.contains("is wrong in"), "{table}");
    let result = place.result();
    check(&result, Kind::Rehearsal).unwrap();
    assert_eq!(result["complete"], true);
    let wrong = &result["micro_kernels"][0]["checks"][0]["failure"];
    assert_eq!(wrong["kind"], "wrong", "{wrong}");
    let dispatched = &result["comparisons"][0]["entries"][0];
    assert!(dispatched["failure"].is_null(), "the default stands: {dispatched}");
}

#[test]
fn a_run_that_is_stopped_is_not_passed_and_leaves_what_it_saw() {
    let place = Place::new();
    let mut command = place.command(&["--device", "cuda-host", "--config", "set.json", "--json", "result.json"]);
    stop(&mut command, &place, "the run was stopped");
    // The deadline is over before anything is compiled, which takes nothing from an interrupt.
    let place = Place::new();
    let mut command = place.command(&["--device", "cuda-host", "--config", "set.json", "--json", "result.json"]);
    stop(command.args(["--deadline", "0.001"]), &place, "the deadline of 0.001 s came before the end");
}

fn stop(command: &mut Command, place: &Place, why: &str) {
    use std::io::{BufRead, BufReader, Read};
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let mut said = BufReader::new(child.stderr.take().unwrap());
    // Its first line says what it compiles with; interrupts are caught by then.
    said.read_line(&mut String::new()).unwrap();
    assert!(Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success());
    let mut rest = String::new();
    said.read_to_string(&mut rest).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(1), "{rest}");
    assert!(rest.contains(why), "{rest}");
    let result = place.result();
    check(&result, Kind::Rehearsal).unwrap();
    assert!(result["complete"] == false && result["failures"] == 0, "{result}");
}

/// The deadline is over when the first micro-kernel is compiled.
#[test]
fn a_run_that_comes_to_its_deadline_says_what_was_left_out() {
    let place = Place::new();
    let set = ["--device", "cuda-host", "--config", "set.json", "--deadline", "0.001", "--json", "result.json"];
    let (status, table, said) = place.run(&set);
    assert!(status == 1 && said.contains("the deadline of 0.001 s came before the end"), "{status}: {said}");
    assert!(table.contains("left out: 3 of 3 micro-kernels were not checked"), "{table}");
    assert!(table.contains("left out: not tuned: bert_dense in f32, bert_dense in tf32"), "{table}");
    let result = place.result();
    assert!(result["complete"] == false && result["came_to_deadline"] == true, "{result}");
    assert_eq!((&result["failures"], result["left_out"].as_array().unwrap().len()), (&0.into(), 2));
    assert!(
        said.contains("--seconds 120: a search has at most half of the time until the deadline, 0.0005 s"),
        "{said}"
    );
}

#[test]
fn what_is_missing_or_wrong_has_a_status_and_a_sentence() {
    let place = Place::new();
    for (arguments, status, sentence) in [
        (&["--device", "cuda:one"][..], 2, "cuda:one"),
        (&["--device", "cpu"], 2, "cuda-host"),
        (&["--seconds", "0"], 2, "seconds"),
        (&["--deadline", "0"], 2, "deadline"),
        (&["--device", "cuda-host", "--config", "missing.json"], 2, "missing.json"),
        (&["--device", "cuda-host", "--images", "set.json"], 2, "machine code"),
        (&["--images", "nowhere"], 2, "gpu-images"),
        (&["--images", "nowhere", "--strategy", "evolution"], 2, "expected enumerate"),
        (&["--strategy", "guess"], 2, "expected one of evolution, random, enumerate"),
        (&["--device", "cuda-host", "--tuned", "tuned"], 2, "mean nothing"),
        (&["--device", "cuda-host", "--json", "no/such/folder.json"], 3, "no/such/folder.json"),
        (&["--device", "cuda:4711"], 3, "there is no"),
    ] {
        let (code, _, said) = place.run(arguments);
        assert_eq!(code, status, "{arguments:?}: {said}");
        assert!(said.contains(sentence), "{arguments:?}: {said}");
    }
}

/// Checks the results of a folder; how many there are.
fn check_folder(folder: &Path) -> Result<usize, String> {
    let paths = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let results: Vec<PathBuf> = paths.filter(|path| path.extension().is_some_and(|e| e == "json")).collect();
    for path in &results {
        let value: Value = serde_json::from_str(&fs::read_to_string(path).unwrap()).map_err(|e| e.to_string())?;
        check(&value, Kind::Measured).map_err(|why| format!("{}: {why}", path.display()))?;
    }
    Ok(results.len())
}

/// Where none is kept yet, a result that lacks its provenance is what shows that the others would be told.
#[test]
fn every_result_that_is_kept_has_its_provenance() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/gpu/results");
    let kept = check_folder(&folder).unwrap();
    assert!(folder.join("README.md").is_file(), "{kept} results, and what they are");
    let other = tempfile::tempdir().unwrap();
    assert_eq!(check_folder(other.path()), Ok(0));
    for torn in ["", "{}", "{ \"format\": 1 }"] {
        fs::write(other.path().join("torn.json"), torn).unwrap();
        assert!(check_folder(other.path()).is_err(), "{torn}");
    }
}
