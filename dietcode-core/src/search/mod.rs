//! Finds the micro-kernels that are fast on a config's workload instances, within a budget of time.
//!
//! ```text
//! space ── compile, screen ──► survivors ── measure in full ──► contenders ── finals, interleaved ──► Found
//!          few instances, one   ordered by what the  all instances     the best of each instance
//!          number of threads    cost model expects   they could win    against each other
//! ```
//!
//! Every phase has a share of the budget and takes the most promising first, so that whenever the time ends, what was
//! measured is what mattered most. Everything that is measured goes to the [`Database`] at once.
mod budget;
mod candidate;
#[cfg(feature = "cuda")]
mod cuda;
mod database;
mod finals;
mod full;
mod screening;
mod tuning;
mod space;

pub use budget::Budget;
pub use candidate::Candidate;
#[cfg(feature = "cuda")]
pub use cuda::{BATCH_SECONDS, CudaCandidate, CudaTuning};
pub use database::{
    Database, FORMAT, Filter, Known, Outcome, Pruned, Ranked, Record, Replay, Scanned, Shape, Structure, Target,
    TargetFilter, United, Workload, new_run, prune, scan, unite,
};
pub use space::Space;
pub use tuning::{Event, Phase, Point, Tuning};

use crate::Result;
use crate::sketch::Tiled;

/// What a search found.
#[derive(Debug)]
pub struct Found {
    /// All candidates that compiled and passed their checks, with their figures.
    pub candidates: Vec<Candidate>,
    /// Which of them is the micro-kernel that runs where nothing was tuned.
    pub default: usize,
}

/// The shares of the budget at the ends of screening and of full measurement; the finals have the rest.
const SCREENING_ENDS: f64 = 0.5;
const FULL_ENDS: f64 = 0.85;

/// Searches a space.
///
/// # Errors
///
/// If measuring is not possible at all: no worker, no reference, or a default micro-kernel that fails.
pub fn search(tuning: &mut Tuning<'_>, space: &Space) -> Result<Found> {
    let default = Tiled::default_for(tuning.lab.def(), tuning.lab.target());
    let order = tuning.promising_first(&space.candidates, &default);
    screening::screen(tuning, &order, SCREENING_ENDS)?;
    full::measure(tuning, FULL_ENDS)?;
    finals::measure(tuning)?;
    tuning.finish(&default)
}
