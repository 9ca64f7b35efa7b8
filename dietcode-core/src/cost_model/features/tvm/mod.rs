//! Per-store features against TVM's: programs that TVM scheduled, with what its extractor says of them.
//!
//! A file is a list of records, each with a program as text (`tir`, a list of lines) and a row of features for each stored buffer
//! (`features`). The program is read as loops, its buffers are placed as TVM places them, and the features of this crate's own
//! extractor are compared.

mod compact;
mod cross_thread;
mod script;

use std::path::Path;

use serde::Deserialize;
use serde_json::Value;

use super::per_store;
use super::tree::{Source, Tree};
use crate::{Error, Result};
use script::Script;

/// A feature is off where it differs by more than this, relative to the other's.
pub const TOLERANCE: f64 = 1e-3;

/// How far features of integers may be off: they are counted after TVM's simplifier, which is not repeated to the digit.
pub const INTEGER_TOLERANCE: f64 = 0.2;

/// What came of a file.
#[derive(Clone, Debug, PartialEq)]
pub struct Comparison {
    /// How many records were compared.
    pub records: usize,
    /// How many rows.
    pub rows: usize,
    /// For each feature how many records have a row in which it is off.
    pub off: Vec<usize>,
    /// For each feature the largest relative difference.
    pub largest: Vec<f64>,
}

#[derive(Deserialize)]
struct Record {
    tir: Vec<String>,
    features: Vec<Vec<Value>>,
}

/// Compares the records of a file.
///
/// # Errors
/// A file that is none or is cut off, with its line and column; a record with another count of rows or features, a number that is not
/// finite, or a program that is not read, with the record and the place in it.
pub fn check(path: &Path) -> Result<Comparison> {
    let shown = path.display();
    let text = std::fs::read_to_string(path).map_err(|e| Error::of_file(path, "cannot be read", e))?;
    let invalid = |e: &serde_json::Error| {
        Error::input(format!(
            "{shown}: {e}; expected a list of records with `tir` (lines) and `features` (rows of numbers)"
        ))
    };
    let records: Vec<Record> = serde_json::from_str(&text).map_err(|e| invalid(&e))?;
    if records.is_empty() {
        return Err(Error::input(format!("{shown}: has no records")));
    }
    let mut comparison =
        Comparison { records: 0, rows: 0, off: vec![0; per_store::COUNT], largest: vec![0.0; per_store::COUNT] };
    for (at, record) in records.iter().enumerate() {
        comparison.add(record).map_err(|e| Error::input(format!("{shown}: record {at}: {e}")))?;
    }
    Ok(comparison)
}

impl Comparison {
    fn add(&mut self, record: &Record) -> Result<()> {
        let expected =
            record.features.iter().enumerate().map(|(at, row)| numbers(at, row)).collect::<Result<Vec<_>>>()?;
        let rows = rows(&record.tir)?;
        if rows.len() != expected.len() {
            let stored: Vec<&str> = rows.iter().map(|(name, _)| name.as_str()).collect();
            let stored = stored.join(", ");
            return Err(Error::input(format!("{} rows of features for the stores to {stored}", expected.len())));
        }
        let mut off = [false; per_store::COUNT];
        for ((_, found), expected) in rows.iter().zip(&expected) {
            for (feature, (found, expected)) in found.iter().zip(expected).enumerate() {
                let difference = (f64::from(*found) - expected).abs() / expected.abs().max(1e-9);
                // Numbers close to 0 are differences of logarithms: there is nothing to be relative to.
                let difference = if (f64::from(*found) - expected).abs() < 1e-6 { 0.0 } else { difference };
                off[feature] |= difference > TOLERANCE;
                self.largest[feature] = self.largest[feature].max(difference);
            }
        }
        self.records += 1;
        self.rows += rows.len();
        self.off.iter_mut().zip(off).for_each(|(count, off)| *count += usize::from(off));
        Ok(())
    }
}

fn numbers(at: usize, row: &[Value]) -> Result<Vec<f64>> {
    if row.len() != per_store::COUNT {
        return Err(Error::input(format!("row {at} has {} features; expected {}", row.len(), per_store::COUNT)));
    }
    let number = |(feature, value): (usize, &Value)| {
        value.as_f64().filter(|x| x.is_finite()).ok_or_else(|| {
            let name = &per_store::names()[feature];
            Error::input(format!("row {at}, feature {feature} ({name}): {value} is no finite number"))
        })
    };
    row.iter().enumerate().map(number).collect()
}

/// The features of a program, a row for each stored buffer with its name.
fn rows(lines: &[String]) -> Result<Vec<(String, [f32; per_store::COUNT])>> {
    let mut script = Script::parse(lines)?;
    cross_thread::lower(&mut script);
    compact::compact(&mut script)?;
    let steps =
        |name: &str| script.unroll_max_step.iter().find(|(known, _)| **known == *name).map_or(0, |(_, steps)| *steps);
    let source = Source {
        body: &script.body,
        grid: None,
        params: &script.params,
        value: &|_| 0.0,
        unroll_max_step: &steps,
        inside: None,
        choice_is_call: true,
    };
    let tree = Tree::of(&source);
    Ok(per_store::rows(&tree).into_iter().map(|(buffer, row)| (tree.buffers[buffer].name.to_string(), row)).collect())
}

#[cfg(test)]
mod tests;
