//! How often loops run at a shape: in the mean, where a split leaves the last iteration less.

use std::collections::BTreeMap;

use super::leaf::{Condition, Edge, Leaf, Leaves};
use crate::cost_model::count;
use crate::ir::{Expr, ForKind, Name};
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

/// What loops and conditions come to at a shape.
pub(super) struct Trips {
    /// Iterations of the schedule's loops, and of those that they were made of.
    of: BTreeMap<Name, f64>,
    /// Iterations of [`Leaves::loops`].
    loops: Vec<f64>,
    /// What [`Leaves::values`] come to.
    values: Vec<f64>,
}

impl Trips {
    /// `value` gives the shape variables.
    pub(super) fn of(schedule: &Schedule, leaves: &Leaves, value: &impl Fn(&str) -> f64) -> Trips {
        let evaluate = |e: &Expr| count(e, value);
        let extents = schedule.block.iters.iter().zip(&leaves.extents);
        let mut of: BTreeMap<Name, f64> =
            extents.map(|(iter, extent)| (iter.name.clone(), evaluate(extent).max(1.0))).collect();
        for relation in &schedule.relations {
            let named = |name: &Name| of.get(name).copied().unwrap_or(1.0);
            match relation {
                Relation::Split { parent, outer, inner, factor, guard, .. } => {
                    let (extent, factor) = (named(parent), evaluate(factor));
                    let tiles = (extent / factor).ceil().max(1.0);
                    of.insert(outer.clone(), tiles);
                    of.insert(inner.clone(), if *guard { factor } else { extent / tiles });
                }
                Relation::Fuse { fused, outer, inner, .. } => {
                    let both = named(outer) * named(inner);
                    of.insert(fused.clone(), both);
                }
            }
        }
        let iterations = |(var, extent): &(Name, Expr)| match extent.as_int() {
            Some(extent) => extent as f64,
            None => of.get(var).copied().unwrap_or_else(|| evaluate(extent)).max(0.0),
        };
        let loops = leaves.loops.iter().map(iterations).collect();
        Trips { loops, values: leaves.values.iter().map(evaluate).collect(), of }
    }

    /// Iterations of some loops of the schedule together.
    pub(super) fn product<'n>(&self, loops: impl Iterator<Item = &'n Name>) -> f64 {
        loops.filter_map(|name| self.of.get(name)).product()
    }

    /// Of the loops around a statement.
    pub(super) fn around(&self, leaf: &Leaf) -> Vec<f64> {
        leaf.loops.iter().map(|around| self.loops[around.place]).collect()
    }

    /// The share of its iterations, so many of each loop around it, in which a statement is carried out.
    pub(super) fn share(&self, leaf: &Leaf, around: &[f64]) -> f64 {
        let mut edges: Vec<(&[(usize, i64)], Places)> = Vec::new();
        let mut others = 1.0;
        for (parts, holds) in &leaf.conditions {
            let edge = if let [Condition { edge: Some(edge), .. }] = &**parts { Some(edge) } else { None };
            match edge.and_then(|edge| Some((edge, self.places(edge, *holds, around)?))) {
                Some((edge, places)) => match edges.iter_mut().find(|(moves, _)| *moves == edge.moves) {
                    Some((_, known)) => {
                        (known.from, known.to) = (known.from.max(places.from), known.to.min(places.to));
                    }
                    None => edges.push((&edge.moves, places)),
                },
                None => {
                    let all: f64 = parts.iter().map(|part| self.holds(part, around)).product();
                    others *= if *holds { all } else { 1.0 - all };
                }
            }
        }
        edges.iter().map(|(_, places)| places.share()).product::<f64>() * others
    }

    /// The places before an edge, or behind it; they count in steps of the innermost loop that moves along it.
    fn places(&self, edge: &Edge, before: bool, around: &[f64]) -> Option<Places> {
        let of: f64 = edge.moves.iter().map(|(at, _)| around[*at]).product();
        let step = edge.moves.iter().map(|(_, step)| *step).min()?;
        let inside = ((self.values[edge.bound] - edge.constant as f64) / step as f64).ceil().clamp(0.0, of.max(0.0));
        let (from, to) = if before { (0.0, inside) } else { (inside, of) };
        (of >= 1.0).then_some(Places { from, to, of })
    }

    /// How often a condition holds. A loop is at one place of all, else everything is taken as in the first block.
    fn holds(&self, condition: &Condition, around: &[f64]) -> f64 {
        if let Some(places) = condition.edge.as_ref().and_then(|edge| self.places(edge, true, around)) {
            return places.share();
        }
        let one_of = condition.one_of.iter().flatten().find_map(|name| self.of.get(name));
        one_of.map_or(self.values[condition.whole], |places| 1.0 / places.max(1.0))
    }
}

/// Whether a loop is unrolled or carried out at once.
pub(super) fn in_place(kind: ForKind) -> bool {
    matches!(kind, ForKind::Unrolled | ForKind::Vectorized)
}
