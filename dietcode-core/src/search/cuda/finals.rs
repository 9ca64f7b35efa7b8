//! The last look: the best of each instance against each other and against the default, by turns.

use super::CudaTuning;
use crate::Result;
use crate::search::Phase;

/// Enough for a median with its spread.
const ROUNDS: usize = 9;

/// Who is within this of the best is a contender: the spread of separate measurements.
const CONTENDS: f64 = 0.93;

/// More than so many contenders would only share the time.
const MOST: usize = 4;

/// Measures the contenders of all instances, until the budget is used up.
pub(super) fn measure(tuning: &mut CudaTuning<'_>) -> Result<()> {
    for point in 0..tuning.points.len() {
        if tuning.budget.is_over(1.0) {
            break;
        }
        let contenders = contenders(tuning, point);
        if contenders.len() > 1 {
            tuning.measure(&contenders, point, ROUNDS)?;
        }
        tuning.progress(Phase::Finals, point + 1, tuning.points.len());
    }
    Ok(())
}

fn contenders(tuning: &CudaTuning<'_>, point: usize) -> Vec<usize> {
    let score = |at: usize| tuning.candidates[at].score(point);
    let best = tuning.best(point);
    let mut order: Vec<usize> = (0..tuning.candidates.len()).filter(|at| score(*at) > CONTENDS * best).collect();
    order.sort_by(|a, b| score(*b).total_cmp(&score(*a)));
    order.truncate(MOST);
    if !order.contains(&0) && score(0) > 0.0 {
        order.push(0);
    }
    order
}
