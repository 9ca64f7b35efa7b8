//! A GPU that is not there, from a nest to a dispatched call: sketches → draws → nvcc → the emulator's check → ranking → tuned
//! file → build → a call on the emulated device. And the same by the library's function.

use serde_json::Value;

use super::place::{Place, said};
#[cfg(unix)]
use crate::build_support::package::Package;

const CONFIG: &str = r#"{
  "kernel": { "source": "../src/ops.rs", "function": "dense" },
  "shape": { "M": "8*T", "K": 24, "N": 40 },
  "wkl_insts": [{ "T": 1 }, { "T": 5 }],
  "search": {
    "seed": 3, "threads": [1],
    "evolution": { "population": 12, "generations": 1, "retries": 3, "per_round": 3 }
  },
  "targets": { "cuda": { "capabilities": ["sm_80", "sm_90"] } }
}"#;

/// Calls the kernel on the emulated device, compares it with the nest, and says which micro-kernels ran.
const MAIN: &str = r#"
mod ops;
use dietcode_core::runtime::Tensor;
use dietcode_core::runtime::cuda::{CudaTensor, Device};
use ops::dense;

fn main() -> dietcode_core::Result<()> {
    let (device, number) = (Device::cuda_host(), |at: usize| ((at * 37) % 16) as f32 - 8.0);
    for t in [1, 5, 9] {
        let (m, n, k) = (8 * t, 40, 24);
        let (x, w) = (Tensor::from_fn(&[m, k], number)?, Tensor::from_fn(&[n, k], number)?);
        let mut expected = Tensor::zeros(&[m, n])?;
        dense::reference(&x, &w, &mut expected)?;
        let (x, w) = (CudaTensor::upload(&device, &x)?, CudaTensor::upload(&device, &w)?);
        let mut y = CudaTensor::zeros(&device, &[m, n])?;
        dense(&x, &w, &mut y)?;
        // Whole numbers: sums are exact in any order.
        assert_eq!(y.download()?.as_slice(), expected.as_slice());
        let shape = dense::KERNEL.shape_vars().iter().map(|var| match var.name { "M" => m, "N" => n, _ => k } as i64);
        let shape: Vec<i64> = shape.collect();
        println!("T={t} ran {}", dense::KERNEL.selected_on_device(&shape, device.capability())?.name);
    }
    Ok(())
}
"#;

/// The records of a file.
/// What was measured, without what the finals made of it.
fn records(text: &str) -> Vec<Value> {
    let records = text.lines().map(|line| serde_json::from_str(line).unwrap());
    records.filter(|record: &Value| record["outcome"]["verdict"].is_null()).collect()
}

#[cfg(unix)]
#[test]
fn traces_are_evolved_built_and_called() {
    let package = Package::new();
    package.replace("Cargo.toml", "dietcode-core\" }", "dietcode-core\", features = [\"cuda\"] }");
    package.replace("build.rs", "kernels([\"src/ops.rs\"])", "kernels([\"src/ops.rs\"]).cuda_host()");
    package.write("configs/bert_dense.json", CONFIG);
    package.write("src/main.rs", MAIN);
    let tune = |more: &[&str]| {
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_dietcode"));
        command.args(["tune", "configs/bert_dense.json", "--target", "cuda-host", "--trials", "6"]).args(more);
        let output = command.current_dir(package.folder()).output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{}", said(&output));
        said(&output)
    };
    let told = tune(&[]);
    assert!(told.contains("evolution of ") && told.contains("sm_90 by estimates"), "{told}");
    let lines = package.read("configs/bert_dense.sm_90.records.jsonl");
    let seen = records(&lines);
    let traced: std::collections::BTreeSet<&str> = seen
        .iter()
        .filter(|r| r["schedule"]["origin"]["family"] == "traced")
        .map(|r| r["name"].as_str().unwrap())
        .collect();
    assert_eq!(traced.len(), 6, "the default and six traces: {traced:?}");
    for record in &seen {
        assert_eq!(record["estimated"], true, "{record}");
        assert_eq!(record["target"]["device"], "cuda-host", "{record}");
        let report = &record["report"][0];
        for figure in ["threads", "registers", "blocks_per_sm"] {
            assert!(report[figure].as_u64().unwrap() > 0, "{record}");
        }
        assert!(report["shared_bytes"].is_u64() && report["spill_bytes"].is_u64(), "{record}");
        assert!(report["main_loop"]["fma"].as_u64().unwrap() > 0, "nvdisasm counts instructions: {record}");
        assert!(record["outcome"]["measured"]["rel_err"].as_f64().unwrap() < 1e-5, "the emulator's check: {record}");
    }
    tune(&["--resume"]);
    assert_eq!(package.read("configs/bert_dense.sm_90.records.jsonl"), lines, "what is on record is not tried again");

    let tuned: Value = serde_json::from_str(&package.read("configs/bert_dense.sm_90.tuned.json")).unwrap();
    assert_eq!((&tuned["target"], &tuned["provenance"]["estimated"]), (&"sm_90".into(), &true.into()));
    let winners = tuned["micro_kernels"].as_array().unwrap();
    let report = |winner: &Value| &tuned["reports"][winner["origin"]["name"].as_str().unwrap()];
    assert!(
        !winners.is_empty() && winners.iter().all(|winner| report(winner)[0]["registers"].as_u64().unwrap() > 0),
        "{tuned}"
    );
    let instances = tuned["instances"].as_array().unwrap();
    assert_eq!(instances.len(), 2, "{tuned}");
    for (instance, shape) in instances.iter().zip([8, 40]) {
        let here = seen.iter().filter(|record| record["workload"]["shape"]["M"] == shape);
        let figure = |record: &Value| record["outcome"]["measured"]["gflops"]["median"].as_f64().unwrap();
        let best = here.clone().map(figure).fold(0.0, f64::max);
        let name = &instance["micro_kernel"];
        let own = here.filter(|record| record["name"] == *name).map(figure).fold(0.0, f64::max);
        assert!(own >= 0.97 * best, "{name} has {own}, the best on record {best}");
    }

    let run = package.cargo_with(&["run"], &[("DIETCODE_TARGETS", "cpu,cuda-host")]);
    assert!(run.succeeded, "{}", run.text);
    for (t, instance) in [1, 5].into_iter().zip(instances) {
        let line = format!("T={t} ran {}", instance["micro_kernel"].as_str().unwrap());
        assert!(run.text.contains(&line), "{line} in {}", run.text);
    }
    assert!(run.text.contains("T=9 ran "), "{}", run.text);
}

/// The records of a target: which were drawn from sketches, and whether figures are estimates.
fn searched(place: &Place, target: &str) -> (usize, bool) {
    let seen = records(&std::fs::read_to_string(place.path(&format!("dense.{target}.records.jsonl"))).unwrap());
    let drawn: std::collections::BTreeSet<&str> = seen
        .iter()
        .filter(|r| r["schedule"]["origin"]["family"] == "traced")
        .map(|r| r["name"].as_str().unwrap())
        .collect();
    let estimated = |record: &Value| record["estimated"] == true;
    assert!(seen.iter().all(estimated) || !seen.iter().any(estimated), "one target, one kind of figures: {seen:?}");
    (drawn.len(), seen.iter().all(estimated))
}

#[test]
fn several_targets_are_searched_in_one_run() {
    let place = Place::new();
    place.set("dense.json", "\"targets\": {", "\"targets\": { \"cuda\": { \"capabilities\": [\"sm_80\"] },");
    place.tune(&["dense.json", "--target", "cpu,cuda-host", "--strategy", "evolution", "--trials", "2"]);
    let ((on_cpu, cpu_estimated), (on_gpu, gpu_estimated)) = (searched(&place, "cpu"), searched(&place, "sm_80"));
    assert!(on_cpu > 0 && on_gpu > 0, "{on_cpu} on the CPU, {on_gpu} on the GPU");
    assert!(!cpu_estimated && gpu_estimated, "times on the CPU, estimates for the GPU");
    for target in ["cpu", "sm_80"] {
        let tuned = place.json(&format!("dense.{target}.tuned.json"));
        assert_eq!((&tuned["kernel"], &tuned["target"]), (&"dense".into(), &target.into()));
        assert_eq!(tuned["instances"].as_array().unwrap().len(), 2, "{tuned}");
    }
}

#[test]
fn what_cannot_be_tuned_does_not_keep_the_others() {
    let place = Place::new();
    place.set("dense.json", "\"targets\": {", "\"targets\": { \"cuda\": { \"capabilities\": [\"sm_80\"] },");
    for configs in [["scale.json", "dense.json"], ["dense.json", "scale.json"]] {
        drop(std::fs::remove_file(place.path("dense.sm_80.tuned.json")));
        let arguments = [&configs[..], &["--target", "cuda-host", "--strategy", "evolution", "--trials", "1"]].concat();
        let output = place.command(&arguments).output().unwrap();
        let said = said(&output);
        assert!(!output.status.success(), "{said}");
        assert!(said.contains("scale.json is not tuned: ") && said.contains("dietcode: scale.json: "), "{said}");
        assert_eq!(place.json("dense.sm_80.tuned.json")["kernel"], "dense");
    }
}

/// All of the config's list is tried, and nothing else but the default.
#[test]
fn what_the_generators_list_for_a_gpu_is_enumerated() {
    let place = Place::new();
    let generators = r#""targets": { "cuda": { "capabilities": ["sm_80"], "generators": [
        { "family": "blocked", "thread": [{ "i": 2, "j": 8 }, { "i": 4, "j": 8 }], "reduce": [{ "k": 4 }, { "k": 8 }] } ] },"#;
    place.set("dense.json", "\"targets\": {", generators);
    // These four, however long nvcc takes.
    let said = place.tune(&["dense.json", "--target", "cuda-host", "--strategy", "enumerate", "--trials", "4"]);
    assert!(said.contains("4 candidates from 4 schedules"), "{said}");
    let seen = records(&std::fs::read_to_string(place.path("dense.sm_80.records.jsonl")).unwrap());
    let listed = seen.iter().filter(|record| record["trial"] != 0);
    let names: std::collections::BTreeSet<&str> =
        listed.clone().map(|record| record["name"].as_str().unwrap()).collect();
    assert_eq!(names.len(), 4, "{names:?}");
    for record in listed {
        assert_eq!(record["schedule"]["origin"]["family"], "blocked", "{record}");
        assert!(record["outcome"]["measured"]["rel_err"].as_f64().unwrap() < 1e-5, "the emulator's check: {record}");
    }
    let tuned = place.json("dense.sm_80.tuned.json");
    let tried: Vec<&str> = seen.iter().map(|record| record["name"].as_str().unwrap()).collect();
    let winners =
        tuned["instances"].as_array().unwrap().iter().map(|instance| instance["micro_kernel"].as_str().unwrap());
    assert!(winners.clone().count() == 2 && winners.clone().all(|name| tried.contains(&name)), "{tuned}");
}

/// At its own shapes, which no emulator could carry out.
#[test]
fn the_shipped_config_is_evolved_for() {
    let folder = tempfile::tempdir().unwrap();
    let [tuned, seen] = ["tuned.json", "records.jsonl"].map(|name| folder.path().join(name));
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_dietcode"));
    command.args(["tune", "configs/bert_dense.json", "--target", "cuda-host", "--trials", "2", "--seed", "1"]);
    command.arg("--output").arg(&tuned).arg("--records").arg(&seen).current_dir(env!("CARGO_MANIFEST_DIR"));
    let output = command.output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    let tuned: Value = serde_json::from_str(&std::fs::read_to_string(&tuned).unwrap()).unwrap();
    assert_eq!(tuned["instances"].as_array().unwrap().len(), 8, "{tuned}");
    let seen = records(&std::fs::read_to_string(&seen).unwrap());
    let traced = seen.iter().filter(|record| record["schedule"]["origin"]["family"] == "traced");
    let checked = traced.filter(|record| record["outcome"]["measured"]["rel_err"].as_f64().is_some_and(|e| e < 1e-5));
    assert!(checked.count() >= 2, "{seen:?}");
}

#[test]
fn targets_that_cannot_be_had_are_told() {
    let place = Place::new();
    for (arguments, status, sentence) in [
        (&["--target", "gpu"][..], 2, "cpu, cuda, cuda-host"),
        (&["--target", "cuda-host"], 2, "dense.json: found no `targets.cuda`"),
        (&["--target", "cuda-host", "--until", "0.5"], 2, "found no `targets.cuda`"),
    ] {
        let output = place.command(&[&["dense.json"], arguments].concat()).output().unwrap();
        assert_eq!(output.status.code(), Some(status), "{}", said(&output));
        assert!(said(&output).contains(sentence), "{arguments:?}: {}", said(&output));
    }
}
