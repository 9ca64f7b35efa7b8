//! The five programs with the set that is built in, from the command line to the next build's choice: small shapes, real
//! configurations, real files.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::{Value, json};
use tempfile::TempDir;

use dietcode::core::config::KernelSet;
use dietcode::core::sketch::Family;

const NT: &str = env!("CARGO_BIN_EXE_tune_nt");
const ALL: &str = env!("CARGO_BIN_EXE_tune_all");
const DIETCODE: &str = env!("CARGO_BIN_EXE_dietcode");

fn run(program: &str, folder: &Path, words: &str) -> Output {
    Command::new(program).args(words.split_whitespace()).current_dir(folder).output().unwrap()
}

fn stdout(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[track_caller]
fn done(program: &str, folder: &Path, words: &str) -> Output {
    let output = run(program, folder, words);
    assert_eq!(output.status.code(), Some(0), "{words}: {}{}", stdout(&output), stderr(&output));
    output
}

fn json(path: &Path) -> Value {
    serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap()
}

/// The names in a table, in its order.
fn rows(text: &str) -> Vec<&str> {
    let cells = text.lines().filter_map(|line| line.strip_prefix("│ ")?.split_whitespace().next());
    cells.filter(|name| *name != "configuration").collect()
}

#[test]
fn every_configuration_of_the_set_is_right_and_the_winner_can_be_pasted() {
    let folder = tempfile::tempdir().unwrap();
    let output = done(NT, folder.path(), "37 29 41 2 2 --threads 1 --json all.json --csv all.csv");
    let results = json(&folder.path().join("all.json"));
    let run = &results["runs"][0];
    assert_eq!((&results["format"], &results["machine"]["target"]), (&Value::from(2), &Value::from("cpu")));
    let entries = run["configurations"].as_array().unwrap();
    // What could not be timed, since others took the cores, has passed its check.
    let (measured, others): (Vec<&Value>, Vec<&Value>) =
        entries.iter().partition(|entry| entry["outcome"]["measured"].is_object());
    let is_right = |entry: &&Value| {
        let interleaved = entry["outcome"]["unserved"].as_str().is_some_and(|why| why.starts_with("not interleaved"));
        interleaved || entry["outcome"]["failed"]["kind"] == "unknown"
    };
    assert!(others.iter().all(is_right), "{others:?}");
    assert!(!measured.is_empty(), "{}", stdout(&output));
    let text = stdout(&output);
    let shown = rows(&text);
    assert_eq!(shown.len(), measured.len(), "{text}");
    // Each is as fast as or faster than the one before.
    let seconds = |name: &str| median(measured.iter().find(|entry| entry["name"] == name).unwrap());
    assert!(shown.windows(2).all(|pair| seconds(pair[0]) >= seconds(pair[1])), "{text}");
    let line = text.lines().last().unwrap();
    let families = KernelSet::parse("pasted.json", line).unwrap().families().unwrap();
    assert_eq!(families.iter().map(Family::name).collect::<Vec<String>>(), [*shown.last().unwrap()], "{line}");
    let table = csv::Reader::from_path(folder.path().join("all.csv")).unwrap().records().map(Result::unwrap).count();
    assert_eq!(table, entries.len() + run["baselines"].as_array().unwrap().len());
}

fn median(entry: &Value) -> f64 {
    let mut seconds: Vec<f64> =
        entry["outcome"]["measured"]["seconds"].as_array().unwrap().iter().map(|s| s.as_f64().unwrap()).collect();
    seconds.sort_by(f64::total_cmp);
    let middle = seconds.len() / 2;
    if seconds.len() % 2 == 1 { seconds[middle] } else { seconds[middle - 1].midpoint(seconds[middle]) }
}

#[test]
fn the_four_transpositions_have_a_summary_and_one_file() {
    let folder = tempfile::tempdir().unwrap();
    let output = done(ALL, folder.path(), "9 8 7 3 1 interleaved --top 2 --threads 1 --json all.json");
    let results = json(&folder.path().join("all.json"));
    let kernels: Vec<&str> =
        results["runs"].as_array().unwrap().iter().map(|run| run["kernel"].as_str().unwrap()).collect();
    let expected = ["nn", "nt", "tn", "tt"].map(|letters| format!("gemm_{letters}_interleaved"));
    assert_eq!(kernels, expected);
    let text = stdout(&output);
    let summary = text.split("The best of each:").nth(1).unwrap();
    assert!(expected.iter().all(|kernel| summary.contains(kernel)), "{text}");
}

/// A folder with the config of `gemm_nt` and its source, and results at two shapes.
struct Place(TempDir);

impl Place {
    fn new() -> Place {
        let place = Place(tempfile::tempdir().unwrap());
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        for (from, to) in [("configs/gemm_nt.json", "configs/gemm_nt.json"), ("src/ops/gemm.rs", "src/ops/gemm.rs")] {
            fs::create_dir_all(place.path(to).parent().unwrap()).unwrap();
            fs::copy(root.join(from), place.path(to)).unwrap();
        }
        done(NT, place.0.path(), "33 20 47 1 2 --threads 1 --json a.json");
        done(NT, place.0.path(), "80 20 16 2 2 --threads 1 --json b.json");
        place
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn merge(&self, words: &str) -> Output {
        run(DIETCODE, self.0.path(), &format!("merge {words}"))
    }

    #[track_caller]
    fn refused(&self, words: &str, sentence: &str) {
        let output = self.merge(words);
        assert_eq!(output.status.code(), Some(2), "{words}: {}", stderr(&output));
        assert!(stderr(&output).contains(sentence), "{words}: {}", stderr(&output));
        assert!(!self.path(TUNED).exists(), "nothing is left of what was refused");
    }

    /// Results with something else in the place of something.
    fn altered(&self, name: &str, alter: impl Fn(&mut Value)) {
        let mut results = json(&self.path("a.json"));
        alter(&mut results);
        fs::write(self.path(name), results.to_string()).unwrap();
    }
}

const TUNED: &str = "configs/gemm_nt.cpu.tuned.json";

#[test]
fn merged_results_are_what_the_next_build_dispatches_by() {
    let place = Place::new();
    let words = format!("a.json b.json -o {TUNED}");
    assert_eq!(place.merge(&words).status.code(), Some(0), "{}", stderr(&place.merge(&words)));
    for (shape, file) in [("B=1,M=33,N=47,K=20", "a.json"), ("B=2,M=80,N=16,K=20", "b.json")] {
        let explained =
            done(DIETCODE, place.0.path(), &format!("explain configs/gemm_nt.json --wkl {shape} --json - --threads 1"));
        let explained: Value = serde_json::from_str(&stdout(&explained)).unwrap();
        assert_eq!(explained["miss"], Value::Null, "{explained}");
        let tuned = json(&place.path(TUNED));
        let instances = tuned["instances"].as_array().unwrap();
        let instance = instances.iter().find(|instance| instance["wkl"] == explained["wkl"]).unwrap();
        assert_eq!(explained["kernel"], instance["micro_kernel"]);
        // What was selected is within the tolerance of the best that was measured there.
        let run = &json(&place.path(file))["runs"][0];
        let measured =
            run["configurations"].as_array().unwrap().iter().filter(|e| e["outcome"]["measured"].is_object());
        let best = measured.map(median).fold(f64::INFINITY, f64::min);
        let rate = instance["measurements"][0]["gflops_measured"].as_f64().unwrap();
        let best_rate = run["flops"].as_f64().unwrap() / best / 1e9;
        // Medians of two rates and of two times differ a little.
        assert!(rate >= 0.8 * best_rate, "{rate} {best_rate}");
    }
}

#[test]
fn what_does_not_fit_together_is_not_merged() {
    let place = Place::new();
    place.refused("a.json -o gemm_nt.json", "-o: found `gemm_nt.json`");
    place.refused("a.json -o configs/gemm_nt.tpu.tuned.json", "-o: found");
    place.refused("a.json -o configs/gemm_nn.cpu.tuned.json", "gemm_nn.json");
    place.refused(&format!("a.json a.json -o {TUNED}"), "give one of them");
    place.refused(&format!("none.json -o {TUNED}"), "none.json: cannot be read");
    place.refused(&format!("configs/gemm_nt.json -o {TUNED}"), "is no file of results");
    fs::write(place.path("tuned.json"), r#"{"format": 3, "kernel": "gemm_nt", "micro_kernels": []}"#).unwrap();
    place.refused(&format!("tuned.json -o {TUNED}"), "is no file of results");
    place.refused("a.json -o configs/gemm_nt.sm_90.tuned.json", "found results of a CPU, expected some of sm_90");
    for (key, value, sentence) in [
        ("/format", Value::from(99), "found results of format 99, expected 2"),
        ("/machine/cpu", Value::from("an abacus"), "found results of the CPU `an abacus`"),
        ("/machine/compiler", Value::from("by hand"), "found results of the compiler `by hand`"),
        ("/runs/0/kernel", Value::from("gemm_tt"), "found results of `gemm_tt`, expected some of `gemm_nt`"),
        ("/runs/0/source_hash", Value::from("00"), "of another version of `gemm_nt`"),
        ("/runs/0/beta", Value::from(1.0), "beta = 1"),
        ("/runs/0/configurations/0/parameters", Value::from(1), "is no file of results"),
    ] {
        place.altered("odd.json", |results| *results.pointer_mut(key).unwrap() = value.clone());
        let words = if key == "/runs/0/beta" { "b.json odd.json" } else { "odd.json" };
        place.refused(&format!("{words} -o {TUNED}"), sentence);
    }
    let seconds = |seconds: &[f64]| json!({ "measured": { "seconds": seconds, "rel_err": 0.0 } });
    for (key, value, sentence) in [
        ("flops", Value::from(-1.0), "runs[0].flops: found -1, expected how many operations"),
        ("threads", Value::from(1_u64 << 40), "runs[0].threads: found 1099511627776, expected at most"),
        ("shape/M", Value::from(1_u64 << 31), "runs[0].shape.M: found 2147483648, expected 1 to 2147483647"),
        ("configurations/0/name", Value::from("fast"), "runs[0].configurations[0].name: found `fast`, expected `"),
        ("baselines/0/outcome", seconds(&[-1.0]), "seconds: found -1e0, expected seconds greater"),
        ("baselines/0/outcome", seconds(&[]), "seconds: found an empty array, expected"),
    ] {
        let key = format!("/runs/0/{key}");
        place.altered("odd.json", |results| *results.pointer_mut(&key).unwrap() = value.clone());
        place.refused(&format!("odd.json -o {TUNED}"), sentence);
    }
    place.altered("odd.json", |results| {
        let local = results["runs"][0]["configurations"].as_array_mut().unwrap();
        local.iter_mut().find(|entry| entry["parameters"]["family"] == "local").unwrap()["parameters"]["wg_rows"] =
            0.into();
    });
    place.refused(&format!("odd.json -o {TUNED}"), "parameters: found some of no configuration of `local`, expected");
    place.refused(&format!("configs -o {TUNED}"), "configs: is not a file");
    place.altered("odd.json", |results| results["machine"]["cpu"] = "an abacus".into());
    place.refused(&format!("b.json odd.json -o {TUNED}"), "as in b.json");
}

#[test]
fn results_on_standard_output_are_alone_there() {
    let folder = tempfile::tempdir().unwrap();
    let output = done(NT, folder.path(), "9 8 7 1 1 --top 2 --threads 1 --json -");
    let results: Value = serde_json::from_str(&stdout(&output)).unwrap();
    assert_eq!(results["runs"][0]["shape"]["M"], 9);
    assert!(stderr(&output).contains("GFLOP/s"), "{}", stderr(&output));
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn what_cannot_be_written_is_told_before_anything_is_measured() {
    let folder = tempfile::tempdir().unwrap();
    let odd = |options: &str, sentence: &str| {
        let output = run(NT, folder.path(), &format!("9 8 7 1 1 {options}"));
        assert_eq!(output.status.code(), Some(2), "{options}: {}", stderr(&output));
        assert!(stderr(&output).contains(sentence), "{options}: {}", stderr(&output));
        assert!(stdout(&output).is_empty(), "{options}: {}", stdout(&output));
    };
    odd("--json none/a.json", "none/a.json: cannot be written");
    odd("--wkl M=1", "unexpected argument '--wkl' found\n\nUsage");
    odd("--csv .", "cannot be written");
    odd("--json a --csv a", "--json and --csv name the same file");
    #[cfg(target_os = "linux")]
    {
        odd("--csv /proc/a.csv", "expected a folder that files can be written to");
        fs::create_dir(folder.path().join("sub")).unwrap();
        std::os::unix::net::UnixListener::bind(folder.path().join("sub/socket")).unwrap();
        odd("--json sub/socket", "which is written whole or not at all");
    }
    assert_eq!(
        fs::read_dir(folder.path()).unwrap().filter(|entry| !entry.as_ref().unwrap().path().is_dir()).count(),
        0
    );
}

/// A terminal's Ctrl-C reaches the compiler that a run has started too.
#[cfg(unix)]
#[test]
fn an_interrupt_while_a_compiler_runs_is_no_fault_of_the_compiler() {
    let folder = tempfile::tempdir().unwrap();
    let cc = folder.path().join("cc");
    fs::write(&cc, "#!/bin/sh\nmkdir \"$0.called\" && kill -INT $PPID\nsleep 1\nexit 1\n").unwrap();
    fs::set_permissions(&cc, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let output = Command::new(NT).args(["9", "8", "7", "1", "1"]).env("CC", &cc).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert_eq!(stdout(&output), "Not reached before the run was ended: gemm_nt\n", "{}", stderr(&output));
}

#[cfg(target_os = "linux")]
#[test]
fn a_run_goes_on_where_nobody_reads_of_its_progress() {
    let folder = tempfile::tempdir().unwrap();
    let config = Path::new(env!("CARGO_MANIFEST_DIR")).join("configs/gemm_nt_interleaved.json");
    let config = config.to_str().unwrap();
    for (program, words) in [(NT, &["9", "8", "7", "1", "1"][..]), (DIETCODE, &["emit", config, "-o", "out"])] {
        let full = fs::File::options().write(true).open("/dev/full").unwrap();
        let output = Command::new(program).args(words).current_dir(folder.path()).stderr(full).output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{words:?}: {}", stdout(&output));
    }
}
