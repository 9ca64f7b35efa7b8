//! A search in progress: the bench, the instances, the candidates so far, the records.

use std::collections::BTreeMap;

use super::database::{Outcome, Record, Target, Workload};
use super::{Budget, Candidate, Database, Found};
use crate::config::WklInst;
use crate::cost_model::Adaptation;
use crate::measure::{Failure, Implementation, Instance, Lab, Sample, Timing};
use crate::sketch::Tiled;
use crate::{Error, ErrorKind, Result};

/// A workload instance of the search.
#[derive(Clone, Debug, PartialEq)]
pub struct Point {
    /// The workload variables.
    pub wkl: WklInst,
    /// How much it counts.
    pub weight: f64,
    /// The kernel there.
    pub instance: Instance,
}

/// What a search is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Compiling and trying candidates.
    Screening,
    /// Measuring survivors on all instances.
    Measuring,
    /// Measuring the best of each instance against each other.
    Finals,
}

/// What a search tells whoever watches it.
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    /// It has come further.
    Progress {
        /// What it is doing.
        phase: Phase,
        /// How much of that is done.
        done: usize,
        /// Of how much.
        of: usize,
        /// The highest throughput seen on any instance at the first number of threads, in GFLOP/s.
        best: f64,
    },
    /// A sentence for people.
    Notice(String),
}

/// Everything that the phases work on.
pub struct Tuning<'a> {
    /// The bench.
    pub lab: &'a mut Lab,
    /// The instances.
    pub points: &'a [Point],
    /// The numbers of threads.
    pub threads: &'a [usize],
    /// How long.
    pub budget: Budget<'a>,
    /// Where everything that is measured goes.
    pub database: Database,
    /// Who watches.
    pub watch: &'a mut dyn FnMut(Event),
    /// What compiled so far.
    pub candidates: Vec<Candidate>,
}

impl Tuning<'_> {
    /// All candidates, the default first, then those that earlier records speak for, then the others in their order.
    pub(super) fn promising_first(&self, candidates: &[Tiled], default: &Tiled) -> Vec<Tiled> {
        let def = self.lab.def();
        let known = self.database.best(&def.name, &format!("{:016x}", def.source_hash()), &self.target());
        let mut order: Vec<Tiled> = candidates.iter().filter(|tiled| *tiled != default).cloned().collect();
        let rank = |tiled: &Tiled| known.get(&tiled.name()).copied().unwrap_or(0.0);
        // Sorting is stable: what is not on record stays as the seed shuffled it.
        order.sort_by(|a, b| rank(b).total_cmp(&rank(a)));
        order.insert(0, default.clone());
        order
    }

    /// How the instances fit a schedule: `[threads][instance]`.
    pub(super) fn adaptations(&self, tiled: &Tiled) -> Vec<Vec<Adaptation>> {
        let fit = |point: &Point, threads: usize| Adaptation::of(self.lab.def(), tiled, &point.instance.shape, threads);
        self.threads.iter().map(|threads| self.points.iter().map(|p| fit(p, *threads)).collect()).collect()
    }

    /// Measures candidates against each other on an instance (its position) at a number of threads (its position), notes
    /// and records what came of it.
    pub(super) fn measure(&mut self, which: &[usize], threads: usize, point: usize, timing: Timing) -> Result<()> {
        let instance = &self.points[point].instance;
        let implementation = |at: &usize| Implementation::MicroKernel(self.candidates[*at].unit.clone());
        let implementations = which.iter().map(implementation).collect();
        let measured = self.lab.measure(instance, implementations, self.threads[threads], timing)?;
        for (at, outcome) in which.iter().zip(measured.outcomes) {
            self.note(*at, threads, point, outcome)?;
        }
        Ok(())
    }

    fn note(&mut self, at: usize, threads: usize, point: usize, outcome: Result<Sample, Failure>) -> Result<()> {
        let Point { instance, .. } = &self.points[point];
        let outcome = match outcome {
            Ok(sample) => {
                let gflops = sample.gflops(instance.flops);
                self.candidates[at].gflops[threads][point] = Some(gflops.median);
                Outcome::Measured { threads: self.threads[threads], gflops, rel_err: sample.rel_err, cold: false }
            }
            Err(failure) => {
                self.candidates[at].failed = true;
                self.notice(format!("{} {failure}", self.candidates[at].unit.name));
                Outcome::Failed(failure)
            }
        };
        let names = self.lab.def().shape_vars.iter().map(|var| var.name.clone());
        let shape = names.zip(instance.shape.iter().copied()).collect();
        let tiled = self.candidates[at].tiled.clone();
        self.record(tiled, Some(shape), outcome)
    }

    /// Writes a record.
    pub(super) fn record(
        &mut self,
        schedule: Tiled,
        shape: Option<BTreeMap<String, i64>>,
        outcome: Outcome,
    ) -> Result<()> {
        let def = self.lab.def();
        let source_hash = format!("{:016x}", def.source_hash());
        let workload = Workload { kernel: def.name.clone(), source_hash, shape };
        let record = Record::new(workload, self.target(), schedule.into(), outcome);
        self.database.append(&record)
    }

    /// The highest measured GFLOP/s of an instance at a number of threads, both as positions.
    pub(super) fn best(&self, threads: usize, point: usize) -> f64 {
        let alive = self.candidates.iter().filter(|c| !c.failed);
        alive.filter_map(|c| c.gflops[threads][point]).fold(0.0, f64::max)
    }

    /// Tells how far a phase has come.
    pub(super) fn progress(&mut self, phase: Phase, done: usize, of: usize) {
        let best = (0..self.points.len()).map(|point| self.best(0, point)).fold(0.0, f64::max);
        (self.watch)(Event::Progress { phase, done, of, best });
    }

    /// Tells a sentence.
    pub(super) fn notice(&mut self, text: String) {
        (self.watch)(Event::Notice(text));
    }

    /// What was found; the default must be among it.
    pub(super) fn finish(&mut self, default: &Tiled) -> Result<Found> {
        let mut candidates = std::mem::take(&mut self.candidates);
        candidates.retain(|c| !c.failed);
        let default = candidates.iter().position(|c| c.tiled == *default).ok_or_else(|| {
            let name = &self.lab.def().name;
            Error::new(
                ErrorKind::Failed,
                match self.budget.is_stopped() {
                    true => format!("the search was stopped before anything of `{name}` was measured"),
                    false => format!("the default micro-kernel of `{name}` does not pass its checks"),
                },
            )
        })?;
        Ok(Found { candidates, default })
    }

    fn target(&self) -> Target {
        let target = self.lab.target();
        Target::Cpu { cpu: target.model.clone(), march: target.march.clone(), compiler: target.compiler.clone() }
    }
}
