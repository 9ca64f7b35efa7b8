//! Constants that the attribute declares: `consts(K = 768, EPS = 1e-5)`.
//!
//! The front end sees a function and no items, so a constant beside it is worth nothing here unless it is declared. The
//! macro compares the declared value with the item.

use crate::affine::affine;
use crate::error::{Errors, Problem};
use crate::text::text;
use crate::{Affine, DType, MAX_COEFFICIENT, name};
use proc_macro2::{Ident, TokenStream};
use syn::parse::Parser;
use syn::punctuated::Punctuated;
use syn::{Expr, ExprLit, Lit, MetaNameValue, Token, UnOp};

/// A declared constant.
#[derive(Clone, Debug)]
pub struct Constant {
    /// Its name, where it is declared.
    pub name: Ident,
    /// What it stands for in the nest.
    pub value: ConstantValue,
}

/// The value of a constant.
#[derive(Clone, Debug, PartialEq)]
pub enum ConstantValue {
    /// An integer, for extents and indices.
    Integer(i64),
    /// A number of the type that the nest computes in, for elements, and how it is written, without a suffix.
    Float(f64, String),
}

impl ConstantValue {
    /// What it is called in a sentence.
    pub(crate) fn describe(&self) -> &'static str {
        match self {
            ConstantValue::Integer(_) => "a constant, an integer",
            ConstantValue::Float(..) => "a constant, a float",
        }
    }
}

impl Constant {
    /// Its value where an integer is wanted, at `used`.
    pub(crate) fn extent(&self, used: &Ident, errors: &mut Errors) -> Option<Affine> {
        match &self.value {
            ConstantValue::Integer(value) => Some(Affine::constant(*value)),
            float => {
                let (name, kind) = (used.to_string(), float.describe().to_string());
                errors.push(used, Problem::ElementAsIndex { name, kind });
                None
            }
        }
    }
}

/// What stands in the parentheses of `consts(…)`; those that are wrong are reported, and their names kept beside.
pub(crate) fn parse(
    declared: &TokenStream,
    computes: DType,
    (constants, broken): (&mut Vec<Constant>, &mut Vec<String>),
    errors: &mut Errors,
) {
    let Ok(pairs) = Punctuated::<MetaNameValue, Token![,]>::parse_terminated.parse2(declared.clone()) else {
        return errors.push(declared, Problem::ConstantForm { found: text(declared) });
    };
    for pair in &pairs {
        let Some(ident) = pair.path.get_ident() else {
            errors.push(&pair.path, Problem::ConstantForm { found: text(pair) });
            continue;
        };
        let name = ident.to_string();
        if constants.iter().any(|constant| constant.name == name) {
            errors.push(ident, Problem::ConstantTwice { name });
            continue;
        }
        name::check_constant(ident, errors);
        match value(&pair.value, computes, constants) {
            Some(value) => constants.push(Constant { name: ident.clone(), value }),
            None => {
                broken.push(name.clone());
                errors.push(&pair.value, problem(name, &pair.value, computes));
            }
        }
    }
}

/// What to say of a value that is none.
fn problem(name: String, value: &Expr, computes: DType) -> Problem {
    let (found, most, computes_in) = (text(value), MAX_COEFFICIENT.to_string(), computes.to_string());
    let of_other_float = [DType::F32, DType::F64].into_iter().find_map(|dtype| float(value, dtype, ""));
    match (computes, of_other_float) {
        (DType::I32, _) => Problem::ConstantOfIntegers { name, found, most },
        (_, Some(written)) if float(value, computes, "").is_none() => {
            Problem::ConstantSuffix { name, found, computes_in, written }
        }
        _ => Problem::ConstantValue { name, found, most, computes_in },
    }
}

/// A float literal, or integers and the constants before, added, subtracted and multiplied.
fn value(expr: &Expr, computes: DType, before: &[Constant]) -> Option<ConstantValue> {
    if let Some(literal) = float(expr, computes, "") {
        let value = computes.read(&literal).filter(|value| value.is_finite())?;
        return Some(ConstantValue::Float(value, literal));
    }
    let mut resolve = |used: &Ident, _: &mut Errors| match &before.iter().find(|c| c.name == *used)?.value {
        ConstantValue::Integer(value) => Some(Affine::constant(*value)),
        ConstantValue::Float(..) => None,
    };
    let value = affine(expr, &mut resolve, &mut Errors::default())?.as_constant()?;
    (0..=MAX_COEFFICIENT).contains(&value).then_some(ConstantValue::Integer(value))
}

/// A float literal with its sign and without its suffix, if that is the type that the nest computes in or nothing.
fn float(expr: &Expr, computes: DType, sign: &str) -> Option<String> {
    match expr {
        Expr::Unary(unary) if matches!(unary.op, UnOp::Neg(_)) && sign.is_empty() => float(&unary.expr, computes, "-"),
        Expr::Paren(inner) => float(&inner.expr, computes, sign),
        Expr::Group(inner) => float(&inner.expr, computes, sign),
        Expr::Lit(ExprLit { lit: Lit::Float(float), .. }) if [computes.name(), ""].contains(&float.suffix()) => {
            Some(digits(sign, float.base10_digits()))
        }
        Expr::Lit(ExprLit { lit: Lit::Int(integer), .. }) if integer.suffix() == computes.name() => {
            Some(digits(sign, integer.base10_digits()))
        }
        _ => None,
    }
}

fn digits(sign: &str, digits: &str) -> String {
    let zero = if digits.contains(['.', 'e', 'E']) { "" } else { ".0" };
    format!("{sign}{digits}{zero}")
}
