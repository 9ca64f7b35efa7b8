//! `dietcode results` and `dietcode tune-offline`, on files that processes of this test leave: a process lists what it has not tuned, the
//! command tunes it, the next process uses it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::Duration;

use dietcode::core::config::Config;
use dietcode::core::dispatch::Winners;
use dietcode::core::frontend;
use dietcode::core::hash::hash_of;
use dietcode::core::machine::{CpuTarget, Toolchain};
use dietcode::core::measure::{Builder, LoadedKernel};
use dietcode::core::runtime::tunable::tuning::Settings;
use dietcode::core::runtime::{TensorMut, TensorRef, with_threads};
use serde_json::Value;

const STEP: &str = "DIETCODE_TEST_STEP";

const CONFIG: &str = r#"{
  "kernel": { "source": "ops.rs", "function": "dense" },
  "shape": { "M": "16*T", "K": 64, "N": 96 },
  "wkl_insts": [{ "T": 1 }],
  "targets": { "cpu": {} }
}"#;

fn dietcode(place: &Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_dietcode")).args(arguments).current_dir(place).output().unwrap()
}

fn text(output: &Output) -> (Option<i32>, String) {
    let said = [&output.stdout[..], &output.stderr].concat();
    (output.status.code(), String::from_utf8_lossy(&said).into_owned())
}

/// The kernel as a program that was built with the config has it.
fn kernel(place: &Path) -> LoadedKernel {
    let config = Config::read(place.join("dense.json")).unwrap();
    let def = config.kernel_def().unwrap();
    let toolchain = Toolchain::find(&config.cpu.march).unwrap();
    let target = CpuTarget::of(&toolchain);
    let winners = Winners::default_for(&frontend::program(&def), &target);
    let units = winners.units(&def, &target.march).unwrap();
    LoadedKernel::load(&Builder::new(toolchain, Duration::from_secs(100)).unwrap(), &def, &units, &winners.decision)
        .unwrap()
}

/// Calls the kernel at two shapes, one of them with gaps between rows, the other five times; who has served the calls.
fn call(place: &Path, with_another: bool) -> Vec<(String, bool)> {
    let kernel = kernel(place);
    let mut op = kernel.tunable();
    if with_another {
        op.register("of a library", |_| panic!("nothing is tried")).unwrap();
    }
    // A key has the alignment, which must be the same in all processes.
    let (x, w, mut y) = (vec![0.5_f32; 4096], vec![2.0_f32; 4096], vec![0.0_f32; 4096]);
    let aligned = |data: &[f32]| (0..16).find(|at| data[*at..].as_ptr().addr().is_multiple_of(64)).unwrap();
    let (x, w, at) = (&x[aligned(&x)..], &w[aligned(&w)..], aligned(&y));
    let y = &mut y[at..];
    let mut run = |m: usize, stride: usize| {
        let x = TensorRef::with_strides(x, &[m, 7], &[stride, 1]).unwrap();
        let w = TensorRef::new(&w[..35], &[5, 7]).unwrap();
        let y = TensorMut::new(&mut y[..m * 5], &[m, 5]).unwrap();
        kernel.entered(|| with_threads(1, || op.call_args(&mut [x.into(), w.into(), y.into()]))).unwrap();
    };
    run(6, 33);
    (0..20).for_each(|_| run(9, 7));
    op.reports().into_iter().map(|report| (report.key, report.is_from_file)).collect()
}

/// Makes a step in a process of its own.
fn process(step: &str, place: &Path) {
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "results::what_a_program_has_listed_is_tuned_for_its_next_start"])
        .env(STEP, step)
        .current_dir(place)
        .output()
        .unwrap();
    let (status, said) = text(&output);
    assert!(status == Some(0) && said.contains("1 passed"), "{step}: {said}");
}

/// A folder with a nest, its config, and what a process lists there as not tuned.
fn listed() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("ops.rs"), include_str!("../nests/dense.rs")).unwrap();
    fs::write(folder.path().join("dense.json"), CONFIG).unwrap();
    process("list", folder.path());
    folder
}

#[test]
fn what_a_program_has_listed_is_tuned_for_its_next_start() {
    if let Ok(step) = std::env::var(STEP) {
        let place = std::env::current_dir().unwrap();
        Settings::new().enable(true).record_untuned(true).file("results.jsonl").apply().unwrap();
        let found = call(&place, step == "another candidate");
        match &*step {
            "use" => assert!(found.len() == 2 && found.iter().all(|(_, is_from_file)| *is_from_file), "{found:?}"),
            _ => assert!(found.is_empty(), "{found:?}"),
        }
        return;
    }
    let folder = listed();
    let place = folder.path();
    let (status, said) = text(&dietcode(place, &["results", "print", "results.jsonl"]));
    assert_eq!(status, Some(0), "{said}");
    assert!(said.contains("not tuned, 1 call or more") && said.contains("not tuned, 16 calls"), "{said}");

    let (status, said) = text(&dietcode(place, &["tune-offline", "results.jsonl", "dense.json", "--limit", "1"]));
    assert!(status == Some(0) && said.contains("2 of 2 keys tuned, 0 failed"), "{said}");
    // What was called most often comes first.
    let [often, seldom] = ["M=9", "M=6"].map(|shape| said.find(shape).unwrap());
    assert!(often < seldom, "{said}");
    process("use", place);

    process("another candidate", place);
    let (status, said) = text(&dietcode(place, &["tune-offline", "results.jsonl", "dense.json"]));
    assert!(status == Some(0) && said.contains("0 of 2 keys tuned"), "{said}");
    assert_eq!(said.matches("its program has other candidates than a build of the config").count(), 2, "{said}");
    assert_eq!(fs::read_dir(place).unwrap().count(), 3, "nothing else is left there");
}

/// A line with another key, and the hash that it then has.
fn with_key(line: &str, from: &str, to: &str) -> String {
    let (members, _) = line.split_once(",\"hash\":").unwrap();
    let members = members.replacen(from, to, 1);
    format!("{members},\"hash\":\"{}\"}}\n", &hash_of([&members])[..16])
}

#[test]
fn a_key_that_cannot_be_tried_is_told_and_the_others_are_tuned() {
    let folder = listed();
    let place = folder.path();
    let whole = fs::read_to_string(place.join("results.jsonl")).unwrap();
    let tuning = &["tune-offline", "results.jsonl", "dense.json", "--limit", "1"];

    // No kernel can be loaded where the compiler makes no library.
    let script = place.join("refusing");
    fs::write(&script, "#!/bin/sh\ncase \"$*\" in *-shared*) echo no libraries >&2; exit 1 ;; esac\nexec cc \"$@\"\n")
        .unwrap();
    fs::set_permissions(&script, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_dietcode"));
    let (status, said) = text(&command.args(tuning).env("CC", &script).current_dir(place).output().unwrap());
    assert!(status == Some(1) && said.contains("results.jsonl: 0 of 2 keys tuned, 2 failed\n"), "{said}");
    assert_eq!(said.matches(": cannot be tried: dense: the micro-kernel ").count(), 2, "{said}");

    // A size that no call has; its key comes first, since it has most calls.
    let line = whole.lines().rfind(|line| line.contains(" M=9 ")).unwrap();
    let line = with_key(line, " M=9 ", " M=4294967296 ");
    fs::write(place.join("results.jsonl"), with_key(&line, "\"calls\":", "\"calls\":9") + &whole).unwrap();
    let (status, said) = text(&dietcode(place, tuning));
    assert!(status == Some(1) && said.contains("results.jsonl: 2 of 3 keys tuned, 1 failed\n"), "{said}");
    assert!(said.contains("results.jsonl: dense at nest=") && said.contains("expected sizes below 2³²"), "{said}");
    assert!(said.ends_with("dietcode: results.jsonl: 1 key cannot be tried\n"), "{said}");
    process("use", place);
}

#[test]
fn a_config_without_a_compiler_leaves_the_keys_of_others_to_be_tuned() {
    let folder = listed();
    let place = folder.path();
    let nest = "#[dynamic_kernel] fn other(x: &[f32; M], y: &mut [f32; M]) { for i in 0..M { y[i] = 2.0 * x[i]; } }";
    fs::write(place.join("other.rs"), nest).unwrap();
    let config = r#"{
      "kernel": { "source": "other.rs", "function": "other" }, "shape": { "M": "T" }, "wkl_insts": [{ "T": 1 }],
      "targets": { "cpu": { "march": "no-such-cpu" } }
    }"#;
    fs::write(place.join("other.json"), config).unwrap();
    // A key of that nest, which comes first, since it has most calls.
    let whole = fs::read_to_string(place.join("results.jsonl")).unwrap();
    let line = whole.lines().rfind(|line| line.contains(" M=9 ")).unwrap();
    let of = |config: &str| Config::read(place.join(config)).unwrap().kernel_def().unwrap().source_hash();
    let [own, others] = ["dense.json", "other.json"].map(|config| format!("nest={:016x} ", of(config)));
    let line = with_key(&with_key(line, &own, &others), "\"dense\"", "\"other\"");
    fs::write(place.join("results.jsonl"), with_key(&line, "\"calls\":", "\"calls\":9") + &whole).unwrap();
    let (status, said) =
        text(&dietcode(place, &["tune-offline", "results.jsonl", "dense.json", "other.json", "--limit", "1"]));
    assert!(status == Some(1) && said.contains("results.jsonl: 2 of 3 keys tuned, 1 failed\n"), "{said}");
    assert!(said.contains(&format!("other at {others}")) && said.contains(": cannot be tried: "), "{said}");
    assert!(said.contains("no-such-cpu"), "{said}");
}

/// Lines as `print --json` shows them.
fn printed(place: &Path, file: &str) -> Vec<Value> {
    let output = dietcode(place, &["results", "print", file, "--json", "-"]);
    assert!(output.status.success(), "{output:?}");
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn files_are_joined_and_pruned_by_what_they_tell() {
    let folder = listed();
    let place = folder.path();
    let path = |name: &str| -> PathBuf { place.join(name) };
    fs::rename(path("results.jsonl"), path("a.jsonl")).unwrap();
    process("list", place);
    dietcode(place, &["tune-offline", "results.jsonl", "dense.json", "--limit", "1"]);
    let run = |arguments: &[&str]| text(&dietcode(place, arguments));

    // Both have listed the keys, one has tuned them since.
    let (status, said) = run(&["results", "merge", "a.jsonl", "results.jsonl", "-o", "both.jsonl"]);
    assert!(status == Some(0) && said.contains("2 lines kept; dropped: 6 replaced"), "{said}");
    let both = printed(place, "both.jsonl");
    assert!(both.iter().all(|line| line["result"]["fastest"].is_string() && line["foreign"].is_null()), "{both:?}");
    // The calls of all that have listed a key count together.
    let (_, said) = run(&["results", "merge", "a.jsonl", "-o", "a.jsonl"]);
    assert!(said.contains("2 lines kept; dropped: 1 replaced"), "{said}");
    let calls: u64 = printed(place, "a.jsonl").iter().filter_map(|line| line["result"]["untuned"].as_u64()).sum();
    assert_eq!(calls, 16 + 1);

    let whole = fs::read_to_string(path("both.jsonl")).unwrap();
    let (first, _) = whole.split_once('\n').unwrap();
    fs::write(path("both.jsonl"), format!("{whole}{whole}{}", &first[..first.len() / 2])).unwrap();
    let (status, said) = run(&["results", "prune", "both.jsonl", "--here"]);
    assert!(
        status == Some(0) && said.contains("2 lines kept; dropped: 2 replaced, 0 of another version or CPU, 1 damaged"),
        "{said}"
    );
    assert_eq!(fs::read_to_string(path("both.jsonl")).unwrap(), whole);

    for arguments in [
        ["results", "print", "nowhere.jsonl"].as_slice(),
        &["results", "prune", "nowhere.jsonl"],
        &["results", "merge", "nowhere.jsonl", "-o", "out.jsonl"],
        &["tune-offline", "nowhere.jsonl", "dense.json"],
        &["results", "print", "."],
    ] {
        let (status, said) = run(arguments);
        assert!(status == Some(2) && said.contains("cannot be read as results"), "{arguments:?}: {said}");
    }
    assert!(!path("nowhere.jsonl").exists() && !path("out.jsonl").exists());

    for arguments in [
        ["results", "prune", "ops.rs"].as_slice(),
        &["results", "prune", "dense.json"],
        &["results", "print", "ops.rs"],
        &["results", "merge", "a.jsonl", "ops.rs", "-o", "out.jsonl"],
        &["results", "merge", "a.jsonl", "-o", "ops.rs"],
        &["tune-offline", "ops.rs", "dense.json"],
    ] {
        let (status, said) = run(arguments);
        assert!(status == Some(3) && said.contains("it holds other lines, and no result"), "{arguments:?}: {said}");
    }
    assert_eq!(fs::read_to_string(path("ops.rs")).unwrap(), include_str!("../nests/dense.rs"));
    assert_eq!(fs::read_to_string(path("dense.json")).unwrap(), CONFIG);
    assert!(!path("out.jsonl").exists());

    // An output that is there comes before the files.
    let (status, said) = run(&["results", "merge", "a.jsonl", "-o", "both.jsonl"]);
    assert!(status == Some(0) && said.contains("4 lines kept"), "{said}");

    fs::write(path("empty.jsonl"), "").unwrap();
    let (status, said) = run(&["tune-offline", "empty.jsonl", "dense.json"]);
    assert!(status == Some(3) && said.contains("there is no result of this format in it"), "{said}");
    let (status, said) = run(&["results", "prune", "empty.jsonl"]);
    assert!(status == Some(0) && said.contains("0 lines kept"), "{said}");
    fs::write(path("both.jsonl"), whole).unwrap();
    let (status, said) = run(&["tune-offline", "both.jsonl", "dense.json"]);
    assert!(status == Some(0) && said.contains("no key is listed as not tuned"), "{said}");
}
