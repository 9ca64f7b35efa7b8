//! Finds the micro-kernels that are fast on a config's workload instances, within a budget of time and trials.
//!
//! ```text
//!        ┌────────────────────────────── model, records ◄─────────────────────────────┐
//!        ▼                                                                            │
//! strategy ── a round of proposals ──► compile ──► screen ──► measure where it could win ── … ──► Found ──► `dispatch`
//!                                      ahead, on    its points,     all numbers                       finals
//!                                      other cores  one number of   of threads
//!                                                   threads
//! ```
//!
//! The strategy prepares its next round while the last of one are screened, on cores that nobody else wants. Where several kernels are searched, which
//! one has the next round follows from what the last one gained, so that each begins with it.
//!
//! Everything that is measured goes to the [`Database`] at once, by a [`Journal`], which also answers for a run that is
//! continued. The first candidates of all are the micro-kernels that run where nothing was tuned.
mod budget;
mod candidate;
mod covers;
mod database;
mod defaults;
mod elsewhere;
mod event;
mod evolution;
mod found;
mod full;
mod journal;
mod made;
mod pace;
mod workload_instance;
mod points;
mod proposal;
mod roofline;
mod round;
mod scheduler;
mod screening;
mod similar;
pub mod simulation;
mod candidates;
pub mod strategy;
mod sweep;
mod task;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;
mod tuning;

pub use budget::{Budget, Part};
pub use candidate::Candidate;
pub use candidate::geometric_mean;
pub use candidates::Candidates;
pub use database::{
    Database, FORMAT, Filter, Outcome, Pruned, Record, Scanned, Shape, Structure, Target, TargetFilter, United,
    Workload, best_on_record, prune, scan, unite,
};
pub use defaults::Defaults;
pub use event::{Event, Phase, Status};
pub use evolution::{Asked, Generations, Guidance, Known, Objective};
pub use found::Found;
pub use journal::{Identity, Journal};
pub use made::Made;
pub use pace::Pace;
pub use points::Points;
pub use proposal::Proposal;
pub use roofline::Roofline;
pub use scheduler::TaskScheduler;
pub use sweep::{Sweep, Swept};
pub use task::Task;
pub use tuning::Tuning;
pub use workload_instance::WorkloadInstance;

use crate::Result;
use crate::config::Scheduling;

/// How a search goes.
#[derive(Clone, Debug, PartialEq)]
pub struct Course {
    /// The most candidates of all kernels together, covers among them; what runs where nothing was tuned is measured beside them. None: as
    /// many as the budget allows.
    pub trials: Option<usize>,
    /// The share of the roofline that is enough.
    pub until: Option<f64>,
    /// How rounds are shared out.
    pub scheduling: Scheduling,
    /// Where the random choices of that start.
    pub seed: u64,
}

/// Searches some kernels, until the trials or the time are used up, there is nothing more to try, or the best are near
/// enough to the roofline. One that cannot be searched ends alone: what it leaves is for the others.
///
/// # Errors
///
/// Of each kernel: if measuring is not possible at all: no worker, no reference, or a default micro-kernel that fails.
pub fn search(tasks: &mut [Task<'_>], course: &Course) -> Vec<Result<Found>> {
    let is_alone = tasks.len() == 1;
    tasks.iter_mut().for_each(|task| task.tuning.is_alone = is_alone);
    let begun = tasks.iter_mut().map(|task| task.begin(course.trials)).collect();
    let mut left = course.trials;
    let searched = rounds(tasks, begun, course, &mut left);
    let of = tasks.len();
    let ended = tasks.iter_mut().zip(searched).enumerate().map(|(at, (task, searched))| {
        task.tuning.budget.begin_end(at, of);
        searched.and_then(|()| task.end(&mut left))
    });
    ended.collect()
}

/// Gives rounds to the kernels that have begun; `left` are the trials of all. What came of each.
fn rounds(
    tasks: &mut [Task<'_>],
    begun: Vec<Result<()>>,
    course: &Course,
    left: &mut Option<usize>,
) -> Vec<Result<()>> {
    let shares: Vec<_> = tasks.iter().map(|task| (task.weight, task.operations(), task.latency())).collect();
    let mut scheduler = TaskScheduler::new(course.scheduling.clone(), shares, course.seed);
    let mut searched = begun;
    searched.iter().enumerate().filter(|(_, begun)| begun.is_err()).for_each(|(at, _)| scheduler.end(at));
    loop {
        let most = left.map(|left| left.saturating_sub(kept(tasks, course)));
        let Some(at) = scheduler.next_task().filter(|_| most != Some(0)) else { break };
        if tasks[at].tuning.round == 0 {
            tasks[at].tuning.similar = similar::traces_for(tasks, at);
        }
        let task = &mut tasks[at];
        let near = course.until.is_some_and(|until| task.tuning.reached().is_some_and(|found| found >= until));
        // As long as kernels wait for their first round, the trials are for all of them.
        let most = most.map(|most| most.div_ceil(scheduler.waiting().max(1)));
        match if near { Ok(0) } else { task.round(most) } {
            Ok(tried) if tried > 0 => {
                scheduler.note(at, tried, task.latency());
                *left = left.map(|left| left.saturating_sub(tried));
            }
            done => {
                scheduler.end(at);
                searched[at] = done.map(drop);
            }
        }
    }
    searched
}

/// How many trials rounds leave to covers, which are tried after the last one: as many as may pay, and a sixteenth at the most.
fn kept(tasks: &[Task<'_>], course: &Course) -> usize {
    let most = course.trials.map_or(0, |trials| trials / 16);
    if most == 0 { 0 } else { tasks.iter().map(|task| covers::wanted(&task.tuning)).sum::<usize>().min(most) }
}
