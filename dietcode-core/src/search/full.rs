//! The second look: survivors are measured wherever they could win, at all numbers of threads.

use super::{Phase, Tuning};
use crate::Result;
use crate::measure::Timing;

const THOROUGH: Timing = Timing { rounds: 3, seconds: 0.02, slow_seconds: 1.0 };

/// A candidate is dropped if it is slower than the best by more than this everywhere it was screened.
const CLEARLY_SLOWER: f64 = 1.5;

/// A candidate is not measured where it is expected to be this much slower than what is there already: the cost model's
/// error and more.
const HOPELESS: f64 = 1.2;

/// Measures survivors, the most promising first, until a share of the budget is used up.
pub(super) fn measure(tuning: &mut Tuning<'_>, share: f64) -> Result<()> {
    let survivors = survivors(tuning);
    for (done, at) in survivors.iter().enumerate() {
        // Without a single one measured in full there would be nothing to choose, however little time there was.
        if tuning.budget.is_stopped() || done > 0 && tuning.budget.is_over(share) {
            let (left, why) = (survivors.len() - done, tuning.budget.why_over());
            tuning.notice(format!("{left} of {} survivors were not measured in full: {why}", survivors.len()));
            break;
        }
        for threads in 0..tuning.threads.len() {
            for point in 0..tuning.points.len() {
                let hopeless = tuning.candidates[*at].expected(threads, point) * HOPELESS < tuning.best(threads, point);
                if !hopeless && !tuning.candidates[*at].failed {
                    tuning.measure(&[*at], threads, point, THOROUGH)?;
                }
            }
        }
        tuning.progress(Phase::Measuring, done + 1, survivors.len());
    }
    Ok(())
}

/// Who is not clearly slower wherever it was screened, by what is expected of it where it is best.
fn survivors(tuning: &Tuning<'_>) -> Vec<usize> {
    let (threads, points) = (0..tuning.threads.len(), 0..tuning.points.len());
    let everywhere: Vec<(usize, usize)> = threads.flat_map(|t| points.clone().map(move |p| (t, p))).collect();
    let top = |(t, p): &(usize, usize)| tuning.candidates.iter().map(|c| c.expected(*t, *p)).fold(0.0, f64::max);
    let tops: Vec<f64> = everywhere.iter().map(top).collect();
    let standing = |at: &usize| {
        let relative = everywhere.iter().zip(&tops).map(|((t, p), top)| tuning.candidates[*at].expected(*t, *p) / top);
        relative.fold((0.0f64, 0.0f64), |(best, sum), r| (best.max(r), sum + r))
    };
    let survives = |at: &usize| {
        let candidate = &tuning.candidates[*at];
        let competes = |p: usize| candidate.gflops[0][p].is_some_and(|g| g * CLEARLY_SLOWER >= tuning.best(0, p));
        !candidate.failed && (0..tuning.points.len()).any(competes)
    };
    let mut order: Vec<(usize, (f64, f64))> =
        (0..tuning.candidates.len()).filter(survives).map(|at| (at, standing(&at))).collect();
    order.sort_by(|(_, a), (_, b)| b.partial_cmp(a).unwrap_or(std::cmp::Ordering::Equal));
    order.into_iter().map(|(at, _)| at).collect()
}
