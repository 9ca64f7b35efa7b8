//! The predicates that a schedule's ragged ends need.

use std::borrow::Borrow;
use std::ops::Sub;

use dietcode_syntax::Role;

use crate::ir::{Expr, IterVar, Name};
use crate::schedule::{Relation, Schedule};

/// `value < extent`: holds where a loop has not run over the edge.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Guard {
    pub(super) value: Expr,
    pub(super) extent: Expr,
    /// The block's iteration variable whose edge it is.
    pub(super) root: Name,
    pub(super) role: Role,
}

impl Guard {
    pub(super) fn condition(&self) -> Expr {
        self.value.clone().lt(self.extent.clone())
    }
}

/// The guards of a schedule: one for each padded split that hangs over, and one for each reduction that may be empty
/// although all of its loops run at least once.
pub(super) fn of(schedule: &Schedule) -> Vec<Guard> {
    let role = |root: &Name| schedule.block.iters.iter().find(|iter| iter.name == *root).map(|iter| iter.role);
    let guard = |value: &Name, extent: &Expr| {
        let root = schedule.roots(value).swap_remove(0);
        let value = schedule.unsplit(&Expr::Var(value.clone()));
        Guard { value, extent: schedule.unsplit(extent), role: role(&root).unwrap_or(Role::Spatial), root }
    };
    let splits = schedule.relations.iter().filter_map(|relation| match relation {
        Relation::Split { parent, extent, guard: true, .. } => Some(guard(parent, extent)),
        _ => None,
    });
    // Whether an extent is 0 where that of an iteration variable is: it is made of it.
    let follows = |iter: &IterVar, extent: &Expr| {
        let extent = schedule.unsplit(extent);
        !iter.extent.any(&mut |e| matches!(e, Expr::Var(name) if !extent.uses(name)))
    };
    // A padded split's own guard fails wherever there is nothing to sum, unless its loop runs a constant number of times.
    let is_reached = |iter: &IterVar| {
        schedule.relations.iter().any(|relation| match relation {
            Relation::Split { parent, extent, guard: true, .. } => {
                follows(iter, extent) && schedule.roots(parent).contains(&iter.name)
            }
            _ => false,
        })
    };
    let runs = |iter: &IterVar| {
        let mut own = schedule.loops.iter().enumerate().filter(|(_, l)| schedule.roots(&l.name).contains(&iter.name));
        own.all(|(at, l)| schedule.runs_at_least_once(at) || !follows(iter, &l.extent))
    };
    let may_be_empty = |iter: &&IterVar| iter.extent.as_int().is_none() && !is_reached(iter) && runs(iter);
    let empty = schedule.block.iters_of(Role::Reduce).filter(may_be_empty);
    splits.chain(empty.map(|iter| guard(&iter.name, &iter.extent))).collect()
}

/// The guard of a staged copy that is not empty by itself where a sum under a condition is: where nothing is summed, nothing is copied
/// either. A copy that moves along a dimension with that sum alone has as many elements there as the sum has steps; along a window, more.
pub(super) fn taken(schedule: &Schedule, index: &[Expr]) -> Option<Guard> {
    let is_derived = |e: &Expr| schedule.program.derived.iter().any(|(name, _)| e.uses(name));
    let conditioned = || schedule.block.iters_of(Role::Reduce).filter(|iter| is_derived(&iter.extent));
    let is_alone = |e: &Expr, name: &Name| {
        e.uses(name) && !schedule.block.iters.iter().any(|other| other.name != *name && e.uses(&other.name))
    };
    if conditioned().any(|iter| index.iter().any(|e| is_alone(e, &iter.name))) {
        return None;
    }
    let IterVar { name, extent, role } = conditioned().next()?.clone();
    Some(Guard { value: Expr::Int(0), extent, root: name, role })
}

/// All of them hold.
pub(super) fn all(guards: impl IntoIterator<Item = impl Borrow<Guard>>) -> Expr {
    guards.into_iter().fold(Expr::Int(1), |all, guard| all.and(guard.borrow().condition()))
}

/// A condition where every given loop is at its last iteration, the loops innermost last. It holds there exactly if it
/// holds in all of them, since a guard's value grows with each loop. None: a bound that a guard compares with moves with
/// one of the loops (a padded split of a clipped loop), so the last iteration decides nothing.
pub(super) fn at_corner(condition: &Expr, loops: &[(Name, Expr)]) -> Option<Expr> {
    let decides = conjuncts(condition).iter().all(|part| match part {
        Expr::Compare(_, _, bound) => !loops.iter().any(|(name, _)| bound.uses(name)),
        _ => false,
    });
    let last = |e: Expr, (name, extent): &(Name, Expr)| e.substitute(name, &extent.clone().sub(Expr::Int(1)));
    decides.then(|| loops.iter().rev().fold(condition.clone(), last))
}

/// The parts of a conjunction.
pub(crate) fn conjuncts(condition: &Expr) -> Vec<Expr> {
    match condition {
        Expr::Binary(crate::ir::BinaryOp::And, a, b) => [conjuncts(a), conjuncts(b)].concat(),
        Expr::Int(1) => Vec::new(),
        other => vec![other.clone()],
    }
}
