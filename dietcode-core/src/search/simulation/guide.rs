//! What strategies that are guided by a model share: the space that the pool was drawn from, and what the model says of the pool.

use super::{Pool, Seen};
use crate::config::Evolution;
use crate::cost_model::CostModel;
use crate::schedule::Trace;
use crate::search::evolution::{Measured, Objective, Rated};
use crate::sketch::Space;
use crate::{Error, Result};

/// A space and a model, for a pool.
pub struct Guide<'a> {
    /// How an evolution goes.
    pub settings: &'a Evolution,
    pub(super) space: &'a Space,
    pub(super) model: &'a dyn CostModel,
    pub(super) rated: Rated,
    /// Of the instances at the largest number of threads.
    pub(super) objective: Objective,
    /// The goal of each instance of the objective.
    goals: Vec<usize>,
}

impl<'a> Guide<'a> {
    /// For a pool of candidates that were drawn from the space.
    ///
    /// # Errors
    /// A candidate that the space does not carry out any more: it comes of another version, or of a machine with other limits. Records
    /// of a GPU for the space of a CPU, or the other way round.
    pub fn of(pool: &Pool, space: &'a Space, model: &'a dyn CostModel, settings: &'a Evolution) -> Result<Guide<'a>> {
        let threads = pool.goals.iter().map(|goal| goal.threads).max().unwrap_or(0);
        let units = match (threads, space.bounds.target.cuda()) {
            (0, Some(device)) => device.multiprocessors as usize,
            (1.., None) => threads,
            (0, None) => return Err(Error::input("found records of a GPU, expected those of a CPU")),
            (1.., Some(_)) => return Err(Error::input("found records of a CPU, expected those of a GPU")),
        };
        let goals: Vec<usize> = (0..pool.goals.len()).filter(|at| pool.goals[*at].threads == threads).collect();
        let shape = |at: &usize| Ok(pool.goals[*at].instance(&space.def)?.shape);
        let objective = Objective {
            instances: goals.iter().map(shape).collect::<Result<_>>()?,
            weights: goals.iter().map(|at| pool.goals[*at].weight).collect(),
            units,
        };
        let traces: Vec<&Trace> = pool.candidates.iter().map(|candidate| &candidate.trace).collect();
        let rated = Rated::of(space, model, &objective, &traces).map_err(|e| {
            let expected = "expected records of this version and this CPU";
            Error::input(format!("a trace on record is none of the space as it is now, {expected}: {e}"))
        })?;
        Ok(Guide { settings, space, model, rated, objective, goals })
    }

    /// The best that were measured, the best first, with their figures on the instances: as many as an evolution begins with.
    pub(super) fn known(&self, seen: &Seen<'_>) -> Vec<Measured> {
        let share = |at: &usize| {
            let figures = seen.pool.candidates[*at].gflops.iter().zip(seen.best);
            figures.filter_map(|(figure, best)| Some((*figure)? / best)).fold(0.0, f64::max)
        };
        let mut known: Vec<usize> = seen.selected.iter().copied().filter(|at| share(at) > 0.0).collect();
        known.sort_by(|a, b| share(b).total_cmp(&share(a)));
        known.truncate((self.settings.population as f64 * self.settings.from_database).round() as usize);
        let figures = |at: usize| self.goals.iter().map(|goal| seen.pool.candidates[at].gflops[*goal]).collect();
        known.into_iter().map(|at| (at, figures(at))).collect()
    }
}
