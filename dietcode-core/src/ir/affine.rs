//! Expressions as sums of variables with integer coefficients, for the analysis of indices by schedules.

pub use dietcode_syntax::Affine;

use super::{BinaryOp, Expr};
use std::ops::{Add, Mul, Sub};

/// The affine form of an integer expression, if it has one.
pub fn affine(e: &Expr) -> Option<Affine> {
    let mut sum = Affine::default();
    add(&mut sum, e, 1)?;
    Some(sum)
}

/// Adds `factor · e`, if that is affine.
fn add(sum: &mut Affine, e: &Expr, factor: i64) -> Option<()> {
    match e {
        Expr::Int(value) => sum.constant = sum.constant.checked_add(value.checked_mul(factor)?)?,
        Expr::Var(name) => sum.add_term(name, factor)?,
        Expr::Binary(BinaryOp::Add, a, b) => {
            add(sum, a, factor)?;
            add(sum, b, factor)?;
        }
        Expr::Binary(BinaryOp::Sub, a, b) => {
            add(sum, a, factor)?;
            add(sum, b, factor.checked_neg()?)?;
        }
        Expr::Binary(BinaryOp::Mul, a, b) => add(sum, a, factor.checked_mul(b.as_int()?)?)?,
        _ => return None,
    }
    Some(())
}

/// The coefficient of a variable in an affine expression.
pub fn coefficient(e: &Expr, name: &str) -> Option<i64> {
    match e {
        Expr::Int(_) => Some(0),
        Expr::Var(var) => Some(i64::from(&**var == name)),
        Expr::Binary(BinaryOp::Add, a, b) => coefficient(a, name)?.checked_add(coefficient(b, name)?),
        Expr::Binary(BinaryOp::Sub, a, b) => coefficient(a, name)?.checked_sub(coefficient(b, name)?),
        Expr::Binary(BinaryOp::Mul, a, b) => coefficient(a, name)?.checked_mul(b.as_int()?),
        _ => None,
    }
}

impl From<&Affine> for Expr {
    fn from(form: &Affine) -> Expr {
        let sum = form.terms.iter().fold(None, |sum: Option<Expr>, (name, c)| {
            let var = Expr::var(name.as_str());
            Some(match (sum, *c) {
                (None, c) => var.mul(Expr::Int(c)),
                (Some(sum), c) if c < 0 => sum.sub(var.mul(Expr::Int(-c))),
                (Some(sum), c) => sum.add(var.mul(Expr::Int(c))),
            })
        });
        match (sum, form.constant) {
            (None, c) => Expr::Int(c),
            (Some(sum), c) if c < 0 => sum.sub(Expr::Int(-c)),
            (Some(sum), c) => sum.add(Expr::Int(c)),
        }
    }
}
