//! Which micro-kernels of a GPU are measured, and how long, so that the best are known when the time is up.
//!
//! ```text
//! candidates ──► screening ──► full ──► finals ──► figures of every candidate
//!                all, at       who may   the best of each instance
//!                a spread of   win, at   and the default, by turns
//!                instances     all
//! ```
//!
//! As on a CPU every phase has a share of the budget and takes the most promising first. A GPU is quicker measured than
//! compiled for, so that all candidates are compiled before; and several are timed against each other at once.
mod finals;
mod full;
mod screening;

use std::collections::BTreeMap;
use std::sync::atomic::AtomicBool;

use dietcode_syntax::KernelDef;

use super::{Budget, Database, Event, Outcome, Phase, Point, Record, Status, Target, Workload};
use crate::measure::cuda::{Built, CudaCompiler, CudaHarness};
use crate::measure::{Failure, Implementation, Sample, Summary, Timing};
use crate::sketch::Blocked;
use crate::{Error, ErrorKind, Result};

/// A search in progress.
pub struct CudaTuning<'a> {
    /// The measurement harness.
    pub lab: &'a mut CudaHarness,
    /// The kernel.
    pub def: &'a KernelDef,
    /// The instances.
    pub points: &'a [Point],
    /// How long.
    pub budget: Budget<'a>,
    /// Where everything that is measured goes, and on what it was measured; none: nowhere.
    pub records: Option<(&'a mut Database, &'a Target)>,
    /// Who watches.
    pub watch: &'a mut dyn FnMut(Event),
    /// What compiled, the default first.
    pub candidates: Vec<CudaCandidate>,
    /// Whether the second-level cache is emptied before each launch.
    pub cold: bool,
}

/// A compiled micro-kernel with its figures.
#[derive(Clone, Debug)]
pub struct CudaCandidate {
    /// The schedule.
    pub blocked: Blocked,
    /// The compiled code.
    pub built: Built,
    /// GFLOP/s where it was measured, by instance.
    pub gflops: Vec<Option<Summary>>,
    /// Why it serves nothing any more.
    pub failure: Option<Failure>,
}

/// The shares of the budget at the ends of screening and of full measurement; the finals have the rest.
const SCREENING_ENDS: f64 = 0.5;
const FULL_ENDS: f64 = 0.8;

/// So many candidates are timed against each other at once.
const TOGETHER: usize = 6;

impl<'a> CudaTuning<'a> {
    /// Compiles candidates, of which the first is the default; those that do not compile are recorded, left out, and added to
    /// `failed`.
    ///
    /// # Errors
    /// If a record cannot be written, or the default does not compile.
    pub fn compile(
        mut self,
        compiler: &CudaCompiler,
        blocked: &[Blocked],
        failed: &mut Vec<(String, Failure)>,
    ) -> Result<CudaTuning<'a>> {
        let limits = compiler.limits()?;
        let units = blocked.iter().map(|blocked| crate::codegen::cuda::translation_unit(self.def, blocked, limits));
        let units = units.collect::<Result<Vec<_>>>()?;
        let stop: &AtomicBool = self.budget.stop();
        for (blocked, built) in blocked.iter().zip(compiler.build(&units, stop, |_| ())) {
            // What was not begun has not failed.
            if self.budget.is_stopped() {
                break;
            }
            match built {
                Ok(built) => self.add(blocked.clone(), built),
                Err(failure) => {
                    (self.watch)(Event::Notice(format!("{} {failure}", blocked.name())));
                    failed.push((blocked.name(), failure.clone()));
                    self.record(blocked, None, Outcome::Failed(failure))?;
                }
            }
        }
        match self.candidates.first().map(|candidate| &candidate.blocked) == blocked.first() || self.budget.is_stopped()
        {
            true => Ok(self),
            false => {
                let message = format!("the default micro-kernel of `{}` does not compile", self.def.name);
                Err(Error::new(ErrorKind::Failed, message))
            }
        }
    }

    /// A search of which nothing is known.
    pub fn new(
        lab: &'a mut CudaHarness,
        def: &'a KernelDef,
        points: &'a [Point],
        budget: Budget<'a>,
        watch: &'a mut dyn FnMut(Event),
    ) -> CudaTuning<'a> {
        CudaTuning { lab, def, points, budget, records: None, watch, candidates: vec![], cold: false }
    }

    /// Adds a compiled candidate.
    pub fn add(&mut self, blocked: Blocked, built: Built) {
        let gflops = vec![None; self.points.len()];
        self.candidates.push(CudaCandidate { blocked, built, gflops, failure: None });
    }

    /// Measures all candidates, as far as the budget goes.
    ///
    /// # Errors
    /// If measuring is not possible at all, or no candidate passes its check.
    pub fn search(mut self) -> Result<Vec<CudaCandidate>> {
        screening::screen(&mut self, SCREENING_ENDS)?;
        full::measure(&mut self, FULL_ENDS)?;
        finals::measure(&mut self)?;
        match self.candidates.iter().any(|c| c.gflops.iter().any(Option::is_some)) {
            true => Ok(self.candidates),
            false => {
                let why = match self.budget.is_stopped() {
                    true => "the search was stopped before anything was measured",
                    false => "no micro-kernel passes its check",
                };
                Err(Error::new(ErrorKind::Failed, format!("`{}` on {}: {why}", self.def.name, self.lab.device())))
            }
        }
    }

    /// Times candidates (their positions) against each other at an instance (its position), notes and records what came of
    /// it.
    fn measure(&mut self, which: &[usize], point: usize, rounds: usize) -> Result<()> {
        let which: Vec<usize> = which.iter().copied().filter(|at| self.candidates[*at].failure.is_none()).collect();
        if which.is_empty() {
            return Ok(());
        }
        let instance = &self.points[point].instance;
        let implementation =
            |at: &usize| Implementation::launched(&self.candidates[*at].built, self.def, &instance.shape);
        let implementations = which.iter().map(implementation).collect::<Result<Vec<_>>>()?;
        let timing = Timing { cold: self.cold, ..Timing::warm(rounds, 0.0, f64::MAX) };
        let outcomes = self.lab.measure(instance, 0, implementations, timing)?.outcomes;
        which.iter().zip(outcomes).try_for_each(|(at, outcome)| self.note(*at, point, outcome))
    }

    fn note(&mut self, at: usize, point: usize, outcome: Result<Sample, Failure>) -> Result<()> {
        let blocked = self.candidates[at].blocked.clone();
        let outcome = match outcome {
            Ok(sample) => {
                let gflops = sample.gflops(self.points[point].instance.flops);
                self.candidates[at].gflops[point] = Some(gflops);
                Outcome::Measured { threads: 0, gflops, rel_err: sample.rel_err, cold: self.cold }
            }
            Err(failure) => {
                self.candidates[at].failure = Some(failure.clone());
                (self.watch)(Event::Notice(format!("{} {failure}", blocked.name())));
                Outcome::Failed(failure)
            }
        };
        self.record(&blocked, Some(point), outcome)
    }

    fn record(&mut self, blocked: &Blocked, point: Option<usize>, outcome: Outcome) -> Result<()> {
        let Some((records, target)) = &mut self.records else { return Ok(()) };
        let shape = point.map(|point| {
            let names = self.def.shape_vars.iter().map(|var| var.name.clone());
            names.zip(self.points[point].instance.shape.iter().copied()).collect()
        });
        let source_hash = format!("{:016x}", self.def.source_hash());
        let workload = Workload { kernel: self.def.name.clone(), source_hash, shape };
        records.append(&Record::new(workload, (*target).clone(), blocked.clone().into(), outcome))
    }

    /// The highest median of an instance, in GFLOP/s.
    fn best(&self, point: usize) -> f64 {
        self.candidates.iter().map(|candidate| candidate.score(point)).fold(0.0, f64::max)
    }

    fn progress(&mut self, phase: Phase, done: usize, of: usize) {
        let points = 0..self.points.len();
        let best = points.clone().map(|point| self.best(point)).collect();
        let default = self.candidates.first();
        let default = default.map_or_else(Vec::new, |default| points.map(|point| default.score(point)).collect());
        (self.watch)(Event::Progress(Status {
            kernel: self.def.name.clone(),
            phase,
            round: 0,
            done,
            of: Some(of),
            known: 0,
            failures: BTreeMap::new(),
            best,
            default,
            roofline: None,
        }));
    }
}

impl CudaCandidate {
    /// Its median GFLOP/s on an instance; 0 if it was not measured there, or has failed.
    pub fn score(&self, point: usize) -> f64 {
        let alive = self.failure.is_none();
        self.gflops[point].filter(|_| alive).map_or(0.0, |gflops| gflops.median)
    }
}
