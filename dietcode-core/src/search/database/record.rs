//! A record: what was seen of one micro-kernel, as a line of JSON.
//!
//! ```text
//! {"format":7,
//!  "workload":{"kernel":"dense","source_hash":"…","shape":{"M":64,…}},
//!  "target":{"cpu":"…","march":"native","compiler":"…"},
//!  "name":"8x48_…","schedule":{"origin":{…},"trace":{…}},"structure":"…",
//!  "outcome":{"measured":{"threads":1,"gflops":{…},"rel_err":1e-7}},
//!  "trial":17,"made":{"mutant":"tile_size"},"run":"…","seed":0,"space_hash":"…","time":1700000000}
//! ```
//!
//! A line is whole by itself: it repeats the instructions of its sketch, so that files can be cut, joined and sorted by lines.

use std::collections::BTreeMap;
use std::time::{SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

use crate::config::Cache;
use crate::cost_model::cuda::LaunchReport;
use crate::measure::{Failure, Form, Summary};
use crate::paired::Verdict;
use crate::search::Made;
use crate::sketch::MicroKernel;

pub use crate::measure::Machine as Target;

/// The version of a record's format.
pub const FORMAT: u32 = 7;

/// A hash of the structure of a lowered program, see [`crate::sketch::Lowered`].
pub type Structure = [u8; 32];

/// What was seen of one micro-kernel, on one instance if it came so far.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Record {
    /// The version of the format, [`FORMAT`].
    pub format: u32,
    /// What was computed.
    pub workload: Workload,
    /// On what, and compiled with what.
    pub target: Target,
    /// The micro-kernel's name.
    pub name: String,
    /// Its schedule.
    pub schedule: MicroKernel,
    /// What its lowered program hashes to, 64 hexadecimal digits; none where it was not lowered.
    #[serde(default, skip_serializing_if = "Option::is_none", with = "structure")]
    pub structure: Option<Structure>,
    /// What a GPU's compiler says of its launches; empty for a CPU, and where nothing was compiled.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub report: Vec<LaunchReport>,
    /// How its code was compiled; none where that is always the same, and where nothing was compiled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub form: Option<Form>,
    /// Whether its figure is what a model expects: no such device was there.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub estimated: bool,
    /// What came of it.
    pub outcome: Outcome,
    /// Which trial of its run: the first are the default micro-kernels. All records of a micro-kernel in a run have the same.
    #[serde(default)]
    pub trial: u64,
    /// What made its trace; none: a family, the nest as it stands, or no search.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub made: Option<Made>,
    /// The run; empty where there was none.
    #[serde(default)]
    pub run: String,
    /// Where the run's random choices started.
    #[serde(default)]
    pub seed: u64,
    /// What the run chose from, sixteen hexadecimal digits or empty: runs with different ones do not continue each other.
    #[serde(default)]
    pub space_hash: String,
    /// Seconds since 1970.
    pub time: u64,
}

/// The values of shape variables.
pub type Shape = BTreeMap<String, i64>;

/// A kernel at a shape.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Workload {
    /// The kernel's name.
    pub kernel: String,
    /// The hash of the nest, sixteen hexadecimal digits.
    pub source_hash: String,
    /// The shape variables; none for a failure that has nothing to do with the shape.
    pub shape: Option<Shape>,
}

/// A figure, or the reason why there is none.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Outcome {
    /// It was checked, and measured.
    Measured {
        /// On how many threads; 0 on a GPU.
        #[serde(default)]
        threads: usize,
        /// In GFLOP/s.
        gflops: Summary,
        /// Largest deviation from the reference, relative to its largest element.
        #[serde(with = "crate::measure::number")]
        rel_err: f64,
        /// What caches held before each call.
        #[serde(default, skip_serializing_if = "Cache::is_warm")]
        cache: Cache,
    },
    /// It was checked, but others took its cores too often: how fast it is is not known.
    Unknown {
        /// On how many threads; 0 on a GPU.
        #[serde(default)]
        threads: usize,
        /// In so many samples its threads had their cores.
        clean: usize,
        /// So many were asked for.
        asked: usize,
    },
    /// It challenged another one in the finals.
    Verdict {
        /// The other one's name, or `default`: what runs where nothing was tuned; or `expected`: what its points let expect of it, than which
        /// it was much slower if it lost.
        against: String,
        /// At which shapes, together.
        shapes: Vec<Shape>,
        /// What came of that.
        verdict: Verdict,
        /// After so many pairs of samples; 0 where figures of the search told.
        pairs: usize,
    },
    /// It and others were measured by turns; the shape is none of the instances.
    Turns {
        /// GFLOP/s of each by its name, the geometric mean over the numbers of threads; none: it failed there.
        gflops: BTreeMap<String, Option<f64>>,
        /// Others took their cores too often: what they reach is not known, and none has a figure.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        unknown: bool,
    },
    /// It was not.
    Failed(Failure),
}

impl Record {
    /// What was seen now; of the first trial of a run without a name.
    pub fn new(workload: Workload, target: Target, schedule: MicroKernel, outcome: Outcome) -> Record {
        Record {
            format: FORMAT,
            workload,
            target,
            name: schedule.name(),
            schedule,
            structure: None,
            report: Vec::new(),
            form: None,
            estimated: false,
            outcome,
            trial: 0,
            made: None,
            run: String::new(),
            seed: 0,
            space_hash: String::new(),
            time: SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs()),
        }
    }

    /// Median GFLOP/s with the number of threads, if the micro-kernel was measured and the figure is a number above 0; none of what was
    /// screened in its place, with whole tiles at edges.
    pub fn figure(&self) -> Option<(usize, f64)> {
        let stood_in = self.form.as_ref().is_some_and(|form| form.whole_edges);
        self.timed().filter(|_| !stood_in)
    }

    /// The same, also of what was screened in its place.
    pub fn timed(&self) -> Option<(usize, f64)> {
        match &self.outcome {
            Outcome::Measured { threads, gflops, .. } if gflops.median.is_finite() && gflops.median > 0.0 => {
                Some((*threads, gflops.median))
            }
            _ => None,
        }
    }

    /// Whether its figures are ones that can have been measured: no speed and no time is below 0.
    pub(super) fn is_possible(&self) -> bool {
        let is_speed = |gflops: f64| gflops >= 0.0;
        match &self.outcome {
            Outcome::Measured { gflops, .. } => is_speed(gflops.median) && gflops.iqr >= 0.0,
            Outcome::Turns { gflops, .. } => gflops.values().flatten().copied().all(is_speed),
            Outcome::Failed(Failure::CompileTimeout { seconds } | Failure::Timeout { seconds }) => *seconds >= 0.0,
            Outcome::Unknown { .. } | Outcome::Verdict { .. } | Outcome::Failed(_) => true,
        }
    }

    /// Why it has no figure. That a run was stopped is no failure of a micro-kernel.
    pub fn failure(&self) -> Option<&Failure> {
        match &self.outcome {
            Outcome::Failed(failure) if failure.is_its_own() => Some(failure),
            _ => None,
        }
    }

    /// Its line, with the end.
    pub(super) fn line(&self) -> serde_json::Result<Vec<u8>> {
        let mut line = serde_json::to_vec(self)?;
        line.push(b'\n');
        Ok(line)
    }
}

/// The hash of a structure as hexadecimal digits.
mod structure {
    use serde::{Deserialize, Deserializer, Serializer};

    use super::Structure;

    pub(super) fn serialize<S: Serializer>(structure: &Option<Structure>, serializer: S) -> Result<S::Ok, S::Error> {
        match structure {
            Some(bytes) => serializer.serialize_str(&blake3::Hash::from_bytes(*bytes).to_hex()),
            None => serializer.serialize_none(),
        }
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Structure>, D::Error> {
        let digits = Option::<String>::deserialize(deserializer)?;
        let bytes = |digits: String| blake3::Hash::from_hex(digits).map(Into::into).map_err(serde::de::Error::custom);
        digits.map(bytes).transpose()
    }
}

/// A name for a run that no other run has: the time in microseconds and the process.
pub(in crate::search) fn new_run() -> String {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    format!("{:x}-{:x}", now.as_micros(), std::process::id())
}
