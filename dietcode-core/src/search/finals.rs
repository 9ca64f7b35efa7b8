//! The last look: the best candidates of each instance, compiled as a build would, measured against each other by turns.

use super::{Phase, Tuning};
use crate::Result;
use crate::measure::Timing;

const CLOSE: Timing = Timing::warm(5, 0.05, 1.0);

/// A candidate that reaches this share of the best is a finalist: separate measurements differ by as much.
const FINALIST_SHARE: f64 = 0.95;

/// The most finalists of an instance: more would only divide the time among them.
const MOST: usize = 3;

/// Measures the finalists of all instances, until the budget is used up.
pub(super) fn measure(tuning: &mut Tuning<'_>) -> Result<()> {
    for workload in 0..tuning.workloads.len() {
        if tuning.budget.is_over(1.0) {
            break;
        }
        let finalists = finalists(tuning, workload);
        if finalists.len() > 1 {
            tuning.rebuild(&finalists)?;
            for threads in 0..tuning.threads.len() {
                tuning.measure(&finalists, threads, workload, CLOSE)?;
            }
        }
        tuning.progress(Phase::Finals, workload + 1, Some(tuning.workloads.len()));
    }
    Ok(())
}

fn finalists(tuning: &Tuning<'_>, workload: usize) -> Vec<usize> {
    let score = |at: usize| tuning.candidates[at].score(workload);
    let mut order: Vec<usize> = (0..tuning.candidates.len()).filter(|at| score(*at) > 0.0).collect();
    order.sort_by(|a, b| score(*b).total_cmp(&score(*a)));
    let Some(best) = order.first().map(|at| score(*at)) else { return order };
    order.retain(|at| score(*at) >= FINALIST_SHARE * best);
    order.truncate(MOST);
    order
}
