//! What was measured, in a file.

use std::collections::BTreeMap;
use std::path::Path;

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// All of it.
#[derive(Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Results {
    /// The machine, as `dietcode bench --turns` tells it.
    pub(super) machine: Value,
    /// The day.
    pub(super) date: String,
    /// Versions by name.
    pub(super) libraries: BTreeMap<String, String>,
    /// Those that are missing, and why.
    pub(super) missing: BTreeMap<String, String>,
    pub(super) rows: Vec<Row>,
}

/// A shape at a number of threads.
#[derive(Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Row {
    pub(super) family: String,
    pub(super) wkl: String,
    /// Whether it is none of the config's.
    pub(super) further: bool,
    /// Whether our kernel was tuned.
    pub(super) tuned: bool,
    pub(super) threads: usize,
    /// Operations of a call.
    pub(super) flops: f64,
    /// GFLOP/s of multiply-adds, the highest of all rounds.
    pub(super) peak: Option<f64>,
    /// Seconds per call in each round, by library; null in a round without enough clean samples.
    pub(super) seconds: BTreeMap<String, Vec<Option<f64>>>,
}

impl Results {
    /// What several runs on one machine have measured.
    pub(super) fn joined(files: Vec<Results>) -> Result<Results, String> {
        let mut files = files.into_iter();
        let mut all = files.next().ok_or("found no results")?;
        for other in files {
            if other.machine != all.machine {
                return Err(format!(
                    "found results of two machines, expected one: {} and {}",
                    all.machine, other.machine
                ));
            }
            all.date = all.date.max(other.date);
            all.libraries.extend(other.libraries);
            all.missing.extend(other.missing);
            all.rows.extend(other.rows);
        }
        Ok(all)
    }

    pub(super) fn write(&self, path: &Path) -> Result<(), String> {
        let text = serde_json::to_string(self).map_err(|e| e.to_string())?;
        std::fs::write(path, text + "\n").map_err(|e| format!("{}: {e}", path.display()))?;
        eprintln!("results are in {}", path.display());
        Ok(())
    }
}

impl Row {
    /// The median of the rounds, in GFLOP/s.
    pub(super) fn gflops(&self, name: &str) -> Option<f64> {
        let seconds: Vec<f64> = self.seconds.get(name)?.iter().flatten().copied().collect();
        Some(self.flops / median(seconds)? / 1e9)
    }
}

/// `1 thread`, `2 threads`.
pub(super) fn on(threads: usize) -> String {
    if threads == 1 { "1 thread".to_owned() } else { format!("{threads} threads") }
}

/// Of the middle two, the mean.
pub(super) fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    let (low, high) = (values.get(values.len().checked_sub(1)? / 2)?, values.get(values.len() / 2)?);
    Some((low + high) / 2.0)
}
