//! The second look: a candidate is measured wherever it could win, at all numbers of threads.

use std::sync::Arc;

use super::Tuning;
use super::screening::{by_work, timing};
use crate::Result;
use crate::measure::Timing;

/// Little: a candidate that comes near the best of an instance is measured again in the finals.
const THOROUGH: Timing = Timing::warm(2, 0.01, 1.0);

/// A candidate is measured where its rate and the fit come within this of the best: the cost model's error, and more than
/// two figures of one candidate differ.
const MARGIN: f64 = 1.06;

/// Measures candidates that were screened, at one number of threads after the other, since each takes its own cores; the
/// cheapest instance first, since each figure says more of whether the next one is worth it.
pub(super) fn measure(tuning: &mut Tuning<'_>, batch: &[usize]) -> Result<()> {
    let (cores, workloads) = (Arc::clone(tuning.device.cores()), by_work(tuning));
    for threads in 0..tuning.threads.len() {
        // Compilers need not wait where there is nothing to measure.
        if !batch.iter().any(|at| workloads.iter().any(|workload| could_win(tuning, *at, *workload))) {
            break;
        }
        let _alone = cores.reserve(tuning.threads[threads]);
        for at in batch {
            for workload in &workloads {
                if could_win(tuning, *at, *workload) {
                    tuning.measure(&[*at], threads, *workload, timing(tuning, THOROUGH, threads, *workload))?;
                }
            }
        }
    }
    Ok(())
}

/// Whether what is known and expected of a candidate makes it the pick of an instance, over all numbers of threads. The
/// default of an instance is measured there: the others are compared with it.
fn could_win(tuning: &Tuning<'_>, at: usize, workload: usize) -> bool {
    let candidate = &tuning.candidates[at];
    let best = tuning.candidates.iter().map(|candidate| candidate.score(workload)).fold(0.0, f64::max);
    !candidate.failed && (tuning.is_default(at, workload) || candidate.expected_score(workload) * MARGIN >= best)
}
