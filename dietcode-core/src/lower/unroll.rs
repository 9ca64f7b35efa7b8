//! Unrolling: loops marked so are written out.
//!
//! It stands last but for storage, so that all other passes see loops. The number of copies is the product of the
//! inner tiles' extents.

use crate::ir::{Expr, ForKind, Stmt};

/// Writes out every unrolled loop.
pub(super) fn unroll(body: Stmt) -> Stmt {
    body.map(&mut |stmt| match stmt {
        Stmt::For { var, extent, kind: ForKind::Unrolled | ForKind::VThread, body } => match extent.as_int() {
            Some(extent) => Stmt::seq((0..extent).map(|value| (*body).clone().substitute(&var, &Expr::Int(value)))),
            None => Stmt::For { var, extent, kind: ForKind::Serial, body },
        },
        other => other,
    })
}
