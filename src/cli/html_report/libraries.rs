//! Figures of other libraries, as `dietcode bench --json` and `dietcode tune --json` write them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use dietcode::core::search::Shape;
use dietcode::{Error, Result};
use serde::Deserialize;

use super::subject::Subject;
use crate::cli::tell;

/// More columns are not read.
const MOST: usize = 8;

/// Figures by library, instance and number of threads, in GFLOP/s.
#[derive(Default)]
pub(super) struct Libraries(BTreeMap<String, BTreeMap<(Shape, usize), f64>>);

#[derive(Deserialize)]
struct Figures {
    machine: Machine,
    rows: Vec<Row>,
}

#[derive(Deserialize)]
struct Machine {
    #[serde(alias = "device")]
    cpu: String,
}

#[derive(Deserialize)]
struct Row {
    wkl: BTreeMap<String, i64>,
    threads: usize,
    #[serde(rename = "impl")]
    implementation: String,
    gflops_median: f64,
}

impl Libraries {
    /// Reads a file of figures of the one kernel that a page is about.
    ///
    /// # Errors
    /// The file cannot be read, is of another machine, or has no figure at what is on record; the page is about several kernels, or the
    /// config is not there, which says what the file's workload variables are.
    pub(super) fn read(path: &Path, subjects: &[Subject]) -> Result<Libraries> {
        let place = |what: String| Error::input(format!("--bench {}: {what}", path.display()));
        let expected = "expected JSON as `dietcode bench --json` writes it";
        let text = std::fs::read_to_string(path).map_err(|e| place(format!("cannot be read: {e}")))?;
        let figures: Figures = serde_json::from_str(&text).map_err(|e| place(format!("found {e}, {expected}")))?;
        let [subject] = subjects else {
            return Err(place(format!(
                "found records of {} kernels and targets, expected those of one",
                subjects.len()
            )));
        };
        let Some(nest) = &subject.nest else {
            let why = subject.notices.first().map_or("", String::as_str);
            return Err(place(format!("its instances cannot be told without the config: {why}")));
        };
        if figures.machine.cpu != subject.target.model() {
            let (found, expected) = (figures.machine.cpu.escape_debug().to_string(), subject.target.model());
            return Err(place(format!("found figures of {found}, expected those of {expected}, as the records")));
        }
        let mut libraries = Libraries::default();
        for row in figures.rows.iter().filter(|row| row.gflops_median.is_finite() && row.gflops_median > 0.0) {
            let Ok(extents) = nest.setup.config.shape_of(&nest.setup.vars, &row.wkl) else { continue };
            // What is ours is on record.
            if row.implementation.starts_with("dietcode") {
                continue;
            }
            let point = (nest.setup.named(&extents), row.threads);
            libraries.0.entry(row.implementation.clone()).or_default().insert(point, row.gflops_median);
        }
        let here = libraries.here(subject);
        if here.is_empty() {
            return Err(place(
                "found no figure of a library at an instance and a number of threads on record".to_owned(),
            ));
        }
        if here.len() > MOST {
            tell(&format!(
                "--bench {}: left out, beyond {MOST} libraries: {}",
                path.display(),
                here[MOST..].join(", ")
            ));
        }
        Ok(libraries)
    }

    /// Those with a figure where the kernel has one.
    fn here(&self, subject: &Subject) -> Vec<String> {
        let is_measured =
            |(shape, threads): &(Shape, usize)| subject.threads.contains(threads) && subject.instances.contains(shape);
        let is_here = |points: &BTreeMap<(Shape, usize), f64>| points.keys().any(is_measured);
        self.0.iter().filter(|(_, points)| is_here(points)).map(|(name, _)| name.clone()).collect()
    }

    /// Those that have a column.
    pub(super) fn names(&self, subject: &Subject) -> Vec<String> {
        let mut here = self.here(subject);
        here.truncate(MOST);
        here
    }

    /// Its GFLOP/s at an instance.
    pub(super) fn figure(&self, subject: &Subject, instance: usize, threads: usize, name: &str) -> Option<f64> {
        self.0.get(name)?.get(&(subject.instances[instance].clone(), threads)).copied()
    }
}

/// The option that names a file.
#[derive(Debug, clap::Args)]
pub(super) struct LibrariesArgument {
    /// Figures of libraries to compare with, as `dietcode bench --json` or `dietcode tune --json` has written them on the machine of the
    /// records; of one kernel.
    #[arg(long, value_name = "FILE")]
    bench: Option<PathBuf>,
}

impl LibrariesArgument {
    /// The figures; none without the option.
    ///
    /// # Errors
    /// As [`Libraries::read`].
    pub(super) fn read(&self, subjects: &[Subject]) -> Result<Libraries> {
        self.bench.as_ref().map_or_else(|| Ok(Libraries::default()), |path| Libraries::read(path, subjects))
    }
}
