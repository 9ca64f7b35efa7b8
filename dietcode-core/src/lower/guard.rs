//! The predicates that a schedule's ragged ends ask for.

use std::borrow::Borrow;
use std::ops::Sub;

use dietcode_syntax::Role;

use crate::ir::{Expr, Name, Stmt};
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

/// The guards of a schedule: one for each padded split that hangs over, and one for each reduction that is not split
/// and runs at least once although it may be empty.
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
    let whole = schedule.loops.iter().enumerate().filter(|(at, l)| {
        let unsplit = schedule.block.iters.iter().any(|iter| iter.name == l.name);
        unsplit && schedule.runs_at_least_once(*at)
    });
    splits.chain(whole.map(|(_, l)| guard(&l.name, &l.extent))).collect()
}

/// All of them hold.
pub(super) fn all(guards: impl IntoIterator<Item = impl Borrow<Guard>>) -> Expr {
    guards.into_iter().fold(Expr::Int(1), |all, guard| all.and(guard.borrow().condition()))
}

/// A condition where every given loop is at its last iteration, the loops innermost last. It holds there exactly if it
/// holds in all of them, since a guard's value grows with each loop.
pub(super) fn at_corner(condition: &Expr, loops: &[(Name, Expr)]) -> Expr {
    loops
        .iter()
        .rev()
        .fold(condition.clone(), |e, (name, extent)| e.substitute(name, &extent.clone().sub(Expr::Int(1))))
}

/// The parts of a conjunction.
pub(super) fn conjuncts(condition: &Expr) -> Vec<Expr> {
    match condition {
        Expr::Binary(crate::ir::BinaryOp::And, a, b) => [conjuncts(a), conjuncts(b)].concat(),
        Expr::Int(1) => Vec::new(),
        other => vec![other.clone()],
    }
}

/// A chain of loops and what stands innermost in it.
pub(super) fn chain(stmt: &Stmt) -> (Vec<(Name, Expr)>, &Stmt) {
    let mut loops = Vec::new();
    let mut inner = stmt;
    while let Stmt::For { var, extent, body, .. } = inner {
        loops.push((var.clone(), extent.clone()));
        inner = body;
    }
    (loops, inner)
}
