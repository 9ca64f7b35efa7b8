//! What can be one statement on the lanes of a vector.

use std::sync::Arc;

use crate::ir::function::has_vectors;
use crate::ir::{BinaryOp, Buffer, CompareOp, Expr, Intrinsic, Scope, Stmt, affine, coefficient};

/// Whether the body of a loop over lanes is one store of lane-wise arithmetic to neighbouring elements, such a store to the first of
/// them, or an instruction of all lanes.
pub(super) fn is_plain(body: &Stmt, lane: &str) -> bool {
    match body {
        Stmt::Store { buffer, index, value } => {
            let is_copy_of_far = buffer.scope == Scope::Panel && is_far_apart(value, lane);
            is_contiguous(index, lane) && buffer.scope != Scope::View && !is_copy_of_far && is_lanewise(value, lane)
        }
        Stmt::IfThenElse { condition, then, otherwise: None } => {
            is_of_first(condition, lane) && can_be_masked(then, lane) && is_plain(then, lane)
        }
        Stmt::Intrinsic(Intrinsic::Dot { .. } | Intrinsic::MeetLanes { .. }) => true,
        _ => false,
    }
}

/// Whether a condition holds for the first lanes only, as many as another expression says.
pub(super) fn is_of_first(condition: &Expr, lane: &str) -> bool {
    let Expr::Compare(CompareOp::Lt, value, bound) = condition else { return false };
    coefficient(value, lane) == Some(1) && !bound.uses(lane)
}

/// Whether the store of a lane that lies outside of tensors can be left out by a mask: all that moves with the lane are elements, in
/// registers or next to each other.
pub(super) fn can_be_masked(store: &Stmt, lane: &str) -> bool {
    let Stmt::Store { buffer, index, value } = store else { return false };
    let mut can = buffer.scope == Scope::Global && is_contiguous(index, lane);
    value.visit(&mut |e| match e {
        Expr::Load(from, index) if index.iter().any(|e| e.uses(lane)) => {
            can &= from.scope != Scope::View && is_contiguous(index, lane);
        }
        _ => {}
    });
    can
}

/// The elements of a tensor that a value is in the first lanes, and the condition that a lane is one of them, if it is 0 in the others: a
/// mask loads no more than these.
pub(crate) fn first_or_zero<'a>(value: &'a Expr, lane: &str) -> Option<(&'a Arc<Buffer>, &'a [Expr], &'a Expr)> {
    let Expr::Select(condition, then, otherwise) = value else { return None };
    let (Expr::Load(from, index), Expr::Float(0.0)) = (&**then, &**otherwise) else { return None };
    let elements = from.scope == Scope::Global && is_contiguous(index, lane);
    (elements && is_of_first(condition, lane)).then_some((from, index, condition))
}

/// Whether lanes are elements that do not lie next to each other: each is loaded for itself, and to make a vector of them before they are
/// stored costs the C compiler much, and the processor no less than to store each.
fn is_far_apart(value: &Expr, lane: &str) -> bool {
    matches!(value, Expr::Load(_, index) if value.uses(lane) && !is_contiguous(index, lane))
}

/// Whether the elements at an index are neighbours in memory along a variable.
pub(crate) fn is_contiguous(index: &[Expr], lane: &str) -> bool {
    let Some((last, outer)) = index.split_last() else { return false };
    coefficient(last, lane) == Some(1) && outer.iter().all(|e| !e.uses(lane))
}

/// Whether an expression can be computed for all lanes at once. What does not depend on the lane is computed once.
fn is_lanewise(e: &Expr, lane: &str) -> bool {
    !e.uses(lane)
        || first_or_zero(e, lane).is_some()
        || match e {
            Expr::Load(_, index) => index.iter().all(|e| !e.uses(lane) || affine(e).is_some()),
            Expr::Binary(op, a, b) => {
                !matches!(op, BinaryOp::Mod | BinaryOp::And) && is_lanewise(a, lane) && is_lanewise(b, lane)
            }
            // The exponent of `powi` is an integer.
            Expr::Call(function, args) => has_vectors(*function) && args.iter().all(|arg| is_lanewise(arg, lane)),
            // All lanes compute both sides, so that what they read must be there whatever the condition says: an index that it
            // compares may be one outside.
            Expr::Select(condition, then, otherwise) => {
                let chosen = match &**condition {
                    Expr::Compare(_, a, b) => {
                        (a.is_element() || b.is_element()) && is_lanewise(a, lane) && is_lanewise(b, lane)
                    }
                    _ => false,
                };
                chosen && is_lanewise(then, lane) && is_lanewise(otherwise, lane)
            }
            Expr::Cast(_, e) => !e.is_element() || is_lanewise(e, lane),
            _ => false,
        }
}
