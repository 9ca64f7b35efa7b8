//! Expressions as sums of variables with integer coefficients, for the analysis of indices by schedules.

pub use dietcode_syntax::Affine;

use super::{BinaryOp, Expr};
use std::ops::{Add, Mul, Sub};

/// The affine form of an integer expression, if it has one.
pub fn affine(e: &Expr) -> Option<Affine> {
    match e {
        Expr::Int(value) => Some(Affine::constant(*value)),
        Expr::Var(name) => Some(Affine::var(&**name)),
        Expr::Binary(BinaryOp::Add, a, b) => affine(a)?.add_scaled(&affine(b)?, 1),
        Expr::Binary(BinaryOp::Sub, a, b) => affine(a)?.add_scaled(&affine(b)?, -1),
        Expr::Binary(BinaryOp::Mul, a, b) => {
            let factor = b.as_int()?;
            Affine::default().add_scaled(&affine(a)?, factor)
        }
        _ => None,
    }
}

/// The coefficient of a variable in an affine expression.
pub fn coefficient(e: &Expr, name: &str) -> Option<i64> {
    Some(affine(e)?.coefficient(name))
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
