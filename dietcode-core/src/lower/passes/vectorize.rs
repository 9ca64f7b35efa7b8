//! Vectorization: which loops can be one statement on vectors.
//!
//! It stands after partitioning, which leaves plain stores inside of the tensor. A loop marked as vectorized whose body
//! is anything else becomes serial here (the C compiler may still find something); what is left, the code generator
//! prints as it stands.

use crate::ir::function::has_vectors;
use crate::ir::{BinaryOp, Expr, ForKind, Scope, Stmt, affine};

/// Keeps a loop vectorized only if its body is one store of lane-wise arithmetic to neighbouring elements.
pub(super) fn vectorize(body: Stmt) -> Stmt {
    body.map(&mut |stmt| match stmt {
        Stmt::For { var, extent, kind: ForKind::Vectorized, body } => {
            let kind = if is_plain(&body, &var) { ForKind::Vectorized } else { ForKind::Serial };
            Stmt::For { var, extent, kind, body }
        }
        other => other,
    })
}

fn is_plain(body: &Stmt, lane: &str) -> bool {
    let Stmt::Store { buffer, index, value } = body else { return false };
    let neighbours = match index.split_last() {
        Some((last, outer)) => moves_by(last, lane) == Some(1) && outer.iter().all(|e| !e.uses(lane)),
        None => false,
    };
    neighbours && buffer.scope != Scope::View && is_lanewise(value, lane)
}

fn moves_by(e: &Expr, lane: &str) -> Option<i64> {
    Some(affine(e)?.coefficient(lane))
}

/// Whether an expression can be computed for all lanes at once. What does not depend on the lane is computed once.
fn is_lanewise(e: &Expr, lane: &str) -> bool {
    !e.uses(lane)
        || match e {
            Expr::Load(_, index) => index.iter().all(|e| affine(e).is_some()),
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
            Expr::Cast(..) => true,
            _ => false,
        }
}
