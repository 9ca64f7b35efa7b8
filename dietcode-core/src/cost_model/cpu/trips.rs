//! How often loops run at a shape: in the mean, where a split leaves the last iteration less.

use std::collections::BTreeMap;

use super::leaf::{Condition, Edge, Leaf};
use crate::cost_model::count;
use crate::cost_model::loops::taken;
use crate::ir::{CompareOp, Expr, ForKind, Name};
use crate::schedule::{Relation, Schedule};

/// The places of a tile along an axis at which a statement is carried out, of all.
#[derive(Clone, Copy)]
struct Places {
    from: f64,
    to: f64,
    of: f64,
}

impl Places {
    fn share(&self) -> f64 {
        (self.to - self.from).max(0.0) / self.of
    }
}

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
            .map(|at| match leaf.loops[at].extent.as_int() {
                Some(extent) => extent as f64,
                None => known(at).unwrap_or_else(|| self.evaluate(&leaf.loops[at].extent)).max(0.0),
            })
            .collect()
    }

    /// The share of its iterations, so many of each loop around it, in which a statement is carried out.
    pub(super) fn share(&self, leaf: &Leaf, around: &[f64]) -> f64 {
        let mut edges: BTreeMap<&[(usize, i64)], Places> = BTreeMap::new();
        let mut others = 1.0;
        for (parts, holds) in &leaf.conditions {
            let edge = if let [Condition { edge: Some(edge), .. }] = &**parts { Some(edge) } else { None };
            match edge.and_then(|edge| Some((edge, self.places(edge, *holds, around)?))) {
                Some((edge, places)) => {
                    let known = edges.entry(&edge.moves).or_insert(places);
                    (known.from, known.to) = (known.from.max(places.from), known.to.min(places.to));
                }
                None => {
                    let all: f64 = parts.iter().map(|part| self.holds(part, around)).product();
                    others *= if *holds { all } else { 1.0 - all };
                }
            }
        }
        edges.values().map(Places::share).product::<f64>() * others
    }

    /// The places before an edge, or behind it; they count in steps of the innermost loop that moves along it.
    fn places(&self, edge: &Edge, before: bool, around: &[f64]) -> Option<Places> {
        let of: f64 = edge.moves.iter().map(|(at, _)| around[*at]).product();
        let step = edge.moves.iter().map(|(_, step)| *step).min()?;
        let inside = ((self.evaluate(&edge.bound) - edge.constant as f64) / step as f64).ceil().clamp(0.0, of.max(0.0));
        let (from, to) = if before { (0.0, inside) } else { (inside, of) };
        (of >= 1.0).then_some(Places { from, to, of })
    }

    /// How often a condition holds. A loop is at one place of all, else everything is taken as in the first block.
    fn holds(&self, condition: &Condition, around: &[f64]) -> f64 {
        if let Some(places) = condition.edge.as_ref().and_then(|edge| self.places(edge, true, around)) {
            return places.share();
        }
        if let Expr::Compare(CompareOp::Eq, a, b) = &condition.whole {
            let places =
                [a, b].into_iter().find_map(|at| if let Expr::Var(name) = &**at { self.of.get(name) } else { None });
            if let Some(places) = places {
                return 1.0 / places.max(1.0);
            }
        }
        self.evaluate(&condition.whole)
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
