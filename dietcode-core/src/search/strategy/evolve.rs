//! Evolution of a space, guided by a model that has seen what was measured.
//!
//! The first round tries again what earlier runs found to be best: their figures are of another day. After that, each round
//! is one for another number of threads, by turns: who is best with one core need not be with all.

use std::collections::HashSet;

use super::Propose;
use crate::Result;
use crate::config::Evolution;
use crate::cost_model::{CostModel, Observed};
use crate::search::database::Structure;
use crate::search::proposal::Proposal;
use crate::search::{Candidate, Objective, Tuning};
use crate::sketch::{Applied, MicroKernel, Space};

/// A space and what guides through it.
struct Evolved {
    space: Space,
    model: Box<dyn CostModel>,
    settings: Evolution,
    seed: u64,
    /// So many candidates the model has been told of.
    learned: usize,
}

/// Proposes what evolution picks from a space, by what a model expects of it.
pub fn evolved(space: Space, model: Box<dyn CostModel>, settings: Evolution, seed: u64) -> Box<dyn Propose> {
    Box::new(Evolved { space, model, settings, seed, learned: 0 })
}

impl Propose for Evolved {
    fn propose(&mut self, tuning: &Tuning<'_>, want: usize) -> Result<Vec<Proposal>> {
        self.learn(tuning);
        let threads = tuning.round % tuning.threads.len();
        let recorded = if tuning.round == 1 { self.recorded(tuning) } else { Vec::new() };
        let mut picked: Vec<Applied> = recorded.iter().take(self.share(want)).cloned().collect();
        let mut taken: HashSet<Structure> = tuning.taken();
        taken.extend(picked.iter().map(|applied| applied.hash));
        let known = [best(tuning, threads), recorded].concat();
        let objective = objective(tuning, threads);
        let seed = self.seed.wrapping_add(tuning.round as u64);
        let want = want - picked.len();
        picked.extend(self.settings.search(&self.space, &*self.model, &known, &taken, &objective, seed, want)?);
        picked.into_iter().map(Proposal::of_space).collect()
    }
}

impl Evolved {
    /// So many of a round are from the database.
    fn share(&self, want: usize) -> usize {
        (want as f64 * self.settings.from_database) as usize
    }

    /// The best on record from before the run, as far as they are of this space, without those that have failed.
    fn recorded(&self, tuning: &Tuning<'_>) -> Vec<Applied> {
        let (_, failed) = tuning.journal.failed();
        let most = self.share(self.settings.population);
        let mut seen = HashSet::new();
        let traces = tuning.journal.ranked().into_iter().filter_map(|(micro_kernel, _)| match micro_kernel {
            MicroKernel::Traced(traced) => self.space.apply(&traced.trace).ok(),
            _ => None,
        });
        traces.filter(|applied| !failed.contains(&applied.hash) && seen.insert(applied.hash)).take(most).collect()
    }

    /// Tells the model what was measured since it was last told.
    fn learn(&mut self, tuning: &Tuning<'_>) {
        let fresh = &tuning.candidates[self.learned..];
        self.learned = tuning.candidates.len();
        let mut seen = Vec::new();
        for (candidate, applied) in fresh.iter().filter_map(|c| Some((c, c.applied.as_ref()?))) {
            for (row, units) in candidate.gflops.iter().zip(&tuning.threads) {
                for (gflops, point) in row.iter().zip(&tuning.points) {
                    if candidate.failed || gflops.is_some() {
                        let (def, instance, units) = (tuning.lab.def(), &point.instance.shape[..], *units);
                        let gflops = gflops.filter(|_| !candidate.failed);
                        seen.push(Observed { def, candidate: applied, instance, units, gflops });
                    }
                }
            }
        }
        self.model.update(&seen);
    }
}

/// The instances at a number of threads (its position), and what was found for them.
fn objective(tuning: &Tuning<'_>, threads: usize) -> Objective {
    Objective {
        instances: tuning.points.iter().map(|point| point.instance.shape.clone()).collect(),
        weights: tuning.points.iter().map(|point| point.weight).collect(),
        units: tuning.threads[threads],
        best: tuning.bests(threads),
    }
}

/// What was measured in this run, the best first: by how near it comes to the best where it comes nearest.
fn best(tuning: &Tuning<'_>, threads: usize) -> Vec<Applied> {
    let bests = tuning.bests(threads);
    let share = |candidate: &Candidate| {
        let shares = candidate.gflops[threads].iter().zip(&bests).filter_map(|(gflops, best)| Some((*gflops)? / best));
        shares.fold(0.0, f64::max)
    };
    let alive = tuning.candidates.iter().filter(|candidate| !candidate.failed);
    let mut measured: Vec<(f64, &Applied)> = alive.filter_map(|c| Some((share(c), c.applied.as_ref()?))).collect();
    measured.retain(|(share, _)| *share > 0.0);
    measured.sort_by(|a, b| b.0.total_cmp(&a.0));
    measured.into_iter().map(|(_, applied)| applied.clone()).collect()
}
