//! The search of one kernel on one device in progress: the device, the instances, the candidates so far, the records.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::database::{Outcome, Shape};
use super::proposal::Proposal;
use super::screening::{BRIEF, by_work};
use super::{Budget, Candidate, Defaults, Event, Found, Journal, Pace, Phase, Roofline, Status, WorkloadInstance};
use crate::cost_model::Adaptation;
use crate::measure::{Device, Failure, Sample, Timing};
use crate::{Error, ErrorKind, Result};

/// Two figures that were measured at different times differ by so much also where nobody else is there: the logarithm of their ratio.
const UNCERTAIN: f64 = 0.05;

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
    /// How many candidates there can be in all, as far as that is known.
    pub(super) trials: Option<usize>,
    /// Whether a device's second-level cache is emptied before each launch.
    pub cold: bool,
    /// What bounds the instances, if it was measured.
    pub roofline: Option<Roofline>,
    /// Where everything that is measured goes.
    pub journal: Journal,
    /// Gets what the search reports while it runs.
    pub watch: &'a dyn Fn(Event),
    /// What runs where nothing was tuned.
    pub defaults: Defaults,
    /// What was tried so far; the first are the default micro-kernels, in their order.
    pub(super) candidates: Vec<Candidate>,
    /// The round that is under way.
    pub(super) round: usize,
    /// Candidates whose outcome was on record.
    pub(super) known: usize,
    /// The largest difference of the logarithms of two figures of one micro-kernel, one after the other.
    spread: f64,
    /// How fast it goes.
    pub(super) pace: Pace,
    failures: BTreeMap<&'static str, usize>,
    failed: Vec<(String, Failure)>,
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
        Tuning {
            device,
            workloads,
            threads,
            budget,
            trials: None,
            cold: false,
            roofline: None,
            journal,
            watch,
            defaults,
            candidates: Vec::new(),
            round: 0,
            known: 0,
            spread: 0.0,
            pace: Pace::default(),
            failures: BTreeMap::new(),
            failed: Vec::new(),
        }
    }

    /// Takes up a proposal as a candidate; gives its position.
    pub(super) fn admit(&mut self, proposal: Proposal) -> usize {
        let schedule = proposal.lowered.schedule();
        let fit =
            |workload: &WorkloadInstance, threads| Adaptation::of_schedule(schedule, &workload.instance.shape, threads);
        let units = |setting: &usize| self.device.units(*setting);
        let row = |setting: &usize| self.workloads.iter().map(|workload| fit(workload, units(setting))).collect();
        let adaptations = self.threads.iter().map(row).collect();
        let trial = self.candidates.len();
        self.known += usize::from(self.journal.has(&proposal.micro_kernel.name()));
        self.candidates.push(Candidate::new(proposal, trial as u64, adaptations));
        trial
    }

    /// Measures candidates against each other on an instance (its position) at a number of threads (its position), notes
    /// and records what came of it. A measurement that is on record of the run is only noted.
    pub(super) fn measure(&mut self, which: &[usize], threads: usize, workload: usize, timing: Timing) -> Result<()> {
        let names: Vec<String> = which.iter().map(|at| self.candidates[*at].micro_kernel.name()).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        match self.journal.recall(&names, Some(&self.shape(workload)), self.threads[threads]) {
            Some(outcomes) => {
                which.iter().zip(&outcomes).for_each(|(at, seen)| self.note(*at, threads, workload, seen));
            }
            None => self.measure_now(which, threads, workload, timing)?,
        }
        Ok(())
    }

    fn measure_now(&mut self, which: &[usize], threads: usize, workload: usize, timing: Timing) -> Result<()> {
        let mut compiled = Vec::new();
        let mut implementations = Vec::new();
        for at in which {
            match self.candidates[*at].measured(&*self.device).cloned() {
                Ok(code) => {
                    compiled.push(*at);
                    implementations.push(self.device.implementation(&code, &self.workloads[workload].instance)?);
                }
                Err(failure) => self.fail(*at, failure)?,
            }
        }
        let instance = self.workloads[workload].instance.clone();
        let timing = Timing { cold: self.cold, ..timing };
        let measured = self.device.measure(&instance, implementations, self.threads[threads], timing)?;
        for (at, outcome) in compiled.into_iter().zip(measured) {
            let outcome = self.outcome(outcome, threads, instance.flops);
            self.note(at, threads, workload, &outcome);
            let report = self.candidates[at].report(&*self.device);
            self.journal.write(&self.candidates[at], report, Some(self.shape(workload)), outcome)?;
        }
        Ok(())
    }

    fn outcome(&self, outcome: Result<Sample, Failure>, threads: usize, flops: f64) -> Outcome {
        match outcome {
            Ok(sample) => Outcome::Measured {
                threads: self.threads[threads],
                gflops: sample.gflops(flops),
                rel_err: sample.rel_err,
                cold: self.cold,
            },
            Err(Failure::Unknown { clean, asked }) => Outcome::Unknown { threads: self.threads[threads], clean, asked },
            Err(failure) => Outcome::Failed(failure),
        }
    }

    /// Notes and records that a candidate has no code.
    pub(super) fn fail(&mut self, at: usize, failure: Failure) -> Result<()> {
        let outcome = Outcome::Failed(failure);
        self.note(at, 0, 0, &outcome);
        self.journal.write(&self.candidates[at], Vec::new(), None, outcome)
    }

    pub(super) fn note(&mut self, at: usize, threads: usize, workload: usize, outcome: &Outcome) {
        match outcome {
            Outcome::Measured { gflops, .. } => {
                let known = self.candidates[at].gflops[threads][workload].replace(gflops.median);
                let apart = known.map_or(0.0, |known| (gflops.median / known).ln().abs());
                self.spread = self.spread.max(apart);
            }
            Outcome::Unknown { .. } => *self.failures.entry("unknown").or_default() += 1,
            Outcome::Verdict { .. } => {}
            Outcome::Failed(failure) => {
                self.candidates[at].failed = true;
                self.failed.push((self.candidates[at].micro_kernel.name(), failure.clone()));
                *self.failures.entry(failure.kind()).or_default() += 1;
                self.notice(format!("{} {failure}", self.candidates[at].micro_kernel.name()));
            }
        }
    }

    /// Measures what runs the cheapest instance where nothing was tuned once more: who has two figures tells how far figures of one
    /// micro-kernel are apart in this run.
    pub(super) fn measure_default_again(&mut self) -> Result<()> {
        let workload = by_work(self)[0];
        let at = self.defaults.of[workload];
        if self.candidates[at].gflops[0][workload].is_none() {
            return Ok(());
        }
        let cores = Arc::clone(self.device.cores());
        let _alone = cores.reserve(self.threads[0]);
        self.measure(&[at], 0, workload, BRIEF)
    }

    /// By how much the logarithms of two figures of a search differ that may be of equally fast micro-kernels.
    pub(crate) fn uncertainty(&self) -> f64 {
        self.spread + UNCERTAIN
    }

    /// The values of the shape variables at an instance (its position).
    pub(crate) fn shape(&self, workload: usize) -> Shape {
        let names = self.device.def().shape_vars.iter().map(|var| var.name.clone());
        names.zip(self.workloads[workload].instance.shape.iter().copied()).collect()
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
            Some(defaults) => match defaults.iter().find(|default| default.failed) {
                None => return Ok(()),
                Some(failed) => {
                    let failed = failed.micro_kernel.name();
                    format!("the default micro-kernel `{failed}` of `{name}` does not pass its checks")
                }
            },
        };
        Err(Error::new(ErrorKind::Failed, message))
    }

    /// Those that failed so far, by name, with the reason.
    pub fn take_failed(&mut self) -> Vec<(String, Failure)> {
        std::mem::take(&mut self.failed)
    }

    /// What was found; the defaults must be among it.
    pub(super) fn finish(&mut self) -> Result<Found> {
        self.check_default()?;
        let mut candidates = std::mem::take(&mut self.candidates);
        let (tried, known) = (candidates.len(), self.known);
        candidates.retain(|c| !c.failed);
        let (default, failed) = (self.defaults.of.clone(), self.take_failed());
        Ok(Found { candidates, default, tried, known, pace: self.pace.clone(), failed })
    }
}
