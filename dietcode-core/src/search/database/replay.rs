//! Answers a run that is continued with what is on record of its beginning.
//!
//! A search whose proposals depend on its seed and on what was measured, and on nothing else, takes the same way again if each
//! measurement gives what it gave before. So a run is continued by starting it anew, and asking here before measuring:
//!
//! ```text
//! measure(name, shape, threads) ── Replay::take ──► on record: this outcome, and nothing is measured
//!                                               └─► else: the run had not come so far, or another way; go on measuring
//! ```

use std::collections::{BTreeMap, HashMap};

use super::record::{Outcome, Record, Shape};
use crate::paired::Verdict;

/// A micro-kernel at a shape; without one: compiling it.
type Asked = (String, Option<Shape>);

/// A challenger, who it challenged, and at which shapes.
type Duel = (String, String, Vec<Shape>);

/// GFLOP/s by names; none: it failed.
type Reached = BTreeMap<String, Option<f64>>;

/// The outcomes of a run that were not replayed yet.
#[derive(Clone, Debug, Default, PartialEq)]
pub(in crate::search) struct Replay {
    /// By their positions among the records of the run.
    left: HashMap<Asked, BTreeMap<usize, Outcome>>,
    /// Who challenged whom, and where.
    verdicts: HashMap<Duel, Verdict>,
    /// What some reached by turns at other shapes than the instances, in their order, and whether that is unknown.
    turns: BTreeMap<Shape, Vec<(Reached, bool)>>,
}

impl Replay {
    /// Of the records of one run, in their order.
    pub(in crate::search) fn of<'a>(records: impl IntoIterator<Item = &'a Record>) -> Replay {
        let mut replay = Replay::default();
        for (at, record) in records.into_iter().enumerate() {
            match &record.outcome {
                Outcome::Verdict { .. } => replay.decide(&record.name, &record.outcome),
                Outcome::Turns { gflops, .. } if gflops.values().flatten().any(|gflops| *gflops <= 0.0) => {}
                Outcome::Turns { gflops, unknown } => {
                    let Some(shape) = record.workload.shape.clone() else { continue };
                    replay.turns.entry(shape).or_default().push((gflops.clone(), *unknown));
                }
                Outcome::Measured { .. } if record.timed().is_none() => {}
                Outcome::Failed(_) if record.failure().is_none() => {}
                outcome => {
                    let asked = (record.name.clone(), record.workload.shape.clone());
                    replay.left.entry(asked).or_default().insert(at, outcome.clone());
                }
            }
        }
        replay
    }

    /// Notes what came of one that challenged another, if that is what an outcome is: it stands for the rest of the run.
    pub(in crate::search) fn decide(&mut self, name: &str, outcome: &Outcome) {
        if let Outcome::Verdict { against, shapes, verdict, .. } = outcome {
            self.verdicts.insert((name.to_owned(), against.clone(), shapes.clone()), *verdict);
        }
    }

    /// The verdict on record of one that challenged another at some shapes.
    pub(in crate::search) fn verdict(&self, name: &str, against: &str, shapes: &[Shape]) -> Option<Verdict> {
        self.verdicts.get(&(name.to_owned(), against.to_owned(), shapes.to_vec())).copied()
    }

    /// What these reached by turns at a shape, and whether that is unknown, if it is on record of all of them. What was measured more than
    /// once is given in that order, each once.
    pub(in crate::search) fn take_turns(&mut self, names: &[String], shape: &Shape) -> Option<(Reached, bool)> {
        let left = self.turns.get_mut(shape)?;
        let knows = |(reached, _): &(Reached, bool)| names.iter().all(|name| reached.contains_key(name));
        let at = left.iter().position(knows)?;
        Some(left.remove(at))
    }

    /// The outcome on record of a micro-kernel at a shape and a number of threads. What was measured more than once is given in that
    /// order, each once.
    ///
    /// A failure has no number of threads, but is the last outcome of a micro-kernel. That a run was stopped is no answer.
    pub(in crate::search) fn take(&mut self, name: &str, shape: Option<&Shape>, threads: usize) -> Option<Outcome> {
        self.take_first(name, shape, |found| answers(found, threads))
    }

    /// Whether the outcome of a micro-kernel at a shape and a number of threads is on record and was not given yet.
    pub(in crate::search) fn has(&self, name: &str, shape: &Shape, threads: usize) -> bool {
        let left = self.left.get(&(name.to_owned(), Some(shape.clone())));
        left.is_some_and(|left| left.values().any(|found| answers(found, threads)))
    }

    /// How a micro-kernel failed at a shape, or without one when it was compiled, if that is on record.
    pub(in crate::search) fn take_failure(&mut self, name: &str, shape: Option<&Shape>) -> Option<Outcome> {
        self.take_first(name, shape, |found| matches!(found, Outcome::Failed(_)))
    }

    fn take_first(
        &mut self,
        name: &str,
        shape: Option<&Shape>,
        is_wanted: impl Fn(&Outcome) -> bool,
    ) -> Option<Outcome> {
        let left = self.left.get_mut(&(name.to_owned(), shape.cloned()))?;
        let at = *left.iter().find(|(_, found)| is_wanted(found))?.0;
        left.remove(&at)
    }
}

fn answers(outcome: &Outcome, asked: usize) -> bool {
    match outcome {
        Outcome::Measured { threads, .. } | Outcome::Unknown { threads, .. } => *threads == asked,
        Outcome::Failed(_) => true,
        Outcome::Verdict { .. } | Outcome::Turns { .. } => false,
    }
}
