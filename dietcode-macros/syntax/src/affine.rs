//! From a Rust expression to an [`Affine`]: extents of dimensions and loops, and indices.

use crate::error::{Errors, Problem};
use crate::scope::path;
use crate::text::text;
use crate::{Affine, MAX_DEPTH};
use proc_macro2::Ident;
use syn::{BinOp, Expr, ExprBinary, ExprLit, Lit, LitInt, UnOp};

/// The largest magnitude of a coefficient or constant. With [`crate::MAX_LOOPS`] loops it keeps the products of
/// coefficients and extents that bounds are made of within an `i64`.
pub const MAX_COEFFICIENT: i64 = 1 << 29;

/// What a name stands for in an affine expression; `None` if that was reported or is already broken.
pub(crate) type Resolve<'a> = &'a mut dyn FnMut(&Ident, &mut Errors) -> Option<Affine>;

/// The expression, or `None` after everything wrong with it is reported.
pub(crate) fn affine(expr: &Expr, resolve: Resolve<'_>, errors: &mut Errors) -> Option<Affine> {
    Reader { resolve, errors }.read(expr, 0)
}

struct Reader<'a> {
    resolve: Resolve<'a>,
    errors: &'a mut Errors,
}

impl Reader<'_> {
    fn read(&mut self, expr: &Expr, depth: usize) -> Option<Affine> {
        if depth > MAX_DEPTH {
            return self.fail(expr, Problem::TooDeep { most: MAX_DEPTH.to_string() });
        }
        match expr {
            Expr::Paren(inner) => self.read(&inner.expr, depth + 1),
            Expr::Group(inner) => self.read(&inner.expr, depth + 1),
            Expr::Lit(ExprLit { lit: Lit::Int(literal), .. }) => self.integer(literal),
            Expr::Path(path) if path.path.get_ident().is_some() => (self.resolve)(path.path.get_ident()?, self.errors),
            Expr::Unary(unary) if matches!(unary.op, UnOp::Neg(_)) => {
                let inner = self.read(&unary.expr, depth + 1)?;
                self.within(expr, Affine::default().add_scaled(&inner, -1))
            }
            Expr::Binary(binary) => self.binary(binary, depth),
            Expr::Cast(cast) if path(&cast.expr).is_some() && text(&cast.ty) != "f32" => {
                self.fail(cast, Problem::IndexCast { found: text(cast) })
            }
            Expr::Path(path) if path.qself.is_none() => {
                let name = path.path.segments.last()?.ident.to_string();
                self.fail(path, Problem::PathInIndex { found: text(path), name })
            }
            other => self.fail(other, Problem::NotAffine { found: text(other) }),
        }
    }

    fn integer(&mut self, literal: &LitInt) -> Option<Affine> {
        if !literal.suffix().is_empty() {
            return self.fail(literal, Problem::IndexSuffix { found: literal.to_string() });
        }
        self.within(literal, literal.base10_parse().ok().map(Affine::constant))
    }

    fn binary(&mut self, binary: &ExprBinary, depth: usize) -> Option<Affine> {
        if !matches!(binary.op, BinOp::Add(_) | BinOp::Sub(_) | BinOp::Mul(_)) {
            return self.fail(binary, Problem::NotAffine { found: text(binary) });
        }
        let lhs = self.read(&binary.left, depth + 1);
        let rhs = self.read(&binary.right, depth + 1);
        let (lhs, rhs) = (lhs?, rhs?);
        let value = match binary.op {
            BinOp::Add(_) => lhs.add_scaled(&rhs, 1),
            BinOp::Sub(_) => lhs.add_scaled(&rhs, -1),
            _ => match (lhs.as_constant(), rhs.as_constant()) {
                (Some(factor), _) => Affine::default().add_scaled(&rhs, factor),
                (_, Some(factor)) => Affine::default().add_scaled(&lhs, factor),
                _ => return self.fail(binary, Problem::ProductOfVariables { found: text(binary) }),
            },
        };
        self.within(binary, value)
    }

    fn within(&mut self, at: &dyn quote::ToTokens, value: Option<Affine>) -> Option<Affine> {
        match value {
            Some(value) if value.is_small() => Some(value),
            _ => self.fail(at, Problem::Coefficient { most: MAX_COEFFICIENT.to_string() }),
        }
    }

    fn fail(&mut self, at: impl quote::ToTokens, problem: Problem) -> Option<Affine> {
        self.errors.push(at, problem);
        None
    }
}

impl Affine {
    /// Whether no coefficient is larger than what is supported.
    pub(crate) fn is_small(&self) -> bool {
        let coefficients = self.terms.iter().map(|(_, coefficient)| coefficient);
        coefficients.chain([&self.constant]).all(|c| c.unsigned_abs() <= MAX_COEFFICIENT.unsigned_abs())
    }
}
