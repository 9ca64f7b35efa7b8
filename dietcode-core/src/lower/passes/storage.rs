//! Storage: where in a thread's scratch memory each panel lies, or in a block's shared memory each tile.
//!
//! It stands last: only now is it known which panels there are. Panels that live at the same time get disjoint places,
//! aligned to cache lines; one that is gone leaves its place to the next. Where parameters say how large a panel is, they say where
//! the next one lies.

use std::ops::{Add, Mul};
use std::sync::Arc;

use crate::ir::{Buffer, Expr, Scope, Stmt};

/// Bytes of a cache line, and of the widest vector.
const ALIGNMENT: i64 = 64;

/// The panels' offsets in bytes, and how many bytes there are in all.
pub(in crate::lower) fn storage(body: &Stmt) -> (Vec<(Arc<Buffer>, Expr)>, Expr) {
    let mut places = Vec::new();
    let bytes = place(body, &Expr::Int(0), &mut places);
    (places, bytes)
}

/// Places what is allocated inside of a statement from `free` on; returns the end of what it needs.
fn place(stmt: &Stmt, free: &Expr, places: &mut Vec<(Arc<Buffer>, Expr)>) -> Expr {
    match stmt {
        Stmt::Allocate { buffer, body } if matches!(buffer.scope, Scope::Panel | Scope::Shared) => {
            let bytes = buffer.shape.iter().cloned().fold(Expr::Int(buffer.dtype.bytes()), Expr::mul);
            places.push((buffer.clone(), free.clone()));
            place(body, &free.clone().add(bytes.ceil_div(ALIGNMENT).mul(Expr::Int(ALIGNMENT))), places)
        }
        Stmt::Allocate { body, .. } | Stmt::For { body, .. } | Stmt::Let { body, .. } => place(body, free, places),
        Stmt::View { fill, body, .. } => place(fill, free, places).max(place(body, free, places)),
        Stmt::IfThenElse { then, otherwise, .. } => {
            let then = place(then, free, places);
            otherwise.iter().fold(then, |end, stmt| end.max(place(stmt, free, places)))
        }
        Stmt::Seq(stmts) => stmts.iter().fold(free.clone(), |end, stmt| end.max(place(stmt, free, places))),
        Stmt::Store { .. } | Stmt::Intrinsic(_) | Stmt::Sync => free.clone(),
    }
}
