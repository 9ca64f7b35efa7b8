//! What a run leaves behind: one JSON file, written whole or not at all.
//!
//! `dietcode merge` reads it. The version is that of the format: a file of another one is refused, not guessed at.

mod plausible;

use std::collections::BTreeMap;
use std::path::Path;

use dietcode_core::config::read_file;
use dietcode_core::measure::cuda::DeviceFacts;
use dietcode_core::measure::{Failure, Sample};
use dietcode_core::sketch::Family;
use dietcode_core::whole_file::write_whole;
use serde::{Deserialize, Serialize};

use dietcode_core::{Error, Result};

/// The version of the format.
pub const FORMAT: u32 = 2;

/// The largest file that is read: a thousand repeats of thousands of configurations.
const MAX_BYTES: u64 = 256 << 20;

/// A file of results.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Results {
    /// [`FORMAT`].
    pub format: u32,
    /// The program that measured, such as `tune_nt`.
    pub program: String,
    /// The day, as YYYY-MM-DD.
    pub date: String,
    /// On what.
    pub machine: Machine,
    /// The set file that was built in.
    pub set: String,
    /// One entry for each product.
    pub runs: Vec<Run>,
}

/// What was measured on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "target", rename_all = "kebab-case")]
pub enum Machine {
    /// The processor.
    Cpu(Cpu),
    /// A GPU.
    Cuda(Gpu),
    /// The emulated device, whose times mean nothing.
    CudaHost(Gpu),
}

/// A processor and the compiler of the code that ran on it. Caches were warm, and the clock was `CLOCK_MONOTONIC`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cpu {
    /// The model.
    pub cpu: String,
    /// The features that the code may use.
    pub features: Vec<String>,
    /// What `-march=` said.
    pub march: String,
    /// The compiler with its version.
    pub compiler: String,
    /// How many cores there were.
    pub cores: i64,
    /// What the first core's clock was at the start, in MHz, where the system tells.
    pub clock_mhz: Option<f64>,
}

/// A device, and nvcc's version where there is one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Gpu {
    /// What the device says of itself.
    pub device: DeviceFacts,
    /// The version of nvcc; none where it was not found.
    pub nvcc: Option<String>,
}

/// One product, with all that was tried on it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Run {
    /// The kernel, such as `gemm_nt`.
    pub kernel: String,
    /// The hash of its nest, sixteen hexadecimal digits.
    pub source_hash: String,
    /// The values of the shape variables.
    pub shape: BTreeMap<String, i64>,
    /// The factor of the product.
    pub alpha: f32,
    /// The factor of what was there before.
    pub beta: f32,
    /// On how many threads; 0 on a device.
    pub threads: usize,
    /// So many repeats were asked for.
    pub reps: usize,
    /// Arithmetic operations of one call.
    pub flops: f64,
    /// Why not everything was measured; none if it was.
    pub stopped: Option<String>,
    /// The library that it is compared with, and the kernel's dispatcher.
    pub baselines: Vec<Baseline>,
    /// The configurations, in the order of the set.
    pub configurations: Vec<Entry>,
}

/// Something that configurations are compared with.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Baseline {
    /// Such as `blas:OpenBLAS 0.3.21`; `dispatched` for what a call of the kernel runs.
    pub name: String,
    /// The micro-kernel that the dispatcher selected.
    pub micro_kernel: Option<String>,
    /// What came of it, alone with the other baselines.
    pub outcome: Outcome,
}

/// A configuration and what came of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Entry {
    /// Its name.
    pub name: String,
    /// Its parameters.
    pub parameters: Family,
    /// What came of it.
    pub outcome: Outcome,
    /// How many times faster than each baseline it is, by medians of the rounds that they had together.
    pub ratios: BTreeMap<String, f64>,
}

/// What came of an attempt.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// Seconds per call, and how far the output was off.
    Measured(Sample),
    /// It crashed, hung or was wrong.
    Failed(Failure),
    /// It has no micro-kernel for this product; why.
    Unserved(String),
    /// The run ended before.
    NotReached,
}

impl Outcome {
    /// Whether it could not be timed, which says nothing of the configuration.
    pub(super) fn is_unknown(&self) -> bool {
        matches!(self, Outcome::Failed(failure) if !failure.is_its_own())
    }

    /// Of what a worker said.
    pub(super) fn of(outcome: Result<Sample, Failure>) -> Outcome {
        match outcome {
            Ok(sample) => Outcome::Measured(sample),
            Err(Failure::Stopped) => Outcome::NotReached,
            Err(failure) => Outcome::Failed(failure),
        }
    }

    /// The figures, if there are any.
    pub fn sample(&self) -> Option<&Sample> {
        match self {
            Outcome::Measured(sample) => Some(sample),
            _ => None,
        }
    }

    /// The median of the seconds per call, if it was measured.
    pub fn seconds(&self) -> Option<f64> {
        self.sample().map(|sample| sample.seconds().median)
    }
}

impl Run {
    /// The configurations that were measured, the slowest first.
    pub fn ranking(&self) -> Vec<&Entry> {
        let mut measured: Vec<(f64, &Entry)> =
            self.configurations.iter().filter_map(|entry| Some((entry.outcome.seconds()?, entry))).collect();
        // Sorting is stable: of two that are alike, the later one in the set counts as the slower one.
        measured.reverse();
        measured.sort_by(|(a, _), (b, _)| b.total_cmp(a));
        measured.into_iter().map(|(_, entry)| entry).collect()
    }
}

impl Results {
    /// Reads a file.
    ///
    /// # Errors
    /// [`dietcode_core::ErrorKind::Input`] if it cannot be read, is no file of results, is of another version, or has figures or parameters
    /// that no run has.
    pub fn read(path: &Path) -> Result<Results> {
        let shown = path.display();
        let text = read_file(path, MAX_BYTES, "file of results")?;
        let odd = |e| {
            let expected = "expected a file that `tune_nt --json` or one of its kind has written";
            Error::input(format!("{shown}: is no file of results, {expected}")).caused_by(e)
        };
        let value: serde_json::Value = serde_json::from_slice(&text).map_err(odd)?;
        // Tuned files have formats of their own.
        let format = value.get("runs").and(value.get("format")).and_then(serde_json::Value::as_u64);
        if let Some(format) = format.filter(|format| *format != u64::from(FORMAT)) {
            return Err(Error::input(format!(
                "{shown}: found results of format {format}, expected {FORMAT}; measure again with this version"
            )));
        }
        let results: Results = serde_json::from_slice(&text).map_err(odd)?;
        plausible::check(&results).map_err(|why| Error::input(format!("{shown}: {why}; measure again")))?;
        Ok(results)
    }

    /// Writes the file whole or not at all.
    ///
    /// # Errors
    /// [`dietcode_core::ErrorKind::Unavailable`] if it cannot be written.
    pub fn write(&self, path: &Path) -> Result<()> {
        let failed = |e| Error::of_file(path, "cannot be written", e);
        write_whole(path, [self.json().map_err(failed)?]).map_err(failed)
    }

    /// As JSON.
    pub(super) fn json(&self) -> std::io::Result<String> {
        Ok(serde_json::to_string_pretty(self)? + "\n")
    }
}
