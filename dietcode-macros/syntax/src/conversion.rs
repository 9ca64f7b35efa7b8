//! The types of elements: which is computed in where, and what is converted to it.

use crate::error::Problem;
use crate::nest::Let;
use crate::scope::{Accumulator, Meaning, Scope, associated, lookup, path, plain, subscripts};
use crate::text::text;
use crate::{BinaryOp, DType, Expr};
use proc_macro2::Ident;
use quote::ToTokens;
use syn::{ExprCast, ExprLit, Lit, Type};

impl Scope<'_> {
    /// A name of the type that the nest computes in: `f32::max`.
    pub(crate) fn associated<'e>(&self, expr: &'e syn::Expr) -> Option<&'e Ident> {
        associated(expr, self.computes)
    }

    /// Whether an expression is a name of a type that other nests compute in.
    pub(crate) fn is_of_other_type(&self, expr: &syn::Expr) -> bool {
        let others = [DType::F32, DType::F64].into_iter().filter(|dtype| *dtype != self.computes);
        others.into_iter().any(|dtype| associated(expr, dtype).is_some())
    }

    /// Reports a name of that type.
    pub(crate) fn other_float<T>(&mut self, expr: &syn::Expr) -> Option<T> {
        let computes_in = self.computes.to_string();
        self.fail(expr, Problem::OtherFloat { found: text(expr), computes_in })
    }

    /// A value has the type that is read here.
    pub(crate) fn check_same(&mut self, dtype: DType, ident: &Ident) -> Option<()> {
        if dtype == self.computes {
            return Some(());
        }
        let (found, computes_in) = (ident.to_string(), self.computes.to_string());
        let problem = match dtype {
            DType::I32 => Problem::IntegerAsFloat { name: found, computes_in },
            float => Problem::FloatInSum { found, dtype: float.to_string() },
        };
        self.fail(ident, problem)
    }

    /// Integers are not divided.
    pub(crate) fn check_operator(&mut self, op: BinaryOp, at: &dyn ToTokens) -> Option<()> {
        match (op, self.computes) {
            (BinaryOp::Div, DType::I32) => self.fail(at, Problem::IntegerQuotient),
            _ => Some(()),
        }
    }

    /// An element of another type than the nest computes in is converted, and no other.
    pub(crate) fn check_type(&mut self, param: usize, at: &dyn ToTokens, converted: Option<&syn::Expr>) -> Option<()> {
        let (dtype, computes) = (self.signature.params[param].dtype, self.computes);
        let is_cast = converted.is_some_and(|whole| matches!(plain(whole), syn::Expr::Cast(_)));
        match (dtype == computes, converted) {
            (false, _) if computes == DType::I32 && !dtype.is_integer() => {
                self.fail(at, Problem::FloatInSum { found: text(at), dtype: dtype.to_string() })
            }
            // Rust has no `From<i32>` for `f32`, which does not hold all of them.
            (false, _) if (dtype, computes, is_cast) == (DType::I32, DType::F32, false) => {
                let (name, computes_in) = (text(at), computes.to_string());
                self.fail(at, Problem::IntegerAsFloat { name, computes_in })
            }
            (false, None) => {
                let (found, computes_in) = (text(at), computes.to_string());
                self.fail(at, Problem::NarrowElement { found, dtype: dtype.to_string(), computes_in })
            }
            (true, Some(whole)) => self.fail(whole, self.widening(&at)),
            _ => Some(()),
        }
    }

    /// The type of the elements that an expression is made of: in a nest of floats, `i32` where its innermost parts say so.
    pub(crate) fn type_of(&self, expr: &syn::Expr) -> DType {
        let computes = self.signature.computes;
        if !self.signature.sums_integers() {
            return computes;
        }
        let integer_if = |is: bool| if is { DType::I32 } else { computes };
        match plain(expr) {
            syn::Expr::Lit(ExprLit { lit: Lit::Int(literal), .. }) => {
                integer_if(matches!(literal.suffix(), "" | "i32"))
            }
            syn::Expr::Unary(unary) => self.type_of(&unary.expr),
            syn::Expr::Binary(binary) => {
                let sides = [&*binary.left, &*binary.right].map(|side| (self.is_index(side), self.type_of(side)));
                integer_if(sides.iter().any(|(is_index, dtype)| !is_index && *dtype == DType::I32))
            }
            syn::Expr::MethodCall(call) => self.type_of(&call.receiver),
            syn::Expr::Cast(cast) => integer_if(is_type(&cast.ty, DType::I32)),
            syn::Expr::Call(call) => integer_if(associated(&call.func, DType::I32).is_some()),
            syn::Expr::Index(_) => {
                let tensor = path(subscripts(expr).0).and_then(|name| lookup(&self.names, name));
                let is_integer = |param: &usize| self.signature.params[*param].dtype == DType::I32;
                integer_if(matches!(tensor, Some(Meaning::Tensor(param)) if is_integer(param)))
            }
            syn::Expr::Path(_) if associated(expr, DType::I32).is_some() => DType::I32,
            other => match path(other).and_then(|name| lookup(&self.names, name)) {
                Some(Meaning::Element(_, dtype)) => *dtype,
                Some(Meaning::Accumulator(at)) => self.accumulators[*at].dtype,
                Some(Meaning::Scalar(param)) => integer_if(self.signature.params[*param].dtype == DType::I32),
                _ => computes,
            },
        }
    }

    /// The type of the elements that a `let` holds.
    pub(crate) fn type_of_let(&self, local: &Let<'_>) -> DType {
        match local.ty {
            Some(ty) if self.signature.sums_integers() && is_type(ty, DType::I32) => DType::I32,
            Some(_) => self.signature.computes,
            None => self.type_of(local.value),
        }
    }

    /// What to say of `f32::from` around something that has no narrower type.
    pub(crate) fn widening(&self, found: &dyn ToTokens) -> Problem {
        let (found, computes_in) = (text(found), self.computes.to_string());
        let narrower = match self.computes {
            DType::F64 => "`f32`, `f16`, `bf16`, `u8`, `i8` or `i32`",
            DType::I32 => "`u8` or `i8`",
            _ => "`f16`, `bf16`, `u8` or `i8`",
        };
        Problem::Widening { found, computes_in, narrower: narrower.to_string() }
    }

    /// What to say of `i32::from(element)`, or of `element as i32`, where floats are computed.
    pub(crate) fn integer_among_floats(&self, whole: &dyn ToTokens, element: &syn::Expr) -> Problem {
        let (computes, inner) = (self.computes, text(element));
        let written = match self.type_of(element) {
            DType::I32 if computes == DType::F32 => format!("{inner} as f32"),
            _ => format!("{computes}::from({inner})"),
        };
        let instead = if self.signature.sums_integers() { ", or sum integers, `let mut acc = 0;`" } else { "" };
        Problem::IntegerInFloats { found: text(whole), written, instead: instead.to_string() }
    }

    pub(crate) fn cast(&mut self, cast: &ExprCast, depth: usize) -> Option<Expr> {
        let computes = self.computes;
        if !is_type(&cast.ty, computes) {
            if is_type(&cast.ty, DType::I32) && !self.is_index(&cast.expr) {
                return self.fail(cast, self.integer_among_floats(cast, &cast.expr));
            }
            let computes_in = computes.to_string();
            return self.fail(&cast.ty, Problem::CastType { found: text(&cast.ty), computes_in });
        }
        if !self.is_index(&cast.expr) {
            return self.converted_integer(cast).unwrap_or_else(|| self.value_at(&cast.expr, depth));
        }
        let index = self.index(&cast.expr)?;
        Some(match index.as_constant() {
            Some(value) => Expr::Literal(computes.rounded(value as f64)),
            None => Expr::Index(index),
        })
    }

    /// What a cast makes of an integer of another type: an element, a scalar or the finished sum; `None` of what has the type already.
    fn converted_integer(&mut self, cast: &ExprCast) -> Option<Option<Expr>> {
        let (whole, inner) = (syn::Expr::Cast(cast.clone()), plain(&cast.expr));
        let is_other = |dtype: DType| dtype.is_integer() && dtype != self.computes;
        let (base, indices) = subscripts(inner);
        let value = match path(base).and_then(|name| lookup(&self.names, name))? {
            Meaning::Tensor(param) if !indices.is_empty() && is_other(self.signature.params[*param].dtype) => {
                return Some(self.load(inner, Some(&whole)));
            }
            Meaning::Scalar(param) if is_other(self.signature.params[*param].dtype) => {
                return Some(self.scalar(*param, inner, Some(&whole)));
            }
            Meaning::Element(value, dtype) if is_other(*dtype) => Some(value.clone()),
            Meaning::Accumulator(at) if is_other(self.accumulators[*at].dtype) => {
                let Accumulator { home, value, .. } = &self.accumulators[*at];
                if *home != self.depth {
                    let name = text(inner);
                    return Some(self.fail(inner, Problem::AccumulatorInLoop { name }));
                }
                value.clone()
            }
            _ => return None,
        };
        Some(match value {
            Some(value @ (Expr::Acc | Expr::Load { .. })) => Some(value),
            Some(_) => {
                let (found, computes_in) = (text(cast), self.computes.to_string());
                self.fail(cast, Problem::IntegerConverted { found, computes_in })
            }
            None => None,
        })
    }
}

/// Whether a type is that of some elements.
pub(crate) fn is_type(ty: &Type, dtype: DType) -> bool {
    matches!(ty, Type::Path(path) if path.path.is_ident(dtype.name()))
}
