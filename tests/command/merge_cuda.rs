//! `dietcode merge` of what was measured on a GPU, which need not be here.

use std::fs;
use std::process::Command;

use dietcode::core::config::KernelSet;
use dietcode::core::syntax::KernelDef;
use serde_json::{Value, json};

const CONFIG: &str = r#"{
  "kernel": { "source": "ops.rs", "function": "dense" },
  "shape": { "M": "M", "K": "K", "N": "N" },
  "wkl_insts": [{ "M": 64, "N": 64, "K": 64 }],
  "targets": { "cuda": { "capabilities": ["sm_90"] } }
}"#;

const SET: &str = r#"{ "naive": [{ "cache_line_size": [64, 128] }] }"#;

/// Results of a device as one of the five programs writes them: the first configuration is the faster one on the first shape, the
/// second on the other.
fn results() -> Value {
    let def: KernelDef = dietcode::core::syntax::scan(include_str!("../nests/dense.rs")).unwrap()[0].parse().unwrap();
    let families = KernelSet::parse("set.json", SET).unwrap().families().unwrap();
    assert_eq!(families.len(), 2);
    let run = |extent: i64, seconds: [f64; 2]| {
        let entries = families.iter().zip(seconds).map(|(family, seconds)| {
            json!({
                "name": family.name(), "parameters": family, "ratios": {},
                "outcome": { "measured": { "seconds": vec![seconds; 3], "rel_err": 0.0 } },
            })
        });
        json!({
            "kernel": "dense", "source_hash": format!("{:016x}", def.source_hash()),
            "shape": { "M": extent, "N": extent, "K": extent }, "alpha": 1.0, "beta": 0.0, "threads": 0, "reps": 3,
            "flops": 2 * extent.pow(3), "stopped": null, "baselines": [], "configurations": entries.collect::<Vec<Value>>(),
        })
    };
    json!({
        "format": 2, "program": "tune_nt", "date": "2026-01-01", "set": "set.json",
        "machine": {
            "target": "cuda", "nvcc": "13.0",
            "device": {
                "name": "cuda:0", "model": "a device", "emulated": false, "capability": [9, 0], "multiprocessors": 132,
                "memory_bytes": 80_u64 << 30, "l2_bytes": 50 << 20, "clock_khz": null, "memory_clock_khz": null,
                "memory_bus_bits": null, "ecc": null, "driver_cuda": null, "cublas": null, "no_cublas": null, "nvidia_smi": {},
            },
        },
        "runs": [run(64, [1e-5, 3e-5]), run(256, [9e-5, 4e-5])],
    })
}

#[test]
fn a_merged_tuned_file_of_a_gpu_has_the_compile_reports_of_its_winners() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    fs::write(path("ops.rs"), include_str!("../nests/dense.rs")).unwrap();
    fs::write(path("dense.json"), CONFIG).unwrap();
    fs::write(path("gpu.json"), results().to_string()).unwrap();
    let mut merge = Command::new(env!("CARGO_BIN_EXE_dietcode"));
    let output =
        merge.args(["merge", "gpu.json", "-o", "dense.sm_90.tuned.json"]).current_dir(folder.path()).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    let tuned: Value = serde_json::from_str(&fs::read_to_string(path("dense.sm_90.tuned.json")).unwrap()).unwrap();
    let provenance = &tuned["provenance"];
    assert_eq!((&provenance["device"], &provenance["compiler"]), (&"a device".into(), &"13.0".into()), "{tuned}");
    let instances = tuned["instances"].as_array().unwrap();
    let names: Vec<&str> = instances.iter().map(|instance| instance["micro_kernel"].as_str().unwrap()).collect();
    assert!(names.len() == 2 && names[0] != names[1], "each shape has its own winner: {tuned}");
    for (instance, (extent, seconds)) in instances.iter().zip([(64i32, 1e-5), (256, 4e-5)]) {
        let (found, best) =
            (&instance["measurements"][0]["gflops_measured"], 2e-9 * f64::from(extent).powi(3) / seconds);
        assert!(found.as_f64().is_some_and(|found| (found / best - 1.0).abs() < 0.01), "{found}, not {best}: {tuned}");
    }
    for name in names {
        let launch = &tuned["reports"][name][0];
        for figure in ["threads", "registers", "blocks_per_sm"] {
            assert!(launch[figure].as_u64().is_some_and(|n| n > 0), "{figure} of {name}: {tuned}");
        }
        assert!(launch["spill_bytes"].is_u64() && launch["shared_bytes"].is_u64(), "{tuned}");
    }
}
