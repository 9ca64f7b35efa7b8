//! Literals and constants of types as elements.

use crate::error::Problem;
use crate::scope::{Meaning, Scope, lookup, path, plain};
use crate::text::text;
use crate::{Constant, ConstantValue, DType, Expr};
use proc_macro2::Ident;
use quote::ToTokens;
use syn::{ExprLit, ExprUnary, Lit, LitFloat, LitInt, UnOp};

/// The constants of `f32`, and of `f64`, that a nest knows. One that is NaN would be equal to no other, and two equal nests not the same.
const FLOATS: [(&str, f32, f64); 6] = [
    ("INFINITY", f32::INFINITY, f64::INFINITY),
    ("NEG_INFINITY", f32::NEG_INFINITY, f64::NEG_INFINITY),
    ("MAX", f32::MAX, f64::MAX),
    ("MIN", f32::MIN, f64::MIN),
    ("MIN_POSITIVE", f32::MIN_POSITIVE, f64::MIN_POSITIVE),
    ("EPSILON", f32::EPSILON, f64::EPSILON),
];

impl Scope<'_> {
    pub(crate) fn literal(&mut self, literal: &Lit) -> Option<Expr> {
        let computes = self.computes;
        let (digits, suffix) = match literal {
            Lit::Int(integer) if computes == DType::I32 => return self.integer(literal, "", integer),
            Lit::Float(float) if computes == DType::I32 => return self.fail(literal, self.float_among_integers(float)),
            Lit::Float(float) => (float.base10_digits(), float.suffix()),
            Lit::Int(integer) if [DType::F32, DType::F64].iter().any(|dtype| integer.suffix() == dtype.name()) => {
                (integer.base10_digits(), integer.suffix())
            }
            Lit::Int(integer) => return self.fail(integer, integer_literal(integer)),
            other => return self.fail(other, Problem::OtherLiteral { found: text(other) }),
        };
        let (found, computes_in) = (text(literal), computes.to_string());
        if !suffix.is_empty() && suffix != computes.name() {
            return self.fail(literal, Problem::FloatLiteral { found, computes_in });
        }
        match computes.read(digits) {
            Some(value) if value.is_finite() => Some(Expr::Literal(value)),
            Some(_) => {
                let most = if computes == DType::F64 { format!("{:e}", f64::MAX) } else { format!("{:e}", f32::MAX) };
                self.fail(literal, Problem::FloatRange { found, computes_in, limit: format!("the largest is {most}") })
            }
            None => self.fail(literal, Problem::FloatLiteral { found, computes_in }),
        }
    }

    /// A literal among integers, with its sign: `-2147483648` is one, and `2147483648` is not.
    pub(crate) fn integer(&mut self, whole: &dyn ToTokens, sign: &str, literal: &LitInt) -> Option<Expr> {
        let (found, computes_in) = (text(whole), DType::I32.to_string());
        if !["", "i32"].contains(&literal.suffix()) {
            return self.fail(whole, Problem::FloatLiteral { found, computes_in });
        }
        match DType::I32.read(&format!("{sign}{}", literal.base10_digits())) {
            Some(value) => Some(Expr::Literal(value)),
            None => {
                let limit = match sign {
                    "" => format!("the largest is {}", i32::MAX),
                    _ => format!("the smallest is {}", i32::MIN),
                };
                self.fail(whole, Problem::FloatRange { found, computes_in, limit })
            }
        }
    }

    /// What to say of a float where integers are computed.
    fn float_among_integers(&self, float: &LitFloat) -> Problem {
        let whole = float.base10_parse::<f64>().ok().filter(|value| value.fract() == 0.0 && value.abs() < 1e9);
        let written = whole.map_or_else(|| "an integer".to_string(), |value| format!("`{value}`"));
        let found = float.to_string();
        match self.signature.computes {
            DType::I32 => Problem::FloatInIntegers { found, written },
            _ => Problem::FloatLiteralInSum { found, written },
        }
    }

    /// `f32::NEG_INFINITY` and its like.
    pub(crate) fn float_constant(&mut self, name: &Ident, expr: &syn::Expr) -> Option<Expr> {
        let computes = self.computes;
        let integers = [("MAX", i32::MAX), ("MIN", i32::MIN)];
        if let Some((_, value)) = integers.iter().find(|(known, _)| computes == DType::I32 && name == known) {
            return Some(Expr::Literal(f64::from(*value)));
        }
        match FLOATS.iter().find(|(known, ..)| computes != DType::I32 && name == known) {
            Some((.., value)) if computes == DType::F64 => Some(Expr::Literal(*value)),
            Some((_, value, _)) => Some(Expr::Literal(f64::from(*value))),
            None => {
                let names =
                    if computes == DType::I32 { vec!["MAX", "MIN"] } else { FLOATS.map(|(known, ..)| known).to_vec() };
                let constants: Vec<String> = names.iter().map(|known| format!("`{computes}::{known}`")).collect();
                let constants = constants.join(", ");
                let computes_in = computes.to_string();
                self.fail(expr, Problem::FloatConstant { found: text(expr), constants, computes_in })
            }
        }
    }

    /// The exponent of `powi`: an integer as it is written, or a declared constant.
    pub(crate) fn exponent(&mut self, expr: &syn::Expr) -> Option<Expr> {
        let (negative, magnitude) = match plain(expr) {
            syn::Expr::Unary(ExprUnary { op: UnOp::Neg(_), expr, .. }) => (true, plain(expr)),
            other => (false, other),
        };
        let magnitude = match magnitude {
            syn::Expr::Lit(ExprLit { lit: Lit::Int(literal), .. }) if matches!(literal.suffix(), "" | "i32") => {
                literal.base10_parse::<i64>().ok()
            }
            other => match path(other).and_then(|name| lookup(&self.names, name)) {
                Some(Meaning::Constant(Constant { value: ConstantValue::Integer(value), .. })) => Some(*value),
                _ => None,
            },
        };
        let exponent = magnitude.and_then(|n| i32::try_from(if negative { -n } else { n }).ok());
        match exponent {
            Some(exponent) => Some(Expr::Literal(f64::from(exponent))),
            None => self.fail(expr, Problem::PowiExponent { found: text(expr) }),
        }
    }
}

/// `2` was meant as `2.0`; a suffix that says otherwise is shown as it is.
fn integer_literal(integer: &LitInt) -> Problem {
    match integer.suffix() {
        "" => Problem::IntegerLiteral { found: integer.base10_digits().to_string() },
        _ => Problem::OtherLiteral { found: integer.to_string() },
    }
}
