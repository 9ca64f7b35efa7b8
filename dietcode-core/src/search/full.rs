//! The second look: a candidate is measured wherever it could win, at all numbers of threads.

use std::sync::Arc;

use super::Tuning;
use super::screening::timing;
use crate::Result;
use crate::measure::Timing;

const THOROUGH: Timing = Timing { rounds: 3, seconds: 0.02, slow_seconds: 1.0 };

/// A candidate is measured where its rate and the fit come within this of the best: the cost model's error and more.
const MARGIN: f64 = 1.15;

/// Measures candidates that were screened, at one number of threads after the other, since each takes its own cores.
pub(super) fn measure(tuning: &mut Tuning<'_>, batch: &[usize]) -> Result<()> {
    let cores = Arc::clone(tuning.lab.cores());
    for threads in 0..tuning.threads.len() {
        let _alone = cores.reserve(tuning.threads[threads]);
        for at in batch {
            for point in 0..tuning.points.len() {
                if could_win(tuning, *at, threads, point) {
                    tuning.measure(&[*at], threads, point, timing(tuning, THOROUGH, threads, point))?;
                }
            }
        }
    }
    Ok(())
}

/// Of the default, all is measured: the others are compared with it.
fn could_win(tuning: &Tuning<'_>, at: usize, threads: usize, point: usize) -> bool {
    let candidate = &tuning.candidates[at];
    let near = || candidate.expected(threads, point) * MARGIN >= tuning.best(threads, point);
    !candidate.failed && candidate.rate(threads).is_some() && (at == 0 || near())
}
