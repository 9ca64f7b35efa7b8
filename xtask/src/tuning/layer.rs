//! `cargo xtask tuning --layer`: what it is worth to tune the kernels of a BERT layer together.
//!
//! ```text
//! together   one search of all of them, whose rounds go where they gain most ─┐
//! alone      one search for each, with an equal share of the time             ├─► by turns ─► seconds of a layer
//! ```

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use super::figures::geometric_mean;
use crate::command::{built, copied, read, succeed};
use crate::steps::root;

/// The four dense layers and the two products of the attention.
const LAYER: [&str; 6] = ["bert_dense", "bert_attention_out", "bert_ffn_in", "bert_ffn_out", "bert_q_k", "bert_p_v"];

/// The time of a search alone, in seconds; together, they have as much.
const SECONDS: usize = 60;

/// By how much the layer may be slower by one search than by six, which noise decides.
const SLOWER: f64 = 1.01;

/// What two searches chose at an instance on a number of threads.
struct Pair {
    operations: f64,
    together: f64,
    alone: f64,
}

/// Runs it; an error says that searches alone found more.
pub(super) fn measure(folder: &Path, seed: &str) -> Result<(), String> {
    let program = built()?;
    let seconds = (SECONDS * LAYER.len()).to_string();
    let together = configs(&folder.join("together"))?;
    let last = together[LAYER.len() - 1].with_extension("cpu.tuned.json");
    if !last.exists() {
        let tune = ["tune", "--blas", "none", "--seed", seed, "--seconds", &seconds];
        succeed(Command::new(&program).args(tune).args(&together))?;
    }
    let alone = configs(&folder.join("alone"))?;
    for config in &alone {
        if !config.with_extension("cpu.tuned.json").exists() {
            let tune = ["tune", "--blas", "none", "--seed", seed, "--seconds", &SECONDS.to_string()];
            succeed(Command::new(&program).args(tune).arg(config))?;
        }
    }
    println!("\n| kernel | threads | alone, GFLOP/s | together | ms alone | ms together |\n|---|---|---|---|---|---|");
    let mut all = [[0.0; 2]; 2];
    for ((name, together), alone) in LAYER.iter().zip(&together).zip(&alone) {
        let report = alone.with_extension("compared.json");
        if !report.exists() {
            let mut bench = Command::new(&program);
            bench.arg("bench").arg(alone).args(["--only", "dietcode", "--beside"]);
            succeed(bench.arg(together.with_extension("cpu.tuned.json")).arg("--json").arg(&report))?;
        }
        let rows = read::<Value>(&report)?["rows"].as_array().cloned().unwrap_or_default();
        for (column, is_one) in [true, false].into_iter().enumerate() {
            let pairs = pairs(&rows, is_one, &operations(alone)?)?;
            let mean = |of: fn(&Pair) -> f64| geometric_mean(pairs.iter().map(|pair| Some(of(pair)))).unwrap_or(0.0);
            let seconds =
                |of: fn(&Pair) -> f64| pairs.iter().map(|pair| 1e-9 * pair.operations / of(pair)).sum::<f64>();
            let (own, common) = (seconds(|pair| pair.alone), seconds(|pair| pair.together));
            all[column][0] += own;
            all[column][1] += common;
            let threads = if is_one { "1" } else { "all" };
            let (alone, together) = (mean(|pair| pair.alone), mean(|pair| pair.together));
            let (own, common) = (1e3 * own, 1e3 * common);
            println!("| {name} | {threads} | {alone:.1} | {together:.1} | {own:.2} | {common:.2} |");
        }
    }
    let ratios = all.map(|[alone, together]| together / alone);
    println!("together / alone, of a layer at all lengths: {:.3} on one thread, {:.3} on all", ratios[0], ratios[1]);
    let mean = geometric_mean(ratios.iter().map(|ratio| Some(*ratio))).unwrap_or(f64::INFINITY);
    if mean <= SLOWER { Ok(()) } else { Err(format!("one search of the layer is {mean:.3} times as slow as six")) }
}

/// Copies of the configs in a folder of their own.
fn configs(folder: &Path) -> Result<Vec<PathBuf>, String> {
    LAYER.iter().map(|name| copied(&root().join(format!("configs/{name}.json")), folder)).collect()
}

/// The instances of a config that was tuned, with the operations of each: all of the layer are products.
fn operations(config: &Path) -> Result<Vec<(Value, f64)>, String> {
    let tuned: Value = read(&config.with_extension("cpu.tuned.json"))?;
    let extents = |instance: &Value| {
        let shape = instance["shape"].as_object().into_iter().flatten();
        shape.filter_map(|(_, extent)| extent.as_f64()).product::<f64>()
    };
    let instances = tuned["instances"].as_array().into_iter().flatten();
    Ok(instances.map(|instance| (instance["wkl"].clone(), 2.0 * extents(instance))).collect())
}

/// What was measured by turns on one thread, or on all.
fn pairs(rows: &[Value], is_one: bool, instances: &[(Value, f64)]) -> Result<Vec<Pair>, String> {
    let pair = |(wkl, operations): &(Value, f64)| {
        let here = |row: &&Value| row["wkl"] == *wkl && (row["threads"] == 1) == is_one;
        let figure = |is_own: bool| {
            let is_its = |row: &&Value| (row["impl"] == "dietcode") == is_own;
            rows.iter().filter(here).find(is_its)?["gflops_median"].as_f64()
        };
        let (alone, together) = (figure(true)?, figure(false)?);
        Some(Pair { operations: *operations, together, alone })
    };
    instances.iter().map(|of| pair(of).ok_or_else(|| format!("{}: not both have a figure", of.0))).collect()
}
