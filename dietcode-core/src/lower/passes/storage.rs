//! Storage: where in a thread's scratch memory each panel lies, or in a block's shared memory each tile.
//!
//! It stands last: only now is it known which panels there are. Panels that live at the same time get disjoint places,
//! aligned to cache lines; one that is gone leaves its place to the next.

use std::sync::Arc;

use crate::ir::{Buffer, Scope, Stmt};

/// Bytes of a cache line, and of the widest vector.
const ALIGNMENT: i64 = 64;

/// The panels' offsets in bytes, and how many bytes there are in all.
pub(in crate::lower) fn storage(body: &Stmt) -> (Vec<(Arc<Buffer>, i64)>, i64) {
    let mut places = Vec::new();
    let bytes = place(body, 0, &mut places);
    (places, bytes)
}

/// Places what is allocated inside of a statement from `free` on; returns the end of what it needs.
fn place(stmt: &Stmt, free: i64, places: &mut Vec<(Arc<Buffer>, i64)>) -> i64 {
    match stmt {
        Stmt::Allocate { buffer, body } if matches!(buffer.scope, Scope::Panel | Scope::Shared) => {
            let bytes = buffer.bytes().unwrap_or(0);
            places.push((buffer.clone(), free));
            place(body, free + (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT, places)
        }
        Stmt::Allocate { body, .. } | Stmt::For { body, .. } | Stmt::Let { body, .. } => place(body, free, places),
        Stmt::View { fill, body, .. } => place(fill, free, places).max(place(body, free, places)),
        Stmt::IfThenElse { then, otherwise, .. } => {
            let then = place(then, free, places);
            otherwise.iter().fold(then, |end, stmt| end.max(place(stmt, free, places)))
        }
        Stmt::Seq(stmts) => stmts.iter().fold(free, |end, stmt| end.max(place(stmt, free, places))),
        Stmt::Store { .. } | Stmt::Intrinsic(_) | Stmt::Sync => free,
    }
}
