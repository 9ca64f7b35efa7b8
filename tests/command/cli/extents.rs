//! Shapes at the edges: extents of zero, and below.

use std::fs;

use serde_json::{Value, json};

use super::{CONFIG, Place, read_json, rows_of, status, stderr, stdout};

/// What a call takes, the commands about calls take; a search has nothing to measure there.
#[test]
fn extents_of_zero_are_taken_as_calls_take_them() {
    let place = Place::new();
    fs::write(
        place.path("dense.json"),
        CONFIG
            .replace("64, \"N\"", "\"K\", \"N\"")
            .replace("\"T\": 1", "\"T\": 1, \"K\": 3")
            .replace("\"T\": 4", "\"T\": 4, \"K\": 3"),
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
        (read_json(&place.path("bench.json")), stdout(&output), stderr(&output))
    };
    let (report, _, said) = bench("T=0,K=5");
    assert!(rows_of(&report, "dietcode", 0).is_empty(), "{report}");
    assert!(said.contains("T=0: a call computes nothing and returns at once; not measured"), "{said}");
    let (report, table, _) = bench("T=1,K=0");
    for implementation in ["dietcode", "naive"] {
        assert!(rows_of(&report, implementation, 1).iter().all(|row| row["rel_err"] == 0.0), "{report}");
    }
    let rows = report["rows"].as_array().unwrap();
    assert!(rows.iter().all(|row| row["impl"] == "dietcode" || row["impl"] == "naive"), "{report}");
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
