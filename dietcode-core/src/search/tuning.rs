//! The search of one kernel on one device in progress: the device, the instances, the candidates so far, the records.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use dietcode_syntax::KernelDef;

use super::candidate::Modelled;
use super::database::{Outcome, Shape};
use super::proposal::{Proposal, StandIn};
use super::screening::BRIEF;
use super::{
    Budget, Candidate, Defaults, Event, Found, Journal, Pace, Phase, Points, Roofline, Status, WorkloadInstance,
};
use crate::config::Cache;
use crate::cost_model::{Adaptation, Analytic};
use crate::measure::{Device, Failure, Instance, Purpose, Sample, Summary, Timing};
use crate::schedule::Trace;
use crate::sketch::Lowered;
use crate::{Error, Result};

/// Two figures that were measured at different times differ by so much also where nobody else is there: the logarithm of their ratio.
const UNCERTAIN: f64 = 0.05;

/// What is screened in place of a candidate takes at most so many times as long at each of the points, as the model says.
const NEAR: f64 = 1.1;

/// Everything that the rounds of one kernel's search work on.
pub struct Tuning<'a> {
    /// Where it compiles and measures.
    pub device: Box<dyn Device>,
    /// The instances.
    pub workloads: Vec<WorkloadInstance>,
    /// The settings: numbers of threads, or 0 alone.
    pub threads: Vec<usize>,
    /// How long.
    pub budget: Budget<'a>,
    /// How many trials there can be in all, as far as that is known.
    pub(super) trials: Option<usize>,
    /// Whether no other kernel is searched beside it: its rounds follow each other.
    pub(super) is_alone: bool,
    /// What caches hold before each call.
    pub cache: Cache,
    /// What bounds the instances, if it was measured.
    pub roofline: Option<Roofline>,
    /// Where everything that is measured goes.
    pub journal: Journal,
    /// Gets what the search reports while it runs.
    pub watch: &'a dyn Fn(Event),
    /// What runs where nothing was tuned.
    pub defaults: Defaults,
    /// Where candidates are checked and timed before they are measured on instances.
    pub(super) points: Points,
    /// Says how instances differ.
    pub(super) model: Analytic,
    /// What was tried so far; the first are the default micro-kernels, in their order.
    pub(super) candidates: Vec<Candidate>,
    /// The best that were found for kernels that are alike, before the first round.
    pub(super) similar: Vec<Trace>,
    /// The round that is under way.
    pub(super) round: usize,
    /// Trials whose outcome was on record.
    pub(super) known: usize,
    /// The differences of the logarithms of two figures of one micro-kernel, one after the other.
    differences: Vec<f64>,
    /// How fast it goes.
    pub(super) pace: Pace,
    failures: BTreeMap<&'static str, usize>,
    failed: Vec<(String, Failure)>,
}

/// What a model says of calls at the points.
struct ModelledPoints<'a> {
    def: &'a KernelDef,
    model: &'a Analytic,
    points: Vec<Vec<i64>>,
    units: usize,
}

impl ModelledPoints<'_> {
    /// How long they take.
    fn seconds(&self, lowered: &Lowered) -> Vec<f64> {
        self.model.seconds(self.def, lowered, &self.points, self.units)
    }
}

impl<'a> Tuning<'a> {
    /// Before the first round. Measurements have the first cores from now on, and compilers those that are left.
    pub fn new(
        mut device: Box<dyn Device>,
        workloads: Vec<WorkloadInstance>,
        threads: Vec<usize>,
        defaults: Defaults,
        budget: Budget<'a>,
        journal: Journal,
        watch: &'a dyn Fn(Event),
    ) -> Tuning<'a> {
        device.pin();
        let points = Points::of(&*device, &workloads, threads[0]);
        let model = Analytic { target: device.target().clone() };
        Tuning {
            points,
            model,
            device,
            workloads,
            threads,
            budget,
            trials: None,
            is_alone: false,
            cache: Cache::Warm,
            roofline: None,
            journal,
            watch,
            defaults,
            candidates: Vec::new(),
            similar: Vec::new(),
            round: 0,
            known: 0,
            differences: Vec::new(),
            pace: Pace::default(),
            failures: BTreeMap::new(),
            failed: Vec::new(),
        }
    }

    /// Takes up a proposal as a candidate; gives its position.
    pub(super) fn admit(&mut self, proposal: Proposal) -> usize {
        let fit =
            |workload: &WorkloadInstance, threads| Adaptation::of(&proposal.lowered, &workload.instance.shape, threads);
        let units = |setting: &usize| self.device.units(*setting);
        let row = |setting: &usize| self.workloads.iter().map(|workload| fit(workload, units(setting))).collect();
        let adaptations = self.threads.iter().map(row).collect();
        let (def, lowered) = (self.device.def(), &proposal.lowered);
        let instances: Vec<Vec<i64>> = self.workloads.iter().map(|workload| workload.instance.shape.clone()).collect();
        let on_instances = |setting| self.model.seconds(def, lowered, &instances, units(setting));
        let mut model = Modelled {
            points: proposal.stand_in.as_ref().map_or_else(|| self.at_points(lowered), |of| of.points.clone()),
            instances: self.threads.iter().map(on_instances).collect(),
        };
        if !model.is_finite() {
            // Of code that the compiler fits where the model does not, nothing is known but the operations.
            let flops = |instance: &Instance| instance.flops;
            model.points = self.points.timed.iter().map(flops).collect();
            let all: Vec<f64> = self.workloads.iter().map(|workload| flops(&workload.instance)).collect();
            model.instances = vec![all; self.threads.len()];
        }
        let trial = self.candidates.len();
        let is_default = trial < self.defaults.micro_kernels.len();
        self.known += usize::from(!is_default && self.journal.has(&proposal.micro_kernel.name()));
        self.candidates.push(Candidate::new(proposal, trial as u64, adaptations, model));
        trial
    }

    /// Seconds that the model expects of a call at the points, at the first number of threads.
    fn at_points(&self, lowered: &Lowered) -> Vec<f64> {
        self.modelled_points().seconds(lowered)
    }

    fn modelled_points(&self) -> ModelledPoints<'_> {
        ModelledPoints {
            def: self.device.def(),
            model: &self.model,
            points: self.points.timed.iter().map(|point| point.shape.clone()).collect(),
            units: self.device.units(self.threads[0]),
        }
    }

    /// Says what is screened in place of proposals: the same with whole tiles at edges, where that takes about as long at the points. What edges
    /// take on instances, the model knows.
    pub(super) fn replace(&self, proposals: &mut [Proposal]) {
        let (program, target, points) = (self.device.program(), self.device.target(), self.modelled_points());
        let stand_in = |proposal: &Proposal| {
            let micro_kernel = proposal.micro_kernel.with_whole_edges()?;
            let whole = points.seconds(&micro_kernel.lowered(program, target).ok()?);
            let is_near = |(whole, halved): (&f64, f64)| *whole <= halved * NEAR;
            let are_near = whole.iter().zip(points.seconds(&proposal.lowered)).all(is_near);
            are_near.then_some(StandIn { micro_kernel, points: whole })
        };
        let replace = |proposal: &mut Proposal| proposal.stand_in = stand_in(proposal);
        self.device.cores().each(proposals.iter_mut().collect(), &AtomicBool::new(false), replace);
    }

    /// Whether a candidate's first figure of the screening is on record of the run and was not replayed yet: it was compiled and passed its
    /// check, and what failed of it failed later.
    pub(super) fn was_screened(&self, at: usize) -> bool {
        let name = self.candidates[at].micro_kernel.name();
        let first = self.points.timed.first();
        first.is_some_and(|point| self.journal.replay.has(&name, &self.shape_of(point), self.threads[0]))
    }

    /// Notes that a candidate could not be compiled, or was wrong on a ragged instance, if that is on record of the run. That it passed is
    /// not.
    pub(super) fn recall_failure(&mut self, at: usize) -> bool {
        let name = self.candidates[at].micro_kernel.name();
        let ragged = self.points.ragged.iter().map(|instance| Some(self.shape_of(instance)));
        let asked: Vec<Option<Shape>> = [None].into_iter().chain(ragged).collect();
        let failure = asked.iter().find_map(|shape| self.journal.replay.take_failure(&name, shape.as_ref()));
        failure.is_some_and(|failure| self.note(at, &failure).is_none())
    }

    /// Checks what was compiled of a candidate for a purpose on the ragged instances, until it fails.
    pub(super) fn check(&mut self, at: usize, purpose: Purpose) -> Result<()> {
        for instance in self.points.ragged.clone() {
            if !self.candidates[at].failed
                && let Some(failed) = self.measure_now(at, 0, &instance, Timing::CHECK, purpose)?
            {
                self.note(at, &failed);
            }
        }
        Ok(())
    }

    /// Times a candidate at one of the points.
    pub(super) fn time(&mut self, at: usize, point: usize, timing: Timing) -> Result<()> {
        let instance = self.points.timed[point].clone();
        if let Some(gflops) = self.measure_at(at, 0, &instance, timing, Purpose::Screening)? {
            let flops: Vec<f64> = self.workloads.iter().map(|workload| workload.instance.flops).collect();
            self.candidates[at].seconds[point] = Some(instance.flops * 1e-9 / gflops);
            let of_points: Vec<f64> = self.points.timed.iter().map(|point| point.flops).collect();
            self.candidates[at].predict(&flops, &of_points);
        }
        Ok(())
    }

    /// Measures a candidate on an instance (its position) at a number of threads (its position), notes and records what came of it. A
    /// measurement that is on record of the run is only noted.
    pub(super) fn measure(&mut self, at: usize, threads: usize, workload: usize, timing: Timing) -> Result<()> {
        let instance = self.workloads[workload].instance.clone();
        if let Some(gflops) = self.measure_at(at, threads, &instance, timing, Purpose::Final)? {
            self.candidates[at].gflops[threads][workload] = Some(gflops);
        }
        Ok(())
    }

    /// The same on any instance: the GFLOP/s, if it has any.
    fn measure_at(
        &mut self,
        at: usize,
        threads: usize,
        instance: &Instance,
        timing: Timing,
        purpose: Purpose,
    ) -> Result<Option<f64>> {
        let outcome = match self.recall(at, threads, instance) {
            Some(outcome) => Some(outcome),
            None => self.measure_now(at, threads, instance, timing, purpose)?,
        };
        Ok(outcome.and_then(|outcome| self.note(at, &outcome)))
    }

    /// What is on record of the run, if it was not replayed yet.
    fn recall(&mut self, at: usize, threads: usize, instance: &Instance) -> Option<Outcome> {
        let (name, shape) = (self.candidates[at].micro_kernel.name(), self.shape_of(instance));
        self.journal.replay.take(&name, Some(&shape), self.threads[threads])
    }

    /// What came of it; nothing if it only passed a check, which is no figure.
    fn measure_now(
        &mut self,
        at: usize,
        threads: usize,
        instance: &Instance,
        timing: Timing,
        purpose: Purpose,
    ) -> Result<Option<Outcome>> {
        let code = match purpose {
            Purpose::Screening => self.candidates[at].screened(&*self.device),
            Purpose::Final => self.candidates[at].code(&*self.device),
        };
        let code = match code.cloned() {
            Ok(code) => code,
            Err(failure) => return self.fail(at, failure).map(|()| None),
        };
        let implementation = self.device.implementation(&code, instance)?;
        let timing = Timing { cache: self.cache, ..timing };
        let mut measured = None;
        // By one point alone nobody knows what the other is like, and who took the core once need not take it again.
        for _ in 0..if purpose == Purpose::Screening { 2 } else { 1 } {
            measured =
                self.device.measure(instance, vec![implementation.clone()], self.threads[threads], timing)?.pop();
            if !matches!(measured, Some(Err(Failure::Unknown { .. }))) {
                break;
            }
        }
        let Some(outcome) = measured else { return Ok(None) };
        if let Ok(sample) = &outcome {
            self.candidates[at].rel_err = self.candidates[at].rel_err.max(sample.rel_err);
        }
        if outcome.is_ok() && timing.rounds == 0 {
            return Ok(None);
        }
        let outcome = self.outcome(at, outcome, threads, instance.flops);
        let report = self.candidates[at].report(&*self.device);
        self.journal.write(&self.candidates[at], purpose, report, Some(self.shape_of(instance)), outcome.clone())?;
        Ok(Some(outcome))
    }

    fn outcome(&self, at: usize, outcome: Result<Sample, Failure>, threads: usize, flops: f64) -> Outcome {
        match outcome {
            Ok(sample) => Outcome::Measured {
                threads: self.threads[threads],
                gflops: sample.gflops(flops),
                // Of what is timed without a check, what the check came to.
                rel_err: self.candidates[at].rel_err,
                cache: self.cache,
            },
            Err(Failure::Unknown { clean, asked }) => Outcome::Unknown { threads: self.threads[threads], clean, asked },
            Err(failure) => Outcome::Failed(failure),
        }
    }

    /// Notes and records that a candidate has no code.
    pub(super) fn fail(&mut self, at: usize, failure: Failure) -> Result<()> {
        let outcome = Outcome::Failed(failure);
        self.note(at, &outcome);
        self.journal.write(&self.candidates[at], Purpose::Final, Vec::new(), None, outcome)
    }

    /// Notes what came of a candidate: its figure, or that it failed.
    pub(super) fn note(&mut self, at: usize, outcome: &Outcome) -> Option<f64> {
        match outcome {
            Outcome::Measured { gflops, .. } => Some(gflops.median),
            Outcome::Unknown { .. } => {
                *self.failures.entry("unknown").or_default() += 1;
                None
            }
            Outcome::Verdict { .. } | Outcome::Turns { .. } => None,
            Outcome::Failed(failure) => {
                self.candidates[at].failed = true;
                self.failed.push((self.candidates[at].micro_kernel.name(), failure.clone()));
                *self.failures.entry(failure.kind()).or_default() += 1;
                self.notice(format!("{} {failure}", self.candidates[at].micro_kernel.name()));
                None
            }
        }
    }

    /// Times the fastest default micro-kernel at the first point once more: who has two figures tells how far figures of one micro-kernel are
    /// apart in this run. The nest as it stands, which may be a default, takes a hundred times as long.
    pub(super) fn time_default_again(&mut self) -> Result<()> {
        let defaults = self.candidates.iter().take(self.defaults.micro_kernels.len()).enumerate();
        let timed = defaults.filter_map(|(at, default)| Some((at, default.seconds.first().copied()??)));
        let Some((at, known)) = timed.min_by(|(_, a), (_, b)| a.total_cmp(b)) else { return Ok(()) };
        let cores = Arc::clone(self.device.cores());
        let _alone = cores.reserve(self.threads[0]);
        self.time(at, 0, BRIEF)?;
        let again = self.candidates[at].seconds[0].unwrap_or(known);
        self.differences.push((again / known).ln().abs());
        Ok(())
    }

    /// By how much the logarithms of two figures of a search differ that may be of equally fast micro-kernels.
    pub(crate) fn uncertainty(&self) -> f64 {
        // In the median: figures of a few calls have outliers, and the more the longer a search goes on.
        if self.differences.is_empty() { UNCERTAIN } else { Summary::of(&self.differences).median + UNCERTAIN }
    }

    /// The values of the shape variables at an instance (its position).
    pub(crate) fn shape(&self, workload: usize) -> Shape {
        self.shape_of(&self.workloads[workload].instance)
    }

    /// The values of the shape variables of an instance.
    pub(super) fn shape_of(&self, instance: &Instance) -> Shape {
        let names = self.device.def().shape_vars.iter().map(|var| var.name.clone());
        names.zip(instance.shape.iter().copied()).collect()
    }

    /// The highest measured GFLOP/s of an instance at a number of threads, both as positions; 0 where there is none.
    pub(super) fn best(&self, threads: usize, workload: usize) -> f64 {
        let alive = self.candidates.iter().filter(|c| !c.failed);
        alive.filter_map(|c| c.gflops[threads][workload]).fold(0.0, f64::max)
    }

    /// The best of each instance at a number of threads (its position).
    pub(super) fn bests(&self, threads: usize) -> Vec<f64> {
        (0..self.workloads.len()).map(|workload| self.best(threads, workload)).collect()
    }

    /// The candidates with a figure at a number of threads (its position), the best first: by how near one comes to the best where it comes
    /// nearest, as it was measured, or else as the points where it was timed let expect.
    pub(super) fn best_first(&self, threads: usize) -> Vec<&Candidate> {
        let bests = self.bests(threads);
        let hoped = |at: usize| self.candidates.iter().map(|c| c.predicted[threads][at]).fold(0.0, f64::max);
        let hoped: Vec<f64> = (0..bests.len()).map(hoped).collect();
        let share = |candidate: &Candidate| {
            let measured = candidate.gflops[threads].iter().zip(&bests).filter_map(|(g, best)| Some((*g)? / best));
            let expected = candidate.predicted[threads].iter().zip(&hoped).filter(|(_, best)| **best > 0.0);
            measured.chain(expected.map(|(predicted, best)| predicted / best)).fold(0.0, f64::max)
        };
        let alive = self.candidates.iter().filter(|candidate| !candidate.failed);
        let mut ranked: Vec<(f64, &Candidate)> = alive.map(|candidate| (share(candidate), candidate)).collect();
        ranked.retain(|(share, _)| *share > 0.0);
        ranked.sort_by(|a, b| b.0.total_cmp(&a.0));
        ranked.into_iter().map(|(_, candidate)| candidate).collect()
    }

    /// How much of the roofline the best reach, see [`Status::roofline`].
    pub(super) fn reached(&self) -> Option<f64> {
        let bests: Vec<Vec<f64>> = (0..self.threads.len()).map(|threads| self.bests(threads)).collect();
        let weights: Vec<f64> = self.workloads.iter().map(|workload| workload.weight).collect();
        self.roofline.as_ref().map(|roofline| roofline.reached(&bests, &weights))
    }

    /// Reports how far a phase has come.
    pub(crate) fn progress(&self, phase: Phase, done: usize, of: Option<usize>) {
        let default = |(workload, at): (usize, &usize)| self.candidates.get(*at)?.gflops[0][workload];
        let default = self.defaults.of.iter().enumerate().map(|of| default(of).unwrap_or(0.0)).collect();
        (self.watch)(Event::Progress(Status {
            kernel: self.device.def().name.clone(),
            phase,
            round: self.round,
            done,
            of,
            known: self.known,
            failures: self.failures.clone(),
            best: self.bests(0),
            default,
            roofline: self.reached(),
        }));
    }

    /// How many trials there were: the defaults, which are what candidates are compared with, are none.
    pub(super) fn searched(&self) -> usize {
        self.candidates.len().saturating_sub(self.defaults.micro_kernels.len())
    }

    /// Reports a sentence.
    pub(super) fn notice(&self, text: String) {
        (self.watch)(Event::Notice(text));
    }

    /// Whether a candidate (its position) is what runs an instance (its position) where nothing was tuned.
    pub(super) fn is_default(&self, at: usize, workload: usize) -> bool {
        self.defaults.of[workload] == at
    }

    /// The first candidates are the defaults, and serve.
    pub(super) fn check_default(&self) -> Result<()> {
        let (name, expected) = (&self.device.def().name, self.defaults.micro_kernels.len());
        let message = match self.candidates.get(..expected) {
            None => format!("the search was stopped before anything of `{name}` was measured"),
            Some(defaults) => {
                let is_default = |failed: &str| defaults.iter().any(|default| default.micro_kernel.name() == failed);
                match self.failed.iter().find(|(failed, _)| is_default(failed)) {
                    None => return Ok(()),
                    Some((failed, why)) => {
                        format!("the default micro-kernel `{failed}` of `{name}` {}", why.in_a_line())
                    }
                }
            }
        };
        Err(Error::failed(message))
    }

    /// Those that failed so far, by name, with the reason.
    pub fn take_failed(&mut self) -> Vec<(String, Failure)> {
        std::mem::take(&mut self.failed)
    }

    /// What was found; the defaults must be among it.
    pub(super) fn finish(&mut self) -> Result<Found> {
        self.check_default()?;
        let tried = (self.searched(), self.known);
        let (candidates, failed) = (std::mem::take(&mut self.candidates), self.take_failed());
        Ok(Found::of(candidates, self.defaults.of.clone(), tried, self.pace.clone(), failed))
    }
}
