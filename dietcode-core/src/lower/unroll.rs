//! Unrolling: loops marked so are written out.
//!
//! It stands last but for storage, so that all other passes see loops. The number of copies is the product of the
//! inner tiles' extents.

use crate::ir::{Expr, ForKind, Name, Stmt};

/// Writes out every unrolled loop.
pub(super) fn unroll(body: Stmt) -> Stmt {
    match body {
        Stmt::For { kind: ForKind::Unrolled | ForKind::VThread, .. } => copy(&body, &mut Vec::new()),
        other => other.map_children(&mut unroll),
    }
}

/// A copy inside of loops that are written out, from the outside in, so that each statement is copied once.
fn copy(stmt: &Stmt, values: &mut Vec<(Name, Expr)>) -> Stmt {
    match stmt {
        Stmt::For { var, extent, kind, body } => match (kind, extent.as_int()) {
            (ForKind::Unrolled | ForKind::VThread, Some(extent)) => Stmt::seq((0..extent).map(|value| {
                values.push((var.clone(), Expr::Int(value)));
                let copied = copy(body, values);
                values.pop();
                copied
            })),
            (ForKind::Unrolled | ForKind::VThread, None) => {
                Stmt::for_(var.clone(), with(extent, values), ForKind::Serial, copy(body, values))
            }
            _ => Stmt::for_(var.clone(), with(extent, values), *kind, copy(body, values)),
        },
        Stmt::Store { buffer, index, value } => Stmt::Store {
            buffer: buffer.clone(),
            index: index.iter().map(|e| with(e, values)).collect(),
            value: with(value, values),
        },
        Stmt::Seq(all) => Stmt::seq(all.iter().map(|stmt| copy(stmt, values))),
        other => {
            let mut own = other.clone();
            own.rewrite_own_exprs(&mut |e| known(e, values));
            own.map_children(&mut |child| copy(&child, values))
        }
    }
}

/// An expression where the variables of the loops around have their values.
fn with(e: &Expr, values: &[(Name, Expr)]) -> Expr {
    known(e, values).unwrap_or_else(|| e.clone())
}

/// The same; none if it has none of them.
fn known(e: &Expr, values: &[(Name, Expr)]) -> Option<Expr> {
    e.rewrite(&mut |e| match e {
        Expr::Var(name) => values.iter().rev().find(|(var, _)| var == name).map(|(_, value)| value.clone()),
        _ => None,
    })
}
