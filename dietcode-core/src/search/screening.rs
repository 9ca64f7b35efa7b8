//! The first look: every candidate is compiled, checked, and timed briefly where that is quick.

use super::{Candidate, Outcome, Phase, Session};
use crate::measure::Timing;
use crate::sketch::Tiled;
use crate::{Result, codegen};

/// Enough to tell a candidate that is much slower.
const BRIEF: Timing = Timing { rounds: 3, seconds: 0.005, slow_seconds: 0.5 };

/// Compilers and measurements want the same cores, so they take turns: so many candidates each.
const BATCH: usize = 8;

/// Compiles and screens candidates in order, until a share of the budget is used up.
pub(super) fn screen(session: &mut Session<'_>, order: &[Tiled], share: f64) -> Result<()> {
    let points = sample_points(session);
    let mut tried = 0;
    for batch in order.chunks(BATCH) {
        // The first batch holds the default, without which nothing can be concluded.
        if tried > 0 && session.budget.is_over(share) {
            let (left, why) = (order.len() - tried, session.budget.why_over());
            session.notice(format!("{left} of {} candidates were not tried: {why}", order.len()));
            break;
        }
        let first = session.candidates.len();
        compile(session, batch)?;
        for at in first..session.candidates.len() {
            for point in &points {
                if !session.candidates[at].failed {
                    session.measure(&[at], 0, *point, BRIEF)?;
                }
            }
            tried += 1;
            session.progress(Phase::Screening, tried, order.len());
            // What is being measured is finished; the default comes first.
            if session.budget.is_stopped() {
                return Ok(());
            }
        }
        tried = order.len().min(tried.next_multiple_of(BATCH));
    }
    Ok(())
}

/// The cheapest instance, and the one in the middle.
fn sample_points(session: &Session<'_>) -> Vec<usize> {
    let mut by_work: Vec<usize> = (0..session.points.len()).collect();
    by_work.sort_by(|a, b| session.points[*a].instance.flops.total_cmp(&session.points[*b].instance.flops));
    let mut points = vec![by_work[0], by_work[by_work.len() / 2]];
    points.dedup();
    points
}

fn compile(session: &mut Session<'_>, batch: &[Tiled]) -> Result<()> {
    let (def, target) = (session.lab.def().clone(), session.lab.target().clone());
    let mut units = Vec::new();
    for tiled in batch {
        units.push(codegen::c::translation_unit(&def, tiled, &target)?);
    }
    let built = session.lab.build(&units, session.budget.stop(), |_| ());
    for (tiled, unit) in batch.iter().zip(built) {
        match unit {
            Ok(unit) => {
                let adaptations = session.adaptations(tiled);
                session.candidates.push(Candidate::new(tiled.clone(), unit, adaptations));
            }
            Err(failure) => {
                session.notice(format!("{} {failure}", tiled.name()));
                session.record(tiled.clone(), None, Outcome::Failed(failure))?;
            }
        }
    }
    Ok(())
}
