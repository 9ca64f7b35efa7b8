//! How much a thread's arrays hold where most of them are alive.

use std::sync::Arc;

use crate::ir::{Buffer, Stmt};

/// The largest sum of `size` over arrays that are allocated inside of each other.
pub(super) fn most_alive(stmt: &Stmt, size: &impl Fn(&Arc<Buffer>) -> i64) -> i64 {
    match stmt {
        Stmt::Allocate { buffer, body } => size(buffer).saturating_add(most_alive(body, size)),
        Stmt::For { body, .. } | Stmt::Let { body, .. } => most_alive(body, size),
        Stmt::View { fill, body, .. } => most_alive(fill, size).max(most_alive(body, size)),
        Stmt::IfThenElse { then, otherwise, .. } => {
            otherwise.iter().map(|stmt| most_alive(stmt, size)).fold(most_alive(then, size), i64::max)
        }
        Stmt::Seq(stmts) => stmts.iter().map(|stmt| most_alive(stmt, size)).max().unwrap_or(0),
        Stmt::Store { .. } | Stmt::Sync | Stmt::Intrinsic(_) => 0,
    }
}
