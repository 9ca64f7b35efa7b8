//! Partitioning: inside of the tensor, no predicate at all.
//!
//! It stands after local padding, which leaves predicates only in copies and in final stores, and before
//! vectorization, which takes loops whose body is one plain store. TVM: `LoopPartition`.
//!
//! ```text
//! for i in 0..8                              if i_0·8 + 7 < M
//!   if i_0·8 + i < M                           for i in 0..8: y[…] = tile[i]
//!     y[…] = tile[i]                  →      else
//!                                              for i in 0..8: if i_0·8 + i < M: y[…] = tile[i]
//! ```

use crate::ir::{Expr, ForKind, Scope, Stmt};
use crate::lower::guard;

/// Splits every ragged copy and every ragged final store into an inside and an edge.
pub(super) fn partition(body: Stmt) -> Stmt {
    match body {
        Stmt::For { .. } => match inside(&body) {
            Some((condition, plain)) => {
                Stmt::IfThenElse { condition, then: Box::new(plain), otherwise: Some(Box::new(body.map(&mut serial))) }
            }
            None => body.map_children(&mut partition),
        },
        // The edge's own copy is not worth two versions.
        Stmt::View { view, inside, whole, edge, fill, body } => {
            let fill = Box::new(fill.map(&mut serial));
            Stmt::View { view, inside, whole, edge, fill, body: Box::new(partition(*body)) }
        }
        other => other.map_children(&mut partition),
    }
}

/// For a chain of loops around one guarded store: when the guard holds in all of it, and the chain without the guard.
fn inside(stmt: &Stmt) -> Option<(Expr, Stmt)> {
    let (loops, leaf) = guard::chain(stmt);
    let (condition, plain) = match leaf {
        Stmt::IfThenElse { condition, then, otherwise: None } => match &**then {
            store @ Stmt::Store { buffer, .. } if buffer.scope == Scope::Global => (condition, store.clone()),
            _ => return None,
        },
        Stmt::Store { buffer, index, value: Expr::Select(condition, then, otherwise) }
            if buffer.scope == Scope::Panel && matches!(**otherwise, Expr::Float(_)) =>
        {
            (&**condition, Stmt::Store { buffer: buffer.clone(), index: index.clone(), value: (**then).clone() })
        }
        _ => return None,
    };
    Some((guard::at_corner(condition, &loops)?, rebuild(stmt, plain)))
}

/// The same loops around another leaf.
fn rebuild(stmt: &Stmt, leaf: Stmt) -> Stmt {
    match stmt {
        Stmt::For { var, extent, kind, body } => Stmt::for_(var.clone(), extent.clone(), *kind, rebuild(body, leaf)),
        _ => leaf,
    }
}

fn serial(stmt: Stmt) -> Stmt {
    match stmt {
        Stmt::For { var, extent, kind: ForKind::Vectorized | ForKind::Unrolled, body } => {
            Stmt::For { var, extent, kind: ForKind::Serial, body }
        }
        other => other,
    }
}
