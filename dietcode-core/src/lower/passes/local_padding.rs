//! Local padding: no predicate in the compute part.
//!
//! It stands right after the loops are built, because there the guards still are what the schedule made them, and
//! before anything is vectorized, because that pass takes plain stores only.
//!
//! ```text
//! for i in 0..100                                    for i in 0..100
//!   if i < 80: x_panel[i] = x[i]                       x_panel[i] = if i < 80 { x[i] } else { 0 }
//! for i in 0..100                            →       for i in 0..100
//!   if i < 80: tile[i] = tile[i] + x_panel[i]          tile[i] = tile[i] + x_panel[i]
//! for i in 0..100                                    for i in 0..100
//!   if i < 80: y[i] = tile[i]                          if i < 80: y[i] = tile[i]
//! ```
//!
//! A guard of the compute part goes if what it protects is harmless outside of the tensor:
//!
//! * every tensor read that moves along the guarded variable is staged, so that nothing outside is read, or, along a spatial one, was laid
//!   out before the call (`nest/prepared.rs`);
//! * and, for a reduced variable, there is a value which the staged copies may hold outside of their tensors, so that the update
//!   there is exactly the operator's identity, whatever the other reads are: zeros for a sum of products, where both factors are
//!   staged, ones for a product, −∞ for a maximum of `x` and ∞ for one of `-x`. There is none for the maximum of products, nor
//!   for a sum of `0 · b` with a `b` that is read: it is NaN if `b` is infinite.
//!
//! What is left of a guard that no step and no loop of a register tile moves, such as that of an empty sum, stands around these loops on a CPU.
//!
//! A spatial variable needs no second condition: what the tile computes outside of the output is never stored.
//!
//! Source: DietCode (MLSys 2022), section 4.3, "local padding".

use dietcode_syntax::Role;

use crate::ir::function::row;
use crate::ir::{BinaryOp, Block, Expr, ForKind, Name, Reduction, Scope, Stmt};
use crate::lower::guard::{self, Guard};
use crate::schedule::Schedule;

/// Moves the guards of staged copies into the copied value, and drops those of the compute part that may go.
pub(super) fn local_padding(body: Stmt, schedule: &Schedule) -> Stmt {
    let guards = guard::of(schedule);
    // Without a reduction nothing is staged.
    let Some(reduction) = &schedule.block.reduction else { return body };
    let removable: Vec<Expr> = guards.iter().filter(|g| may_go(g, reduction, schedule)).map(Guard::condition).collect();
    let padding = Expr::Float(padding(&schedule.block, reduction));
    body.map(&mut |stmt| match stmt {
        Stmt::IfThenElse { condition, then, otherwise: None } => match *then {
            Stmt::Store { buffer, index, value } if is_copy(&buffer.scope, &value) => {
                Stmt::Store { buffer, index, value: Expr::select(condition, value, padding.clone()) }
            }
            Stmt::Store { buffer, index, value } if buffer.scope == Scope::Local => {
                let left = guard::conjuncts(&condition).into_iter().filter(|part| !removable.contains(part));
                Stmt::if_(left.fold(Expr::Int(1), Expr::and), Stmt::Store { buffer, index, value })
            }
            then => Stmt::if_(condition, then),
        },
        Stmt::For { var, extent, kind, body } if !schedule.is_gpu() && is_carried_out_alone(kind) => match *body {
            Stmt::IfThenElse { condition, then, otherwise: None } if !condition.uses(&var) && is_summed(&then) => {
                Stmt::if_(condition, Stmt::For { var, extent, kind, body: then })
            }
            body => Stmt::For { var, extent, kind, body: Box::new(body) },
        },
        other => other,
    })
}

/// Whether one thread carries a loop out: a guard that does not move with it stands around it, so that vectors stay vectors and steps have none.
fn is_carried_out_alone(kind: ForKind) -> bool {
    matches!(kind, ForKind::Serial | ForKind::Unrolled | ForKind::Vectorized)
}

/// Whether all that a statement does is to add to a tile.
fn is_summed(stmt: &Stmt) -> bool {
    match stmt {
        Stmt::For { body, .. } => is_summed(body),
        Stmt::Store { buffer, .. } => buffer.scope == Scope::Local,
        _ => false,
    }
}

/// A staged copy: a tensor's element into a panel, into shared memory or into registers.
fn is_copy(to: &Scope, value: &Expr) -> bool {
    matches!(to, Scope::Panel | Scope::Shared | Scope::Local)
        && matches!(value, Expr::Load(from, _) if from.scope == Scope::Global)
}

/// Whether the compute part is right without a guard.
pub(crate) fn may_go(guard: &Guard, reduction: &Reduction, schedule: &Schedule) -> bool {
    let staged = |buffer: &Name| {
        let is_inside = schedule.is_prepared(buffer) && guard.role == Role::Spatial;
        is_inside || schedule.cache_reads.iter().any(|read| read.buffer == *buffer)
    };
    let mut reads_inside = true;
    reduction.update.visit(&mut |e| {
        if let Expr::Load(buffer, index) = e {
            reads_inside &= staged(&buffer.name) || !index.iter().any(|i| i.uses(&guard.root));
        }
    });
    reads_inside && (guard.role == Role::Spatial || can_be_padded(&schedule.block, &guard.root))
}

/// Whether terms of a block's reduction that lie outside of an axis' extent change nothing if its inputs are padded.
pub(crate) fn can_be_padded(block: &Block, axis: &Name) -> bool {
    block.reduction.as_ref().is_some_and(|reduction| is_padded_by(block, axis, padding(block, reduction)))
}

/// Whether staged copies hold a value outside of their tensors, and terms outside of an axis' extent change nothing if inputs are that there.
pub(crate) fn is_padded_by(block: &Block, axis: &Name, value: f64) -> bool {
    let is_padded = |reduction| padding(block, reduction) == value && is_neutral(reduction, axis, value);
    block.reduction.as_ref().is_some_and(is_padded)
}

/// What staged copies hold outside of their tensors: the operator's identity or its negative, whichever lets the terms outside of
/// an axis change nothing.
fn padding(block: &Block, reduction: &Reduction) -> f64 {
    let identity = reduction.op.identity(reduction.dtype);
    let serves = |value: &f64| block.iters_of(Role::Reduce).any(|axis| is_neutral(reduction, &axis.name, *value));
    [identity, -identity].into_iter().find(serves).unwrap_or(identity)
}

/// Whether a term whose reads along an axis all have this value changes nothing.
fn is_neutral(reduction: &Reduction, axis: &Name, value: f64) -> bool {
    value_at(&reduction.update, axis, value) == Some(reduction.op.identity(reduction.dtype))
}

/// The value of an expression whose reads along a variable all have the given one, if that determines it whatever the others are.
fn value_at(e: &Expr, along: &Name, read: f64) -> Option<f64> {
    let arg = |e: &Expr| value_at(e, along, read);
    Some(match e {
        Expr::Float(value) => *value,
        Expr::Int(exponent) => *exponent as f64,
        // A copy as it lies in the tensor must hold it.
        Expr::Load(buffer, index) if index.iter().any(|i| i.uses(along)) && buffer.dtype.holds(read) => read,
        Expr::Binary(op, a, b) => {
            let (a, b) = (arg(a)?, arg(b)?);
            match op {
                BinaryOp::Add => a + b,
                BinaryOp::Sub => a - b,
                BinaryOp::Mul => a * b,
                BinaryOp::Div => a / b,
                _ => return None,
            }
        }
        Expr::Call(function, args) => {
            let args = args.iter().map(arg).collect::<Option<Vec<f64>>>()?;
            (row(*function).value)(&args)
        }
        _ => return None,
    })
}
