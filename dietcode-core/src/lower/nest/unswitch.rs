//! Choices that are the same for every element of a call are made around the loops that store, not in them.
//!
//! It stands where stores are built, so that every later pass meets plain arithmetic: a store without a choice is one of
//! vectors, and the side that is not taken reads nothing. Known as loop unswitching.
//!
//! ```text
//! for i: for j                                            if beta == 0.0
//!   c[i][j] = if beta == 0.0 { t } else { t + c[i][j] }     for i: for j: c[i][j] = t
//!                                                  →      else
//!                                                           for i: for j: c[i][j] = t + c[i][j]
//! ```

use crate::ir::{Expr, Stmt};

/// So many conditions are decided outside; each doubles the text of the stores.
const MOST_CONDITIONS: usize = 2;

/// What `store` makes of a value, once for each outcome of the conditions in it that depend on no loop.
pub(super) fn unswitch(value: &Expr, store: &dyn Fn(Expr) -> Stmt) -> Stmt {
    decide(value, store, MOST_CONDITIONS)
}

fn decide(value: &Expr, store: &dyn Fn(Expr) -> Stmt, conditions: usize) -> Stmt {
    let Some(condition) = uniform_condition(value).filter(|_| conditions > 0) else { return store(value.clone()) };
    let side = |holds: bool| Box::new(decide(&decided(value, &condition, holds), store, conditions - 1));
    Stmt::IfThenElse { condition: condition.clone(), then: side(true), otherwise: Some(side(false)) }
}

/// The first condition that compares scalars and literals only.
fn uniform_condition(value: &Expr) -> Option<Expr> {
    let mut found = None;
    value.visit(&mut |e| {
        if let Expr::Select(condition, ..) = e
            && found.is_none()
            && is_uniform(condition)
        {
            found = Some((**condition).clone());
        }
    });
    found
}

fn is_uniform(condition: &Expr) -> bool {
    let mut uniform = true;
    condition.visit(&mut |e| match e {
        Expr::Load(buffer, _) => uniform &= buffer.is_scalar(),
        Expr::Var(_) => uniform = false,
        _ => {}
    });
    uniform
}

/// The value where a condition is known.
fn decided(value: &Expr, condition: &Expr, holds: bool) -> Expr {
    value.map(&mut |e| match e {
        Expr::Select(c, then, otherwise) if **c == *condition => {
            Some(if holds { (**then).clone() } else { (**otherwise).clone() })
        }
        _ => None,
    })
}
