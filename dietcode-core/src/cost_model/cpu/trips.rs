//! How often loops run at a shape: in the mean, where a split leaves the last iteration less.

use std::collections::BTreeMap;

use super::leaf::Leaf;
use crate::cost_model::count;
use crate::cost_model::loops::taken;
use crate::ir::{BinaryOp, CompareOp, Expr, ForKind, Name, affine};
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

/// A statement, and how often the loops around it run.
type Around<'a> = (&'a Leaf, &'a [f64]);

/// Iterations of loops at a shape.
pub(super) struct Trips<'a> {
    of: BTreeMap<Name, f64>,
    /// Whether tiles at edges are others than inside.
    partitioned: bool,
    value: &'a dyn Fn(&str) -> f64,
}

impl<'a> Trips<'a> {
    /// `value` gives the shape variables.
    pub(super) fn of(schedule: &Schedule, value: &'a dyn Fn(&str) -> f64) -> Trips<'a> {
        let mut trips = Trips { of: BTreeMap::new(), partitioned: !schedule.partitions.is_empty(), value };
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

    /// The share of its iterations in which a statement is carried out.
    pub(super) fn share(&self, leaf: &Leaf) -> f64 {
        let trips = self.around(leaf);
        let mut edges: BTreeMap<Vec<(String, i64)>, Places> = BTreeMap::new();
        let mut others = 1.0;
        for (condition, holds) in &leaf.conditions {
            match self.places(condition, *holds, (leaf, &trips)) {
                Some((along, places)) => {
                    let known = edges.entry(along).or_insert(places);
                    (known.from, known.to) = (known.from.max(places.from), known.to.min(places.to));
                }
                None if *holds => others *= self.holds(condition, (leaf, &trips)),
                None => others *= 1.0 - self.holds(condition, (leaf, &trips)),
            }
        }
        edges.values().map(Places::share).product::<f64>() * others
    }

    /// The places at which a condition of one edge holds, or does not, if it is one.
    fn places(&self, condition: &Expr, holds: bool, (leaf, trips): Around<'_>) -> Option<(Vec<(String, i64)>, Places)> {
        let Expr::Compare(CompareOp::Lt, value, bound) = condition else { return None };
        if !self.partitioned {
            return None;
        }
        let form = affine(value)?;
        // The places count in steps of the innermost loop that moves along the edge.
        let (mut of, mut step) = (1.0, i64::MAX);
        for (name, moves) in &form.terms {
            let at = leaf.loops.iter().position(|l| *l.var == **name).filter(|_| *moves > 0)?;
            of *= trips[at];
            step = step.min(*moves);
        }
        if form.terms.is_empty() || of < 1.0 {
            return None;
        }
        let inside = ((self.evaluate(bound) - form.constant as f64) / step as f64).ceil().clamp(0.0, of);
        let (from, to) = if holds { (0.0, inside) } else { (inside, of) };
        Some((form.terms, Places { from, to, of }))
    }

    /// How often a condition holds. A loop is at one place of all, else everything is taken as in the first block.
    fn holds(&self, condition: &Expr, around: Around<'_>) -> f64 {
        if let Some((_, places)) = self.places(condition, true, around) {
            return places.share();
        }
        match condition {
            Expr::Binary(BinaryOp::And, a, b) => self.holds(a, around) * self.holds(b, around),
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
