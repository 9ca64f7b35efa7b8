//! What runs where, and what may: `explain`, the files of `emit` for devices, sketches.

use std::fs;

use dietcode::core::dispatch::{Tree, Tuned};
use dietcode::core::sketch::MicroKernel;
use serde_json::{Value, json};

use super::{CONFIG, Place, read_json, status, stderr, stdout};

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
    assert_eq!(names.len(), 2, "{report}");
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
    let devices = explained["cuda"].as_array().unwrap();
    assert_eq!(devices.len(), 2, "{explained}");
    for (device, name) in devices.iter().zip(["sm_80", "sm_90"]) {
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

/// Of a set's micro-kernel of 2 x 2 sums and 8 steps a tile: 32 products.
#[test]
fn a_main_loop_is_told_by_its_instructions() {
    let place = Place::new();
    let set = r#"{ "kernels": [{ "source": "ops.rs", "function": "dense" }],
      "targets": { "cuda": { "capabilities": ["sm_80", "sm_90"], "generators": [
        { "family": "blocked", "thread": [{ "i": 8, "j": 8 }], "inner": [{ "i": 2, "j": 2 }], "reduce": [{ "k": 8 }],
          "stage": [{ "x": { "reduce_outside": true }, "w": { "reduce_outside": true } }] } ] } } }"#;
    fs::write(place.path("set.json"), set).unwrap();
    let output = place.run(&["explain", "set.json", "--sass=dense 2x2", "--target", "sm_90", "--json", "-"]);
    assert_eq!(status(&output), 0, "{}", stderr(&output));
    let rows: Value = serde_json::from_str(&stdout(&output)).unwrap();
    let [row] = &rows.as_array().unwrap()[..] else { panic!("{rows}") };
    assert_eq!(
        (&row["kernel"], &row["device"], &row["main_loop"]["fma"]),
        (&json!("dense"), &json!("sm_90"), &json!(32))
    );
    assert!(row["main_loop"].get("local").is_none() && row["report"]["spill_stores"] == 0, "{row}");
    let table = stderr(&output);
    assert!(table.contains("on sm_90: instructions of the main loop") && table.contains("dense"), "{table}");
    assert!(row["expected"].as_array().unwrap().is_empty() && !table.contains("of peak"), "the set has no shapes");

    let asked =
        ["explain", "set.json", "--sass", "--target", "sm_90", "--wkl", "M=512,N=512,K=64..128:64", "--json", "-"];
    let output = place.run(&asked);
    let rows: Value = serde_json::from_str(&stdout(&output)).unwrap();
    let expected = rows[0]["expected"].as_array().unwrap();
    assert_eq!((expected.len(), &expected[1]["shape"]), (2, &json!({ "M": 512, "N": 512, "K": 128 })));
    // 32 products by each of 2 warps, of which 4 are carried out in a clock, and a fraction of the device's.
    let [clocks, share] =
        [&expected[1]["iteration"]["fma"], &expected[1]["share_of_peak"]].map(|of| of.as_f64().unwrap());
    assert!((16.0..32.0).contains(&clocks) && share > 0.0 && share < 1.0, "{expected:?}");
    assert!(stderr(&output).contains("second level") && stderr(&output).contains("of peak"), "{output:?}");

    for (set, arguments) in [("set.json", &["--sass=conv"][..]), ("dense.json", &["--sass"])] {
        let output = place.run(&[&["explain", set], arguments].concat());
        assert_eq!(status(&output), 2);
        assert!(stderr(&output).contains("found no micro-kernel for CUDA"), "{output:?}");
    }
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
fn a_cover_of_a_tuned_file_is_explained_emitted_and_measured() {
    let place = Place::new();
    place.tune();
    let path = place.path("dense.cpu.tuned.json");
    let mut tuned: Tuned = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
    let part = &tuned.micro_kernels[0];
    let cover = MicroKernel::cover(part, part, "M", 24);
    tuned = Tuned { tree: Tree::Leaf(cover.name()), micro_kernels: vec![cover.clone()], regret: None, ..tuned };
    tuned.save(&path).unwrap();
    let run = |arguments: &[&str]| {
        let output = place.run(arguments);
        assert!(status(&output) == 0 && !stderr(&output).contains("warning"), "{}", stderr(&output));
        stdout(&output)
    };
    let explained = run(&["explain", "dense.json", "--wkl", "T=4", "--threads", "1"]);
    for expected in [&*cover.name(), "# multiples of 24 of M", "# the rest of M"] {
        assert!(explained.contains(expected), "{explained}");
    }
    run(&["emit", "dense.json", "-o", "out"]);
    let unit = fs::read_to_string(place.path("out").join(format!("{}.c", cover.name()))).unwrap();
    assert!(unit.contains("dietcode_shape[0] / 24 * 24"), "{unit}");
    // Every element of what was dispatched to is compared with the oracle first.
    let measured = run(&["bench", "dense.json", "--wkl", "T=4", "--threads", "1", "--only", "dietcode"]);
    assert!(measured.contains("T=4"), "{measured}");
}
