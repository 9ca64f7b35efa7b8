//! Loops that are unrolled: their body is printed once for each value of their variable, with the value in its place.
//!
//! ```text
//! unrolled for i in 0..2                 acc_r_0 += x[0] * w[k];
//!   acc[i] = acc[i] + x[i] * w[k]   →    acc_r_1 += x[1] * w[k];
//! ```
//!
//! No pass of lowering does it, since the copies are many and all that others read from a lowered program can be read from its
//! loops. The number of copies is the product of the inner tiles' extents.

use std::borrow::Cow;
use std::sync::Arc;

use crate::ir::{Buffer, Expr, ForKind, Name, Scope, Stmt};

/// The variables of the loops around that are unrolled, with their values.
#[derive(Default)]
pub(super) struct Values(Vec<(Name, Expr)>);

/// The variable, iterations and body of a loop, if it is unrolled.
pub(super) fn loop_of(stmt: &Stmt) -> Option<(&Name, i64, &Stmt)> {
    match stmt {
        Stmt::For { var, extent, kind: ForKind::Unrolled | ForKind::VThread, body } => {
            Some((var, extent.as_int()?, body))
        }
        _ => None,
    }
}

/// The tensor to which loops that are unrolled, one inside of the other, store vectors, and the index of the first element.
pub(super) fn first_vector(stmt: &Stmt) -> Option<(&Arc<Buffer>, Vec<Expr>)> {
    let (Stmt::For { var, kind, body, .. }, _) = stmt.guarded() else { return None };
    let (buffer, index) = match (kind, body.guarded().0) {
        (ForKind::Vectorized, Stmt::Store { buffer, index, .. }) if buffer.scope == Scope::Global => {
            (buffer, index.clone())
        }
        (ForKind::Unrolled, _) => first_vector(body)?,
        _ => return None,
    };
    Some((buffer, index.iter().map(|e| e.substitute(var, &Expr::Int(0))).collect()))
}

impl Values {
    /// Goes into an iteration of a loop.
    pub(super) fn enter(&mut self, var: &Name, value: i64) {
        self.0.push((var.clone(), Expr::Int(value)));
    }

    /// Leaves it.
    pub(super) fn leave(&mut self) {
        self.0.pop();
    }

    /// An expression as it is in this iteration.
    pub(super) fn of<'a>(&self, e: &'a Expr) -> Cow<'a, Expr> {
        self.known(e).map_or(Cow::Borrowed(e), Cow::Owned)
    }

    /// None if it has none of the variables.
    fn known(&self, e: &Expr) -> Option<Expr> {
        if self.0.is_empty() {
            return None;
        }
        e.rewrite(&mut |e| match e {
            Expr::Var(name) => self.0.iter().rev().find(|(var, _)| var == name).map(|(_, value)| value.clone()),
            _ => None,
        })
    }
}
