//! A place in a nest: which variables vary inside of it, and what values they take there.

use std::ops::Sub;

use crate::ir::{Expr, ForKind, Name};
use crate::lower::guard::Guard;
use crate::schedule::{Relation, Schedule};

/// The place of a tile: which variables vary inside of it. Those of the threads do, wherever their loops stand.
pub(super) struct Place<'a> {
    pub(super) schedule: &'a Schedule,
    /// How many loops stand around it.
    pub(super) depth: usize,
}

impl Place<'_> {
    fn is_inside(&self, name: &str) -> bool {
        if let Some(at) = self.schedule.loops.iter().position(|l| &*l.name == name) {
            return at >= self.depth || self.schedule.loops[at].kind == ForKind::ThreadIdx;
        }
        self.schedule.relations.iter().any(|relation| match relation {
            Relation::Fuse { fused, outer, inner, .. } => {
                [outer, inner].iter().any(|part| &***part == name) && self.is_inside(fused)
            }
            Relation::Split { outer, start, .. } => {
                start.as_ref().is_some_and(|start| **start == *name) && self.is_inside(outer)
            }
            Relation::Stream(stream) => stream.innermost(name).is_some_and(|inner| self.is_inside(inner)),
        })
    }

    /// How many values a variable takes inside.
    pub(super) fn extent_inside(&self, name: &str) -> Option<i64> {
        if self.schedule.dropped.iter().any(|dropped| **dropped == *name) {
            return Some(1);
        }
        // A clipped loop has a limit, but no constant extent: the last tile would be filled from outside of the tensor.
        if let Some(l) = self.schedule.loops.iter().find(|l| &*l.name == name) {
            return if self.is_inside(name) { l.extent.as_int() } else { Some(1) };
        }
        self.schedule.relations.iter().find_map(|relation| match relation {
            Relation::Split { parent, outer, inner, factor, .. } if &**parent == name => Some((|| {
                let (outer, inner) = (self.extent_inside(outer)?, self.extent_inside(inner)?);
                match factor.as_int() {
                    Some(factor) => (outer - 1).checked_mul(factor)?.checked_add(inner),
                    None => (outer == 1).then_some(inner),
                }
            })()),
            Relation::Fuse { outer, inner, limits, .. } => {
                let part = [outer, inner].iter().position(|part| &***part == name)?;
                Some(if self.is_inside(name) { limits[part].as_ref()?.as_int() } else { Some(1) })
            }
            Relation::Stream(stream) => stream.innermost(name).map(|inner| self.extent_inside(inner)),
            Relation::Split { .. } => None,
        })?
    }

    /// An expression where every variable that varies inside (or, if `inside`, outside) is 0.
    fn without(&self, e: &Expr, inside: bool) -> Expr {
        let gone = variables(e).into_iter().filter(|name| self.is_inside(name) == inside);
        gone.fold(e.clone(), |e, name| e.substitute(&name, &Expr::Int(0)))
    }

    pub(super) fn inside(&self, value: &Expr) -> Expr {
        self.without(value, false)
    }

    pub(super) fn outside(&self, value: &Expr) -> Expr {
        self.without(value, true)
    }

    /// The guards in terms of iteration variables, where they vary inside of the tile.
    pub(super) fn guards<'g>(&self, guards: impl Iterator<Item = &'g Guard>) -> Result<Vec<Guard>, String> {
        let own = |guard: &Guard| {
            let root = Expr::Var(guard.root.clone());
            if guard.value == self.schedule.unsplit(&root) {
                return Ok(Guard { value: root, ..guard.clone() });
            }
            if self.outside(&guard.value) == guard.value {
                return Ok(guard.clone());
            }
            Err(format!("`{} < {}` cuts through it; its inner splits must divide it", guard.value, guard.extent))
        };
        guards.map(own).collect()
    }

    /// Whether an expression has one value inside.
    pub(super) fn is_fixed(&self, e: &Expr) -> bool {
        !e.any(&mut |e| matches!(e, Expr::Var(name) if self.is_inside(name)))
    }

    /// An expression where every variable that varies inside has its last value; none where a last value varies itself.
    pub(super) fn last(&self, e: &Expr) -> Option<Expr> {
        let mut inside = variables(e).into_iter().filter(|name| self.is_inside(name));
        let last = inside.try_fold(e.clone(), |e, name| Some(e.substitute(&name, &self.last_of(&name)?)))?;
        self.is_fixed(&last).then_some(last)
    }

    fn last_of(&self, name: &Name) -> Option<Expr> {
        let schedule = self.schedule;
        if let Some(at) = schedule.loops.iter().position(|l| l.name == *name) {
            return Some(schedule.iterations(at).sub(Expr::Int(1)));
        }
        schedule.fused_extent(name).map(|extent| schedule.unsplit(extent).max(Expr::Int(1)).sub(Expr::Int(1)))
    }
}

/// The variables of an expression.
pub(super) fn variables(e: &Expr) -> Vec<Name> {
    let mut names = Vec::new();
    e.visit(&mut |e| match e {
        Expr::Var(name) if !names.contains(name) => names.push(name.clone()),
        _ => {}
    });
    names
}
