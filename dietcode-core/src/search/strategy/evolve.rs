//! Evolution of a space, guided by a model that has seen what was measured.
//!
//! The first round tries again what earlier runs found to be best, whose figures are of another day, and what this run found for kernels that are
//! alike. After that, each round is one for another number of threads, by turns: the best with one core need not be the best with all.
//!
//! Generations of a round begin while the last candidates of the one before are measured, on cores that nobody else wants; the first ones begin
//! with the defaults. What is measured meanwhile is known when the round's candidates are picked.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

use super::Propose;
use crate::Result;
use crate::config::Evolution;
use crate::cost_model::{CostModel, Observed};
use crate::measure::Instance;
use crate::schedule::Trace;
use crate::search::database::{Shape, Structure};
use crate::search::evolution::{Asked, Generations, Guidance, Known};
use crate::search::proposal::Proposal;
use crate::search::{Candidate, Made, Objective, Tuning};
use crate::sketch::{Lowered, MicroKernel, Space};

/// The share of the first round that is for templates.
const OF_TEMPLATES: f64 = 0.5;

/// The share of the first round that is for what was found for other kernels, at the most.
const OF_SIMILAR: f64 = 0.25;

/// A space and what guides through it.
struct Evolved {
    space: Arc<Space>,
    model: Arc<dyn CostModel>,
    settings: Evolution,
    seed: u64,
    /// The number of candidates that the model has learned from.
    learned: usize,
    /// The generations of the next round, once they have begun.
    ahead: Option<Ahead>,
}

/// Generations that are under way. When this is dropped, no more candidates of them are made.
struct Ahead {
    thread: Option<JoinHandle<Result<Generations>>>,
    done: Option<Result<Generations>>,
    stop: Arc<AtomicBool>,
    /// What is on record from before the run, in the first round.
    recorded: Vec<(Lowered, Known)>,
}

/// Proposes what evolution picks from a space, by what a model expects of it.
pub fn evolved(space: Space, model: Box<dyn CostModel>, settings: Evolution, seed: u64) -> Box<dyn Propose> {
    let (space, model) = (Arc::new(space), model.into());
    Box::new(Evolved { space, model, settings, seed, learned: 0, ahead: None })
}

impl Propose for Evolved {
    fn prepare(&mut self, tuning: &Tuning<'_>) {
        // A model that learns does so from whole rounds: what instances and the last check say of candidates is known at a round's end.
        if !self.model.learns() {
            self.ahead = Some(self.begin(tuning, tuning.round + 1));
        }
    }

    fn settle(&mut self, is_wanted: bool) {
        self.ahead = self.ahead.take().filter(|_| is_wanted);
        self.ahead.iter_mut().for_each(Ahead::wait);
    }

    fn propose(&mut self, tuning: &Tuning<'_>, want: usize) -> Result<Vec<Proposal>> {
        let mut ahead = self.ahead.take().unwrap_or_else(|| self.begin(tuning, tuning.round));
        ahead.wait();
        let generations = ahead.done.take().expect("they were waited for")?;
        let threads = tuning.round % tuning.threads.len();
        let mut taken: HashSet<Structure> = tuning.taken();
        // The defaults were tried in any case.
        let tried: HashSet<Structure> = tuning.candidates.iter().map(|candidate| candidate.structure).collect();
        let recorded = std::mem::take(&mut ahead.recorded).into_iter();
        let recorded: Vec<(Lowered, Known)> = recorded.filter(|(lowered, _)| !tried.contains(&lowered.hash)).collect();
        // The best of each instance come first in the ranking, and are tried again in any case.
        let again = self.share(want).max(tuning.workloads.len() * tuning.threads.len()).min(want);
        let again = recorded.iter().take(again).map(|(lowered, _)| lowered.clone());
        let mut selected: Vec<Proposal> = again.map(|best| Proposal::of_space(best, Made::Recorded)).collect();
        taken.extend(selected.iter().map(|proposal| proposal.structure));
        let similar = if tuning.round == 1 { &*tuning.similar } else { &[] };
        let similar = similar.iter().filter_map(|trace| self.space.apply(trace).ok());
        let similar = similar.filter(|lowered| taken.insert(lowered.hash));
        let similar = similar.take(((want as f64 * OF_SIMILAR) as usize).min(want - selected.len()));
        selected.extend(similar.map(|lowered| Proposal::of_space(lowered, Made::Similar)));
        let known = [self.best(tuning, threads), recorded.into_iter().map(|(_, known)| known).collect()].concat();
        let objective = objective(tuning, threads);
        let stop = AtomicBool::new(false);
        let by = Guidance {
            space: &self.space,
            model: &*self.model,
            objective: &objective,
            cores: tuning.device.cores(),
            stop: &stop,
        };
        let want = want - selected.len();
        // What templates say of the nest is worth more than a model that has seen nothing of it.
        let templates = if tuning.round == 1 { (want as f64 * OF_TEMPLATES) as usize } else { 0 };
        let asked = Asked { seed: self.seed_of(tuning.round), want, templates };
        selected.extend(self.settings.pick(by, generations, &known, &taken, asked)?);
        Ok(selected)
    }
}

impl Ahead {
    /// Waits until they are done.
    fn wait(&mut self) {
        if let Some(thread) = self.thread.take() {
            self.done = Some(thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        }
    }
}

impl Drop for Ahead {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        // One that panicked has said so, and nobody asks for what it made.
        drop(self.thread.take().map(JoinHandle::join));
    }
}

impl Evolved {
    /// Begins with the generations of a round, by what is known now.
    fn begin(&mut self, tuning: &Tuning<'_>, round: usize) -> Ahead {
        self.learn(tuning);
        let threads = round % tuning.threads.len();
        let recorded = if round == 1 { self.recorded(tuning, threads) } else { Vec::new() };
        let known = [self.best(tuning, threads), recorded.iter().map(|(_, known)| known.clone()).collect()].concat();
        let (objective, seed, settings) = (objective(tuning, threads), self.seed_of(round), self.settings.clone());
        let (space, model, cores) =
            (Arc::clone(&self.space), Arc::clone(&self.model), Arc::clone(tuning.device.cores()));
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        let thread = std::thread::spawn(move || {
            let by = Guidance { space: &space, model: &*model, objective: &objective, cores: &cores, stop: &stopped };
            settings.evolve(by, &known, seed)
        });
        Ahead { thread: Some(thread), done: None, stop, recorded }
    }

    /// Where the random choices of a round start.
    fn seed_of(&self, round: usize) -> u64 {
        self.seed.wrapping_add(round as u64)
    }

    /// So many of a round are from the database.
    fn share(&self, want: usize) -> usize {
        (want as f64 * self.settings.from_database) as usize
    }

    /// The best on record from before the run, as far as they are of this space, without those that have failed; with the figures that
    /// are on record at a number of threads (its position).
    fn recorded(&self, tuning: &Tuning<'_>, threads: usize) -> Vec<(Lowered, Known)> {
        let (_, failed) = tuning.journal.failed();
        let most = self.share(self.settings.population);
        let mut seen: HashSet<Structure> = HashSet::new();
        let ranked = tuning.journal.ranked(tuning.cache);
        let figures = tuning.journal.figures(tuning.threads[threads], tuning.cache);
        let shapes: Vec<Shape> = (0..tuning.workloads.len()).map(|workload| tuning.shape(workload)).collect();
        let known = ranked.into_iter().filter_map(|micro_kernel| {
            let name = &*micro_kernel.origin.name;
            let gflops = shapes.iter().map(|shape| figures.get(&(name, shape)).copied()).collect();
            let lowered = self.applied(micro_kernel)?;
            Some((lowered.clone(), Known { trace: lowered.trace, gflops }))
        });
        let fresh = |hash: Structure| !failed.contains(&hash);
        known.filter(|(lowered, _)| fresh(lowered.hash) && seen.insert(lowered.hash)).take(most).collect()
    }

    /// What was screened in this run, the best first.
    fn best(&self, tuning: &Tuning<'_>, threads: usize) -> Vec<Known> {
        let timed = |candidate: &Candidate| {
            let figures = candidate.gflops[threads].iter().zip(&candidate.predicted[threads]);
            figures.map(|(gflops, timed)| gflops.or(Some(*timed).filter(|timed| *timed > 0.0))).collect()
        };
        let known = tuning.best_first(threads).into_iter().filter_map(|candidate| {
            Some(Known { trace: of_space(&candidate.micro_kernel)?, gflops: timed(candidate) })
        });
        known.take(self.share(self.settings.population)).collect()
    }

    /// A micro-kernel within the limits of this space, carried out. Lowered loops are large: they are made again rather than kept.
    fn applied(&self, micro_kernel: &MicroKernel) -> Option<Lowered> {
        self.space.apply(&of_space(micro_kernel)?).ok()
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
        Arc::get_mut(&mut self.model).expect("no generations are under way").update(&seen);
    }
}

/// What a space may have made of a micro-kernel: the nest as it stands has no decisions, those of families have; a cover's figures are not
/// those of its main part.
fn of_space(micro_kernel: &MicroKernel) -> Option<Trace> {
    let is_of_space = !micro_kernel.is_nest() && micro_kernel.cover.is_none();
    is_of_space.then(|| micro_kernel.trace.before_postproc())
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
