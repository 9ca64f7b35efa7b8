//! What was measured, in a file.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::twice;
use crate::tuning::median;

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
    /// What several runs on one machine have measured, each shape at a number of threads once.
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
        let keys: Vec<_> = all.rows.iter().map(|row| (&row.family, &row.wkl, row.further, row.threads)).collect();
        if let Some((family, wkl, _, threads)) = twice(&keys) {
            let place = format!("{family}, {wkl} on {}", on(*threads));
            return Err(format!("found two results of {place}, expected one: read files that do not overlap"));
        }
        Ok(all)
    }

    /// The rows of these families, or all of them.
    ///
    /// # Errors
    ///
    /// If a family has no row, or there is no row at all: a bar would hold of nothing.
    pub(super) fn of(mut self, families: &[String]) -> Result<Results, String> {
        let there: BTreeSet<&String> = self.rows.iter().map(|row| &row.family).collect();
        if let Some(unknown) = families.iter().find(|family| !there.contains(family)) {
            return Err(format!("found no results of the family `{unknown}`; there are results of {there:?}"));
        }
        if there.is_empty() {
            return Err("found no results, expected at least one shape".to_owned());
        }
        self.rows.retain(|row| families.is_empty() || families.contains(&row.family));
        Ok(self)
    }

    /// Writes all of it beside the file and then puts it in its place, so that whoever is stopped leaves the one before or this one. A
    /// link stays one.
    pub(super) fn write(&self, path: &Path) -> Result<(), String> {
        let failed = |e: std::io::Error| format!("{}: {e}", path.display());
        let text = serde_json::to_string(self).map_err(|e| e.to_string())? + "\n";
        let place = if path.exists() { path.canonicalize().map_err(failed)? } else { path.to_owned() };
        if place.exists() && !place.is_file() {
            return Err(format!("{}: expected a file, to write results to", path.display()));
        }
        let mut partial = place.clone().into_os_string();
        partial.push(".partial");
        fs::write(&partial, text).and_then(|()| fs::rename(&partial, &place)).map_err(failed)
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
