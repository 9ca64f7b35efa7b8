//! The last look: the best candidates of each instance, measured against each other by turns.

use super::{Phase, Tuning};
use crate::Result;
use crate::measure::Timing;

const CLOSE: Timing = Timing::warm(5, 0.05, 1.0);

/// Who is within this of the best is a contender: the spread of separate measurements.
const CONTENDS: f64 = 0.95;

/// More than so many contenders would only share the time.
const MOST: usize = 3;

/// Measures the contenders of all instances, until the budget is used up.
pub(super) fn measure(tuning: &mut Tuning<'_>) -> Result<()> {
    for point in 0..tuning.points.len() {
        if tuning.budget.is_over(1.0) {
            break;
        }
        let contenders = contenders(tuning, point);
        if contenders.len() > 1 {
            for threads in 0..tuning.threads.len() {
                tuning.measure(&contenders, threads, point, CLOSE)?;
            }
        }
        tuning.progress(Phase::Finals, point + 1, Some(tuning.points.len()));
    }
    Ok(())
}

fn contenders(tuning: &Tuning<'_>, point: usize) -> Vec<usize> {
    let score = |at: usize| tuning.candidates[at].score(point);
    let mut order: Vec<usize> = (0..tuning.candidates.len()).filter(|at| score(*at) > 0.0).collect();
    order.sort_by(|a, b| score(*b).total_cmp(&score(*a)));
    let Some(best) = order.first().map(|at| score(*at)) else { return order };
    order.retain(|at| score(*at) >= CONTENDS * best);
    order.truncate(MOST);
    order
}
