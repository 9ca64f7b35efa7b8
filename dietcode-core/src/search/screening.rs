//! The first look: every candidate is compiled, checked, and timed briefly where that is quick.

use super::{Candidate, Outcome, Phase, Tuning};
use crate::measure::Timing;
use crate::sketch::Tiled;
use crate::{Result, codegen};

/// Enough to tell a candidate that is much slower.
const BRIEF: Timing = Timing { rounds: 3, seconds: 0.005, slow_seconds: 0.5 };

/// Compilers and measurements want the same cores, so they take turns: so many candidates each.
const BATCH: usize = 8;

/// Compiles and screens candidates in order, until a share of the budget is used up.
pub(super) fn screen(tuning: &mut Tuning<'_>, order: &[Tiled], share: f64) -> Result<()> {
    let points = sample_points(tuning);
    let mut tried = 0;
    for batch in order.chunks(BATCH) {
        // The first batch holds the default, without which nothing can be concluded.
        if tried > 0 && tuning.budget.is_over(share) {
            let (left, why) = (order.len() - tried, tuning.budget.why_over());
            tuning.notice(format!("{left} of {} candidates were not tried: {why}", order.len()));
            break;
        }
        let first = tuning.candidates.len();
        compile(tuning, batch)?;
        for at in first..tuning.candidates.len() {
            for point in &points {
                if !tuning.candidates[at].failed {
                    tuning.measure(&[at], 0, *point, BRIEF)?;
                }
            }
            tried += 1;
            tuning.progress(Phase::Screening, tried, order.len());
            // What is being measured is finished; the default comes first.
            if tuning.budget.is_stopped() {
                return Ok(());
            }
        }
        tried = order.len().min(tried.next_multiple_of(BATCH));
    }
    Ok(())
}

/// The cheapest instance, and the one in the middle.
fn sample_points(tuning: &Tuning<'_>) -> Vec<usize> {
    let mut by_work: Vec<usize> = (0..tuning.points.len()).collect();
    by_work.sort_by(|a, b| tuning.points[*a].instance.flops.total_cmp(&tuning.points[*b].instance.flops));
    let mut points = vec![by_work[0], by_work[by_work.len() / 2]];
    points.dedup();
    points
}

fn compile(tuning: &mut Tuning<'_>, batch: &[Tiled]) -> Result<()> {
    let (def, target) = (tuning.lab.def().clone(), tuning.lab.target().clone());
    let mut units = Vec::new();
    for tiled in batch {
        units.push(codegen::c::translation_unit(&def, tiled, &target)?);
    }
    let built = tuning.lab.build(&units, tuning.budget.stop(), |_| ());
    for (tiled, unit) in batch.iter().zip(built) {
        match unit {
            Ok(unit) => {
                let adaptations = tuning.adaptations(tiled);
                tuning.candidates.push(Candidate::new(tiled.clone(), unit, adaptations));
            }
            Err(failure) => {
                tuning.notice(format!("{} {failure}", tiled.name()));
                tuning.record(tiled.clone(), None, Outcome::Failed(failure))?;
            }
        }
    }
    Ok(())
}
