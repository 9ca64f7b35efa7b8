//! A sketch with its limits.

use std::collections::BTreeMap;
use std::sync::Arc;

use rand::SeedableRng;
use rand::rngs::StdRng;

use super::size::pick;
use super::{threads, tiles};
use crate::ir::Name;
use crate::schedule::Trace;
use crate::sketch::Space;
use crate::sketch::footprint::{Assignment, Domain, Footprint, Var};
use crate::sketch::limits::{Bound, bounds};
use crate::{Error, Result};

/// A sketch that has a draw, and what bounds it.
pub(crate) struct Bounded {
    pub(crate) footprint: Footprint,
    bounds: Vec<Bound>,
    /// What the sketch itself decides, as a user's own may; the others have their least.
    start: PartialAssignment,
}

/// Values for all variables of a sketch, in the order of their declaration; the open ones have their least.
#[derive(Clone)]
pub(crate) struct PartialAssignment {
    pub(crate) values: Vec<i64>,
    pub(crate) decided: Vec<bool>,
}

impl PartialAssignment {
    /// Decides a variable.
    pub(crate) fn decide(&mut self, var: usize, value: i64) {
        (self.values[var], self.decided[var]) = (value, true);
    }
}

impl Bounded {
    /// Reads a sketch.
    ///
    /// # Errors
    /// One that does not replay, or has no draw on this target: which limit, what the least takes, what is allowed. Those of a
    /// user's own rule begin with it.
    pub(crate) fn of(space: &Space, sketch: &Trace) -> Result<Bounded> {
        Bounded::read(space, sketch).map_err(|e| match &space.rule {
            Some(rule) => Error::new(e.kind(), format!("{rule}: {e}")),
            None => e,
        })
    }

    fn read(space: &Space, sketch: &Trace) -> Result<Bounded> {
        let footprint = Footprint::of(&space.program, &space.bounds, sketch)?;
        let bounds = bounds(&space.bounds.target, space.program.computes_in());
        let values: Vec<i64> = footprint.vars.iter().map(|var| var.least()).collect();
        let start = PartialAssignment { decided: vec![false; values.len()], values };
        let mut bounded = Bounded { footprint, bounds, start };
        let broken = bounded.broken(&bounded.start.values);
        if let Some(why) = broken.filter(|_| !bounded.has_threads_for(&bounded.start)) {
            let sketch = &bounded.footprint.sketch;
            return Err(Error::input(format!(
                "a sketch of `{}` has no schedule here: {why}\n{sketch}",
                space.def.name
            )));
        }
        if let Some(own) = space.sketches.iter().find(|own| bounded.is_of(own)) {
            bounded.start = bounded.decided(bounded.start.clone(), &own.decisions)?;
        }
        Ok(bounded)
    }

    /// Whether a trace has this sketch's instructions.
    pub(crate) fn is_of(&self, trace: &Trace) -> bool {
        let own = &self.footprint.sketch.instructions;
        Arc::ptr_eq(own, &trace.instructions) || *own == trace.instructions
    }

    /// Whether the sketch itself decides a variable.
    pub(crate) fn is_fixed(&self, var: usize) -> bool {
        self.start.decided[var]
    }

    /// Whether values keep all limits.
    pub(crate) fn holds(&self, values: &[i64]) -> bool {
        let assignment = Assignment::new(&self.footprint, values);
        self.bounds.iter().all(|bound| (bound.of)(&assignment) <= bound.allowed)
    }

    /// Whether all limits are kept if a variable gets a value.
    pub(crate) fn holds_with(&self, assignment: &mut PartialAssignment, var: usize, value: i64) -> bool {
        let before = std::mem::replace(&mut assignment.values[var], value);
        let holds = self.holds(&assignment.values);
        assignment.values[var] = before;
        holds
    }

    /// The first limit that values break: its name, what they take, what is allowed.
    pub(crate) fn broken(&self, values: &[i64]) -> Option<String> {
        let assignment = Assignment::new(&self.footprint, values);
        self.bounds.iter().find_map(|bound| bound.limit.over((bound.of)(&assignment), bound.allowed))
    }

    /// The trace with the least of all decisions that the sketch leaves open.
    #[cfg(test)]
    pub(crate) fn least(&self) -> Trace {
        self.trace(&self.start.values)
    }

    /// A trace of these values.
    pub(crate) fn trace(&self, values: &[i64]) -> Trace {
        let names = self.footprint.vars.iter().map(|var| var.name.clone());
        self.footprint.sketch.with(names.zip(values.iter().copied()).collect())
    }

    /// The values of a trace of this sketch; none: some are open, or no values of their variables.
    pub(crate) fn values(&self, trace: &Trace) -> Option<Vec<i64>> {
        let value = |var: &Var| trace.decisions.get(&var.name).copied().filter(|v| var.admits(*v));
        self.footprint.vars.iter().map(value).collect()
    }

    /// All decisions drawn.
    pub(crate) fn sample(&self, rng: &mut StdRng) -> Trace {
        self.draw(self.start.clone(), rng)
    }

    /// The open decisions drawn.
    ///
    /// # Errors
    /// As [`Space::complete`].
    pub(crate) fn complete(&self, decisions: &BTreeMap<Name, i64>, rng: &mut StdRng) -> Result<Trace> {
        Ok(self.draw(self.decided(self.start.clone(), decisions)?, rng))
    }

    /// Decides variables by name.
    fn decided(&self, start: PartialAssignment, decisions: &BTreeMap<Name, i64>) -> Result<PartialAssignment> {
        let unknown = decisions.keys().find(|name| !self.footprint.vars.iter().any(|var| var.name == **name));
        if let Some(name) = unknown {
            return Err(Error::input(format!("the trace decides `{name}`, which it does not sample")));
        }
        let mut assignment = start;
        let mut broken = None;
        for (at, var) in self.footprint.vars.iter().enumerate() {
            let Some(&value) = decisions.get(&var.name) else { continue };
            if !var.admits(value) {
                return Err(Error::input(format!("`{}` is {value}, expected {}", var.name, var.expected())));
            }
            assignment.decide(at, value);
            let why = || self.broken(&assignment.values).map(|why| (&var.name, value, why));
            broken = broken.or_else(why);
        }
        match broken.filter(|_| !self.holds(&assignment.values) && !self.has_threads_for(&assignment)) {
            Some((name, value, why)) => Err(Error::input(format!("`{name}` = {value} has no schedule here: {why}"))),
            None => Ok(assignment),
        }
    }

    /// Whether values that break a limit keep all with more threads.
    fn has_threads_for(&self, assignment: &PartialAssignment) -> bool {
        let mut trial = assignment.clone();
        self.draw_threads(&mut trial, &mut StdRng::seed_from_u64(0));
        self.holds(&trial.values)
    }

    fn draw_threads(&self, assignment: &mut PartialAssignment, rng: &mut StdRng) {
        threads::draw(self, assignment, &vec![false; self.footprint.axes.len()], rng);
    }

    /// Choices of structure first, since they say how much tiles may take.
    fn draw(&self, mut assignment: PartialAssignment, rng: &mut StdRng) -> Trace {
        if !self.holds(&assignment.values) {
            self.draw_threads(&mut assignment, rng);
        }
        for (at, var) in self.footprint.vars.iter().enumerate().filter(|(_, var)| var.level().is_none()) {
            if assignment.decided[at] {
                continue;
            }
            let (values, weights): (Vec<i64>, Vec<f64>) = match &var.domain {
                Domain::Number { candidates, weights } => (candidates.clone(), weights.clone()),
                Domain::Place { count } => ((0..*count as i64).collect(), vec![1.0; *count]),
                Domain::Factor { .. } => continue,
            };
            let possible = |(value, weight): (&i64, f64)| {
                if self.holds_with(&mut assignment, at, *value) { weight } else { 0.0 }
            };
            let weights: Vec<f64> = values.iter().zip(weights).map(possible).collect();
            let value = pick(&weights, rng).map_or(var.least(), |n| values[n]);
            assignment.decide(at, value);
        }
        tiles::draw(self, &mut assignment, rng);
        self.trace(&assignment.values)
    }
}
