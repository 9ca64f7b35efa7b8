//! The candidates on record, as the space of a simulation.

use std::collections::HashMap;

use dietcode_syntax::KernelDef;

use crate::machine::Target;
use crate::measure::{Failure, Instance, SimulatedDevice};
use crate::schedule::Trace;
use crate::search::{Record, Shape, Structure};
use crate::{Error, Result};

/// What counts: a workload instance at a number of threads.
#[derive(Clone, Debug, PartialEq)]
pub struct Goal {
    /// The shape variables.
    pub shape: Shape,
    /// The number of threads; 0 on a GPU.
    pub threads: usize,
    /// How much it counts.
    pub weight: f64,
}

impl Goal {
    /// The instance of a kernel.
    ///
    /// # Errors
    /// A shape that is none of the kernel.
    pub(super) fn instance(&self, def: &KernelDef) -> Result<Instance> {
        let value = |var: &str| {
            let missing =
                || Error::input(format!("found shape {:?} on record, expected a value of `{var}`", self.shape));
            self.shape.get(var).copied().ok_or_else(missing)
        };
        let shape: Vec<i64> = def.shape_vars.iter().map(|var| value(&var.name)).collect::<Result<_>>()?;
        Instance::of(def, &shape)
    }
}

/// A candidate with its figures.
#[derive(Clone, Debug, PartialEq)]
pub struct Recorded {
    /// Its name.
    pub name: String,
    /// Its trace.
    pub trace: Trace,
    /// Its structure, if that is on record.
    pub structure: Option<Structure>,
    /// GFLOP/s at each goal, where it was measured: the last measurement. None at all if it has failed anywhere.
    pub gflops: Vec<Option<f64>>,
}

/// All candidates on record that are traces, in the order of their first records.
#[derive(Clone, Debug, PartialEq)]
pub struct Pool {
    /// What counts.
    pub goals: Vec<Goal>,
    /// The candidates.
    pub candidates: Vec<Recorded>,
    /// Where every search begins: at the figures of the micro-kernel that runs where nothing was tuned, or else at the lowest on
    /// record.
    pub start: Vec<f64>,
}

impl Pool {
    /// Of the records of one kernel on one target. Instances are shapes with their weights; those without a measurement do
    /// not count.
    ///
    /// # Errors
    /// If no trace was measured at any instance.
    pub fn of(records: &[&Record], instances: &[(Shape, f64)]) -> Result<Pool> {
        let goals = goals(records, instances);
        let positions = goals.iter().enumerate().map(|(at, goal)| ((&goal.shape, goal.threads), at)).collect();
        let candidates = candidates(records, &positions);
        let start = (0..goals.len()).map(|goal| start(records, &positions, goal)).collect();
        match candidates.iter().any(|candidate| candidate.gflops.iter().any(Option::is_some)) {
            true => Ok(Pool { candidates, start, goals }),
            false => Err(Error::input(
                "found no measured traces at the config's instances, expected the records of a search of the whole space: \
                 make some by `dietcode tune CONFIG --strategy random`",
            )),
        }
    }

    /// A device on which each candidate has its figures; where it has none, they are unknown.
    ///
    /// # Errors
    /// A shape on record that is none of the kernel.
    pub fn device(&self, def: &KernelDef, target: Target) -> Result<SimulatedDevice> {
        let mut seconds = HashMap::new();
        for (at, goal) in self.goals.iter().enumerate() {
            let instance = goal.instance(def)?;
            for candidate in &self.candidates {
                let Some(gflops) = candidate.gflops[at] else { continue };
                let key = (candidate.name.clone(), instance.shape.clone(), goal.threads);
                seconds.insert(key, instance.flops / gflops / 1e9);
            }
        }
        let recorded = move |name: &str, instance: &Instance, threads| {
            let seconds = seconds.get(&(name.to_owned(), instance.shape.clone(), threads));
            seconds.copied().ok_or(Failure::Unknown { clean: 0, asked: 1 })
        };
        Ok(SimulatedDevice::new(def.clone(), target, Box::new(recorded)))
    }

    /// The weighted geometric mean of figures, one for each goal.
    pub fn mean(&self, figures: &[f64]) -> f64 {
        let weights: f64 = self.goals.iter().map(|goal| goal.weight).sum();
        let logs: f64 = self.goals.iter().zip(figures).map(|(goal, figure)| goal.weight * figure.ln()).sum();
        (logs / weights).exp()
    }

    /// The same of the best on record: what every strategy comes to, given as many trials as there are candidates.
    pub fn best(&self) -> f64 {
        let best = |(goal, start): (usize, &f64)| {
            self.candidates.iter().filter_map(|candidate| candidate.gflops[goal]).fold(*start, f64::max)
        };
        self.mean(&self.start.iter().enumerate().map(best).collect::<Vec<_>>())
    }
}

/// The position of a goal.
type Positions<'a> = HashMap<(&'a Shape, usize), usize>;

fn goals(records: &[&Record], instances: &[(Shape, f64)]) -> Vec<Goal> {
    let mut threads: Vec<usize> = records.iter().filter_map(|record| Some(record.timed()?.0)).collect();
    threads.sort_unstable();
    threads.dedup();
    let measured = |shape: &Shape, threads: usize| {
        let at = |record: &&Record| record.workload.shape.as_ref() == Some(shape);
        records.iter().copied().filter(at).any(|record| record.timed().is_some_and(|(found, _)| found == threads))
    };
    let of = |(shape, weight): &(Shape, f64)| {
        let at = threads.iter().filter(|threads| measured(shape, **threads));
        at.map(|threads| Goal { shape: shape.clone(), threads: *threads, weight: *weight }).collect::<Vec<_>>()
    };
    // Different workload instances may have one shape: it counts for all of them.
    let mut distinct: Vec<(Shape, f64)> = Vec::new();
    for (shape, weight) in instances.iter().filter(|(_, weight)| *weight > 0.0) {
        match distinct.iter_mut().find(|(known, _)| known == shape) {
            Some((_, sum)) => *sum += weight,
            None => distinct.push((shape.clone(), *weight)),
        }
    }
    distinct.iter().flat_map(of).collect()
}

/// The goal of a record and its figure.
fn seen(record: &Record, positions: &Positions<'_>) -> Option<(usize, f64)> {
    let (threads, figure) = record.timed()?;
    Some((*positions.get(&(record.workload.shape.as_ref()?, threads))?, figure))
}

fn candidates(records: &[&Record], positions: &Positions<'_>) -> Vec<Recorded> {
    let mut places: HashMap<&str, usize> = HashMap::new();
    let mut failed = Vec::new();
    let mut candidates: Vec<Recorded> = Vec::new();
    for record in records {
        if !record.schedule.is_trace() {
            continue;
        }
        let place = *places.entry(&record.name).or_insert_with(|| {
            let (name, trace, structure) =
                (record.name.clone(), record.schedule.trace.before_postproc(), record.structure);
            candidates.push(Recorded { name, trace, structure, gflops: vec![None; positions.len()] });
            candidates.len() - 1
        });
        if let Some((goal, figure)) = seen(record, positions) {
            candidates[place].gflops[goal] = Some(figure);
        }
        if record.failure().is_some() {
            failed.push(place);
        }
    }
    failed.into_iter().for_each(|place| candidates[place].gflops.fill(None));
    candidates
}

fn start(records: &[&Record], positions: &Positions<'_>, goal: usize) -> f64 {
    let figure =
        |record: &&Record| seen(record, positions).filter(|(found, _)| *found == goal).map(|(_, figure)| figure);
    let is_default = |record: &&&Record| {
        let drawn = record.schedule.is_drawn();
        record.trial == 0 && !record.run.is_empty() && !drawn
    };
    let default = records.iter().filter(is_default).filter_map(figure).next_back();
    default.unwrap_or_else(|| records.iter().filter_map(figure).fold(f64::INFINITY, f64::min))
}
