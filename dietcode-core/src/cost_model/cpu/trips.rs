//! How often loops run at a shape: in the mean, where a split leaves the last iteration less.

use std::collections::BTreeMap;

use super::leaf::{Condition, Edge, Leaf, Leaves};
use crate::cost_model::count;
use crate::ir::{Expr, ForKind, Name};
use crate::schedule::{Relation, Schedule};

/// Where a condition holds.
enum Held {
    /// At so many of the places along an axis, before an edge; they count in steps of the innermost loop that moves along it.
    Before { axis: usize, inside: f64, of: f64 },
    /// In this share of all iterations.
    Share(f64),
}

/// The places of a tile along an axis at which a statement is carried out, of all.
struct Places {
    axis: usize,
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
    /// The shares of all iterations in which [`Leaves::under`] hold.
    shares: Vec<f64>,
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
                Relation::Stream(_) => unreachable!("only blocks of a GPU have shares of steps"),
            }
        }
        let iterations = |(var, extent): &(Name, Expr)| match extent.as_int() {
            Some(extent) => extent as f64,
            None => of.get(var).copied().unwrap_or_else(|| evaluate(extent)).max(0.0),
        };
        let loops: Vec<f64> = leaves.loops.iter().map(iterations).collect();
        let values: Vec<f64> = leaves.values.iter().map(evaluate).collect();
        let at = Shape { leaves, of: &of, loops: &loops, values: &values };
        let held: Vec<Held> = leaves.conditions.iter().map(|parts| at.held(parts)).collect();
        let shares = leaves.under.iter().map(|conditions| together(conditions, &held)).collect();
        Trips { of, loops, shares }
    }

    /// Iterations of some loops of the schedule together.
    pub(super) fn product<'n>(&self, loops: impl Iterator<Item = &'n Name>) -> f64 {
        loops.filter_map(|name| self.of.get(name)).product()
    }

    /// Of the loops around a statement.
    pub(super) fn around(&self, leaf: &Leaf) -> Vec<f64> {
        leaf.loops.iter().map(|around| self.loops[around.place]).collect()
    }

    /// The share of its iterations in which a statement is carried out.
    pub(super) fn share(&self, leaf: &Leaf) -> f64 {
        self.shares[leaf.under]
    }
}

/// The share of all iterations in which conditions hold, each or its opposite, of which it is known where they are `held`.
fn together(conditions: &[(usize, bool)], held: &[Held]) -> f64 {
    let mut along: Vec<Places> = Vec::new();
    let mut others = 1.0;
    for (condition, holds) in conditions {
        let share = match held[*condition] {
            Held::Share(all) => {
                let share = if *holds { all } else { 1.0 - all };
                others *= share;
                share
            }
            Held::Before { axis, inside, of } => {
                let (from, to) = if *holds { (0.0, inside) } else { (inside, of) };
                match along.iter_mut().find(|places| places.axis == axis) {
                    Some(known) => {
                        (known.from, known.to) = (known.from.max(from), known.to.min(to));
                        known.share()
                    }
                    None => {
                        along.push(Places { axis, from, to, of });
                        to - from
                    }
                }
            }
        };
        // Most tiles at edges are carried out at few shapes.
        if share <= 0.0 {
            return 0.0;
        }
    }
    along.iter().map(Places::share).product::<f64>() * others
}

/// What conditions are evaluated with.
struct Shape<'a> {
    leaves: &'a Leaves,
    of: &'a BTreeMap<Name, f64>,
    loops: &'a [f64],
    /// What [`Leaves::values`] come to.
    values: &'a [f64],
}

impl Shape<'_> {
    fn held(&self, parts: &[Condition]) -> Held {
        if let [Condition { edge: Some(edge), .. }] = parts
            && let Some((inside, of)) = self.before(edge)
        {
            return Held::Before { axis: edge.axis, inside, of };
        }
        Held::Share(parts.iter().map(|part| self.share(part)).product())
    }

    /// The places before an edge, and all of them; none: there is no whole one.
    fn before(&self, edge: &Edge) -> Option<(f64, f64)> {
        let moves = &self.leaves.axes[edge.axis];
        let of: f64 = moves.iter().map(|(place, _)| self.loops[*place]).product();
        let step = moves.iter().map(|(_, step)| *step).min()?;
        let inside = ((self.values[edge.bound] - edge.constant as f64) / step as f64).ceil().clamp(0.0, of.max(0.0));
        (of >= 1.0).then_some((inside, of))
    }

    /// How often a condition holds. A loop is at one place of all, else everything is taken as in the first block.
    fn share(&self, condition: &Condition) -> f64 {
        if let Some((inside, of)) = condition.edge.as_ref().and_then(|edge| self.before(edge)) {
            return inside / of;
        }
        let one_of = condition.one_of.iter().flatten().find_map(|name| self.of.get(name));
        one_of.map_or(self.values[condition.whole], |places| 1.0 / places.max(1.0))
    }
}

/// Whether a loop is unrolled or carried out at once.
pub(super) fn in_place(kind: ForKind) -> bool {
    matches!(kind, ForKind::Unrolled | ForKind::Vectorized)
}
