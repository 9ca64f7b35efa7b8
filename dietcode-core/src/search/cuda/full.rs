//! The second look: whoever may win somewhere, at the instances where it was not measured yet.

use super::{CudaTuning, TOGETHER};
use crate::Result;
use crate::search::Phase;

const ROUNDS: usize = 3;

/// A candidate is dropped if it is slower than the best by more than this everywhere it was screened.
const CLEARLY_SLOWER: f64 = 1.5;

/// Measures survivors, the most promising first, until a share of the budget is used up. The default is among them, so that
/// it has a figure everywhere.
pub(super) fn measure(tuning: &mut CudaTuning<'_>, share: f64) -> Result<()> {
    let survivors = survivors(tuning);
    let groups = survivors.len().div_ceil(TOGETHER);
    for (n, group) in survivors.chunks(TOGETHER).enumerate() {
        // Without a single one measured in full there would be nothing to choose, however little time there was.
        if tuning.budget.is_stopped() || n > 0 && tuning.budget.is_over(share) {
            break;
        }
        for point in 0..tuning.points.len() {
            let new: Vec<usize> =
                group.iter().copied().filter(|at| tuning.candidates[*at].gflops[point].is_none()).collect();
            tuning.measure(&new, point, ROUNDS)?;
        }
        tuning.progress(Phase::Measuring, n + 1, groups);
    }
    Ok(())
}

fn survivors(tuning: &CudaTuning<'_>) -> Vec<usize> {
    let points = 0..tuning.points.len();
    let relative = |at: usize, point: usize| {
        let best = tuning.best(point);
        if best > 0.0 { tuning.candidates[at].score(point) / best } else { 0.0 }
    };
    let standing = |at: usize| points.clone().map(|point| relative(at, point)).fold(0.0, f64::max);
    let mut order: Vec<(usize, f64)> = (0..tuning.candidates.len()).map(|at| (at, standing(at))).collect();
    order.retain(|(at, standing)| {
        tuning.candidates[*at].failure.is_none() && (*at == 0 || standing * CLEARLY_SLOWER >= 1.0)
    });
    order.sort_by(|(_, a), (_, b)| b.total_cmp(a));
    if let Some(default) = order.iter().position(|(at, _)| *at == 0) {
        order[..=default].rotate_right(1);
    }
    order.into_iter().map(|(at, _)| at).collect()
}
