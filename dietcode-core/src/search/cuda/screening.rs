//! The first look: every candidate at a spread of instances.

use super::{CudaTuning, TOGETHER};
use crate::Result;
use crate::search::Phase;

/// Enough to tell a candidate that is much slower.
const ROUNDS: usize = 3;

/// Measures all candidates, the default among the first, until a share of the budget is used up.
pub(super) fn screen(tuning: &mut CudaTuning<'_>, share: f64) -> Result<()> {
    let points = spread(tuning);
    let all: Vec<usize> = (0..tuning.candidates.len()).collect();
    for (n, group) in all.chunks(TOGETHER).enumerate() {
        if n > 0 && tuning.budget.is_over(share) || tuning.budget.is_stopped() {
            break;
        }
        for point in &points {
            tuning.measure(group, *point, ROUNDS)?;
        }
        tuning.progress(Phase::Screening, all.len().min((n + 1) * TOGETHER), all.len());
    }
    Ok(())
}

/// The cheapest instance, the one in the middle, and the dearest.
fn spread(tuning: &CudaTuning<'_>) -> Vec<usize> {
    let mut by_work: Vec<usize> = (0..tuning.points.len()).collect();
    by_work.sort_by(|a, b| tuning.points[*a].instance.flops.total_cmp(&tuning.points[*b].instance.flops));
    let mut points: Vec<usize> =
        [0, by_work.len() / 2, by_work.len() - 1].into_iter().filter_map(|at| by_work.get(at).copied()).collect();
    points.dedup();
    points
}
