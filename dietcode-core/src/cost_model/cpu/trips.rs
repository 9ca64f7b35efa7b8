//! How often loops run at a shape: in the mean, where a split leaves the last iteration less.

use std::collections::BTreeMap;

use super::leaf::Leaf;
use crate::cost_model::count;
use crate::cost_model::loops::taken;
use crate::ir::{BinaryOp, CompareOp, Expr, ForKind, Name};
use crate::schedule::{Relation, Schedule};

/// Iterations of loops at a shape.
pub(super) struct Trips<'a> {
    of: BTreeMap<Name, f64>,
    value: &'a dyn Fn(&str) -> f64,
}

impl<'a> Trips<'a> {
    /// `value` gives the shape variables.
    pub(super) fn of(schedule: &Schedule, value: &'a dyn Fn(&str) -> f64) -> Trips<'a> {
        let mut trips = Trips { of: BTreeMap::new(), value };
        for iter in &schedule.block.iters {
            let extent = trips.evaluate(&taken(&iter.extent, schedule)).max(1.0);
            trips.of.insert(iter.name.clone(), extent);
        }
        for relation in &schedule.relations {
            match relation {
                Relation::Split { parent, outer, inner, factor, guard, .. } => {
                    let (extent, factor) = (trips.named(parent), trips.evaluate(factor));
                    let tiles = (extent / factor).ceil().max(1.0);
                    trips.of.insert(outer.clone(), tiles);
                    trips.of.insert(inner.clone(), if *guard { factor } else { extent / tiles });
                }
                Relation::Fuse { fused, outer, inner, .. } => {
                    let both = trips.named(outer) * trips.named(inner);
                    trips.of.insert(fused.clone(), both);
                }
            }
        }
        trips
    }

    /// Of the loops around a statement.
    pub(super) fn around(&self, leaf: &Leaf) -> Vec<f64> {
        let known = |at: usize| self.of.get(&leaf.loops[at].var).copied();
        (0..leaf.loops.len())
            .map(|at| known(at).unwrap_or_else(|| self.evaluate(&leaf.loops[at].extent)).max(0.0))
            .collect()
    }

    /// The share of its iterations in which a statement is carried out.
    pub(super) fn share(&self, leaf: &Leaf) -> f64 {
        let part = |(condition, holds): &(Expr, bool)| {
            let share = self.holds(condition);
            if *holds { share } else { 1.0 - share }
        };
        leaf.conditions.iter().map(part).product()
    }

    /// How often a condition holds. A loop is at one place of all, else everything is taken as in the first block.
    fn holds(&self, condition: &Expr) -> f64 {
        match condition {
            Expr::Binary(BinaryOp::And, a, b) => self.holds(a) * self.holds(b),
            Expr::Compare(CompareOp::Eq, at, _) | Expr::Compare(CompareOp::Eq, _, at) if matches!(&**at, Expr::Var(name) if self.of.contains_key(name)) =>
            {
                let Expr::Var(name) = &**at else { return 1.0 };
                1.0 / self.named(name).max(1.0)
            }
            condition => self.evaluate(condition),
        }
    }

    fn named(&self, name: &Name) -> f64 {
        self.of.get(name).copied().unwrap_or(1.0)
    }

    fn evaluate(&self, e: &Expr) -> f64 {
        count(e, &|name| (self.value)(name))
    }
}

/// Whether a loop is unrolled or carried out at once.
pub(super) fn in_place(kind: ForKind) -> bool {
    matches!(kind, ForKind::Unrolled | ForKind::Vectorized)
}
