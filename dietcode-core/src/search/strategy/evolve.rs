//! Evolution of a space, guided by a model that has seen what was measured.
//!
//! The first round tries again what earlier runs found to be best, whose figures are of another day, and what this run found for kernels that are
//! alike. After that, each round is one for another number of threads, by turns: the best with one core need not be the best with all.

use std::collections::HashSet;

use super::Propose;
use crate::Result;
use crate::config::Evolution;
use crate::cost_model::{CostModel, Observed};
use crate::measure::Instance;
use crate::search::database::{Shape, Structure};
use crate::search::evolution::{Asked, Known};
use crate::search::proposal::Proposal;
use crate::search::{Candidate, Made, Objective, Tuning};
use crate::sketch::{Lowered, MicroKernel, Space};

/// The share of the first round that is for templates.
const OF_TEMPLATES: f64 = 0.5;

/// The share of the first round that is for what was found for other kernels, at the most.
const OF_SIMILAR: f64 = 0.25;

/// A space and what guides through it.
struct Evolved {
    space: Space,
    model: Box<dyn CostModel>,
    settings: Evolution,
    seed: u64,
    /// The number of candidates that the model has learned from.
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
        let recorded = if tuning.round == 1 { self.recorded(tuning, threads) } else { Vec::new() };
        // The best of each instance come first in the ranking, and are tried again in any case.
        let again = self.share(want).max(tuning.workloads.len() * tuning.threads.len()).min(want);
        let again = recorded.iter().take(again).map(|known| known.lowered.clone());
        let mut selected: Vec<Proposal> = again.map(|best| Proposal::of_space(best, Made::Recorded)).collect();
        let mut taken: HashSet<Structure> = tuning.taken();
        taken.extend(selected.iter().map(|proposal| proposal.structure));
        let similar = if tuning.round == 1 { &*tuning.similar } else { &[] };
        let similar = similar.iter().filter_map(|trace| self.space.apply(trace).ok());
        let similar = similar.filter(|lowered| taken.insert(lowered.hash));
        let similar = similar.take(((want as f64 * OF_SIMILAR) as usize).min(want - selected.len()));
        selected.extend(similar.map(|lowered| Proposal::of_space(lowered, Made::Similar)));
        let known = [self.best(tuning, threads), recorded].concat();
        let objective = objective(tuning, threads);
        let seed = self.seed.wrapping_add(tuning.round as u64);
        let want = want - selected.len();
        // What templates say of the nest is worth more than a model that has seen nothing of it.
        let templates = if tuning.round == 1 { (want as f64 * OF_TEMPLATES) as usize } else { 0 };
        let asked = Asked { seed, want, templates };
        selected.extend(self.settings.search(&self.space, &*self.model, &known, &taken, &objective, asked)?);
        Ok(selected)
    }
}

impl Evolved {
    /// So many of a round are from the database.
    fn share(&self, want: usize) -> usize {
        (want as f64 * self.settings.from_database) as usize
    }

    /// The best on record from before the run, as far as they are of this space, without those that have failed; with the figures that
    /// are on record at a number of threads (its position).
    fn recorded(&self, tuning: &Tuning<'_>, threads: usize) -> Vec<Known> {
        let (_, failed) = tuning.journal.failed();
        let most = self.share(self.settings.population);
        // The defaults were tried in any case.
        let mut seen: HashSet<Structure> = tuning.candidates.iter().map(|candidate| candidate.structure).collect();
        let ranked = tuning.journal.ranked(tuning.cache);
        let figures = tuning.journal.figures(tuning.threads[threads], tuning.cache);
        let shapes: Vec<Shape> = (0..tuning.workloads.len()).map(|workload| tuning.shape(workload)).collect();
        let known = ranked.into_iter().filter_map(|micro_kernel| {
            let name = &*micro_kernel.origin.name;
            let gflops = shapes.iter().map(|shape| figures.get(&(name, shape)).copied()).collect();
            Some(Known { lowered: self.applied(micro_kernel)?, gflops })
        });
        let fresh = |hash: Structure| !failed.contains(&hash);
        known.filter(|known| fresh(known.lowered.hash) && seen.insert(known.lowered.hash)).take(most).collect()
    }

    /// What was screened in this run, the best first.
    fn best(&self, tuning: &Tuning<'_>, threads: usize) -> Vec<Known> {
        let timed = |candidate: &Candidate| {
            let figures = candidate.gflops[threads].iter().zip(&candidate.predicted[threads]);
            figures.map(|(gflops, timed)| gflops.or(Some(*timed).filter(|timed| *timed > 0.0))).collect()
        };
        let known = tuning.best_first(threads).into_iter().filter_map(|candidate| {
            Some(Known { lowered: self.applied(&candidate.micro_kernel)?, gflops: timed(candidate) })
        });
        known.take(self.share(self.settings.population)).collect()
    }

    /// A micro-kernel within the limits of this space, carried out: the nest as it stands has no decisions, those of families have; a
    /// cover's figures are not those of its main part. Lowered loops are large: they are made again rather than kept.
    fn applied(&self, micro_kernel: &MicroKernel) -> Option<Lowered> {
        let is_of_space = !micro_kernel.is_nest() && micro_kernel.cover.is_none();
        is_of_space.then(|| self.space.apply(&micro_kernel.trace.before_postproc()).ok())?
    }

    /// Lets the model learn from what was measured since it last learned.
    fn learn(&mut self, tuning: &Tuning<'_>) {
        if !self.model.learns() {
            return;
        }
        let fresh = &tuning.candidates[self.learned..];
        self.learned = tuning.candidates.len();
        let stand_in = |of: &MicroKernel| of.lowered(tuning.device.program(), tuning.device.target()).ok();
        let applied = |of: &'_ Candidate| Some((self.applied(&of.micro_kernel)?, of.stand_in().and_then(stand_in)));
        let applied: Vec<_> = fresh.iter().filter_map(|of| Some((of, applied(of)?))).collect();
        let seen = applied.iter().flat_map(|(of, (own, stand_in))| observed(tuning, of, own, stand_in.as_ref()));
        let seen: Vec<Observed<'_>> = seen.collect();
        self.model.update(&seen);
    }
}

/// The figures of a candidate, at the points and at instances; of one that failed, that it has none. At the points they are of what was
/// screened in its place, if anything was, which may have passed where the candidate failed.
fn observed<'a>(
    tuning: &'a Tuning<'_>,
    of: &'a Candidate,
    candidate: &'a Lowered,
    stand_in: Option<&'a Lowered>,
) -> Vec<Observed<'a>> {
    let def = tuning.device.def();
    let passed = !of.failed || stand_in.is_some() && of.seconds.iter().all(Option::is_some);
    let timed = |(seconds, point): (&Option<f64>, &'a Instance)| {
        let gflops = Some(point.flops * 1e-9 / (*seconds)?).filter(|_| passed);
        let (candidate, units) = (stand_in.unwrap_or(candidate), tuning.device.units(tuning.threads[0]));
        Some(Observed { def, candidate, instance: &point.shape[..], units, gflops })
    };
    let mut seen: Vec<Observed<'a>> = of.seconds.iter().zip(&tuning.points.timed).filter_map(timed).collect();
    for (row, setting) in of.gflops.iter().zip(&tuning.threads) {
        for (gflops, workload) in row.iter().zip(&tuning.workloads).filter(|(gflops, _)| of.failed || gflops.is_some())
        {
            let instance = &workload.instance.shape[..];
            let units = tuning.device.units(*setting);
            seen.push(Observed { def, candidate, instance, units, gflops: gflops.filter(|_| !of.failed) });
        }
    }
    seen
}

/// The instances at a number of threads (its position).
fn objective(tuning: &Tuning<'_>, threads: usize) -> Objective {
    Objective {
        instances: tuning.workloads.iter().map(|workload| workload.instance.shape.clone()).collect(),
        weights: tuning.workloads.iter().map(|workload| workload.weight).collect(),
        units: tuning.device.units(tuning.threads[threads]),
    }
}
