//! What a run leaves: one JSON value with every figure, every failure, and where they are from.
//!
//! `tests/gpu/results/README.md` describes it for readers. A change that a reader could trip over is a new [`FORMAT`].

use std::collections::BTreeMap;

use dietcode::core::config::WklInst;
use dietcode::core::machine::cuda::KernelReport;
use dietcode::core::measure::cuda::DeviceFacts;
use dietcode::core::measure::{Conditions, Failure, Summary};
use dietcode::core::reference::Arithmetic;
use serde::Serialize;

/// The version of the format.
pub(super) const FORMAT: u32 = 1;

#[derive(Debug, Serialize)]
pub(super) struct Outcome {
    pub(super) format: u32,
    pub(super) program: String,
    pub(super) date: String,
    /// Seconds since 1970, at the start.
    pub(super) time: u64,
    /// Whether nothing was left out because the run was stopped or came to its deadline.
    pub(super) complete: bool,
    /// What was, a sentence for each part.
    pub(super) left_out: Vec<String>,
    /// Whether that was for want of time.
    pub(super) came_to_deadline: bool,
    /// What a reader must know first: that times of an emulator mean nothing.
    pub(super) note: Option<&'static str>,
    pub(super) settings: Settings,
    pub(super) device: DeviceFacts,
    /// The same when all was measured, with the clocks that the device then had.
    pub(super) device_after: Option<DeviceFacts>,
    pub(super) toolchain: String,
    pub(super) micro_kernels: Vec<Checked>,
    pub(super) measurer: Option<Measurer>,
    /// Bytes that copies in device memory read and write per second.
    pub(super) copy_bytes_per_second: Option<Summary>,
    pub(super) tuned: Vec<Tuned>,
    pub(super) comparisons: Vec<Compared>,
    /// The highest median of all, by precision, in GFLOP/s.
    pub(super) best_gflops: BTreeMap<&'static str, f64>,
    /// How many micro-kernels failed to compile or to run, or computed something wrong, anywhere above.
    pub(super) failures: usize,
}

#[derive(Debug, Serialize)]
pub(super) struct Settings {
    pub(super) device: String,
    pub(super) configs: Vec<String>,
    pub(super) seconds: f64,
    pub(super) deadline: f64,
    /// Where candidates come from, whatever the configs say; null: from where each says.
    pub(super) strategy: Option<&'static str>,
    pub(super) images: Option<String>,
    pub(super) shapes: &'static str,
    pub(super) cold_l2: bool,
    pub(super) seed: u64,
    /// `events` on a device, `host` on the emulated one.
    pub(super) clock: &'static str,
}

/// A micro-kernel that was checked.
#[derive(Debug, Serialize)]
pub(super) struct Checked {
    pub(super) kernel: String,
    pub(super) name: String,
    pub(super) arithmetic: Arithmetic,
    pub(super) toolchain: Option<String>,
    /// Registers, spills, shared memory; empty where the compiler does not say.
    pub(super) report: Vec<KernelReport>,
    pub(super) compile_failure: Option<Failure>,
    pub(super) checks: Vec<Check>,
    /// How many more there were to be.
    pub(super) left_out: usize,
}

#[derive(Debug, Serialize)]
pub(super) struct Check {
    pub(super) label: &'static str,
    pub(super) shape: BTreeMap<String, i64>,
    pub(super) gap: usize,
    /// The largest deviation from the reference, relative to its largest element.
    pub(super) rel_err: Option<f64>,
    pub(super) failure: Option<Failure>,
}

/// One micro-kernel timed as two.
#[derive(Debug, Serialize)]
pub(super) struct Measurer {
    pub(super) kernel: String,
    pub(super) micro_kernel: String,
    pub(super) shape: BTreeMap<String, i64>,
    pub(super) seconds: [Summary; 2],
    /// By how much one is slower than the other: what is less than this is noise.
    pub(super) spread: f64,
}

/// What a search found.
#[derive(Debug, Serialize)]
pub(super) struct Tuned {
    pub(super) problem: String,
    pub(super) precision: &'static str,
    pub(super) kernel: String,
    pub(super) source_hash: String,
    pub(super) strategy: &'static str,
    pub(super) seconds: f64,
    /// How many were tried beside the defaults.
    pub(super) candidates: usize,
    pub(super) failed: Vec<Failed>,
    pub(super) default: String,
    /// The winners with their tree, as a tuned file; null if there are none.
    pub(super) file: Option<dietcode::core::dispatch::Tuned>,
    /// Why there is nothing.
    pub(super) failure: Option<String>,
}

#[derive(Debug, Serialize)]
pub(super) struct Failed {
    pub(super) name: String,
    pub(super) failure: Failure,
}

/// An instance with all implementations that were timed on it.
#[derive(Debug, Serialize)]
pub(super) struct Compared {
    pub(super) problem: String,
    pub(super) precision: &'static str,
    pub(super) kernel: String,
    pub(super) wkl: WklInst,
    pub(super) shape: BTreeMap<String, i64>,
    pub(super) flops: f64,
    pub(super) entries: Vec<Entry>,
}

#[derive(Debug, Serialize)]
pub(super) struct Entry {
    /// `dietcode`, `default` or `cublas`.
    #[serde(rename = "impl")]
    pub(super) implementation: &'static str,
    pub(super) micro_kernel: Option<String>,
    pub(super) seconds: Option<Summary>,
    pub(super) gflops: Option<Summary>,
    pub(super) rel_err: Option<f64>,
    /// Clocks and temperature in each round of samples, where the driver says them.
    pub(super) conditions: Vec<Option<Conditions>>,
    pub(super) failure: Option<Failure>,
}

impl Compared {
    /// The median GFLOP/s of an implementation.
    pub(super) fn gflops(&self, implementation: &str) -> Option<f64> {
        let entry = self.entries.iter().find(|entry| entry.implementation == implementation)?;
        entry.gflops.map(|gflops| gflops.median)
    }
}

impl Outcome {
    /// What ended a run that is not complete.
    pub(super) fn ended_by(&self) -> String {
        match self.came_to_deadline {
            true => format!("the deadline of {} s came before the end", self.settings.deadline),
            false => "the run was stopped".to_owned(),
        }
    }

    /// Counts failures, and notes the best.
    pub(super) fn sum_up(&mut self) {
        let compile = self.micro_kernels.iter().filter(|m| m.compile_failure.is_some()).count();
        let checks = self.micro_kernels.iter().flat_map(|m| &m.checks).filter(|c| c.failure.is_some()).count();
        let tuned = self.tuned.iter().map(|t| t.failed.len() + usize::from(t.failure.is_some())).sum::<usize>();
        let own = |entry: &&Entry| entry.failure.is_some() && entry.implementation != "cublas";
        let compared = self.comparisons.iter().flat_map(|c| &c.entries).filter(own).count();
        self.failures = compile + checks + tuned + compared;
        for compared in &self.comparisons {
            let best = compared.entries.iter().filter_map(|e| e.gflops).map(|g| g.median).fold(0.0, f64::max);
            let known = self.best_gflops.entry(compared.precision).or_insert(0.0);
            *known = known.max(best);
        }
    }

    /// A sentence for each failure.
    pub(super) fn sentences(&self) -> Vec<String> {
        let mut sentences = Vec::new();
        for m in &self.micro_kernels {
            sentences.extend(m.compile_failure.iter().map(|failure| format!("{} {}: {failure}", m.kernel, m.name)));
            sentences.extend(m.checks.iter().filter_map(|check| {
                let failure = check.failure.as_ref()?;
                Some(format!("{} {} at {:?} ({}): {failure}", m.kernel, m.name, check.shape, check.label))
            }));
        }
        for t in &self.tuned {
            let place = format!("{} {}", t.problem, t.precision);
            sentences.extend(t.failed.iter().map(|f| format!("{place}: {} {}", f.name, f.failure)));
            sentences.extend(t.failure.iter().map(|why| format!("{place}: {why}")));
        }
        for c in &self.comparisons {
            sentences.extend(c.entries.iter().filter_map(|entry| {
                let failure = entry.failure.as_ref()?;
                let place = format!("{} {} at {:?}", c.problem, c.precision, c.wkl);
                Some(format!("{place}: {} {failure}", entry.implementation))
            }));
        }
        sentences
    }
}
