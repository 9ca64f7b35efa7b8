//! What a nest demands of a call, as `#[dynamic_kernel]` writes it into the program: constants only.

use std::fmt;
use std::ops::Deref;

use super::element::DType;
use super::inline::Inline;
use super::prepared::PreparedLayout;

/// The most shape variables a kernel can have.
pub const MAX_SHAPE_VARS: usize = 16;

/// The most parameters a kernel can have.
pub const MAX_PARAMS: usize = 16;

/// A kernel's name, its parameters, its loops, and the bounds of its indices.
#[derive(Clone, Copy, Debug)]
pub struct Signature {
    /// The function's name.
    pub name: &'static str,
    /// The hash of the nest's canonical form.
    pub source_hash: u64,
    /// The shape variables in declaration order: the order of a [`Shape`] and of all [`Affine`] terms.
    pub shape_vars: &'static [ShapeVar],
    /// The parameters in declaration order.
    pub params: &'static [Param],
    /// The loops of the nest.
    pub loops: &'static [SignatureLoop],
    /// The ranges of the indices that are not in bounds by construction.
    pub bounds: &'static [Bound],
    /// The operands that are laid out before calls.
    pub prepared: &'static [PreparedLayout<'static>],
}

impl Signature {
    /// The type that temporaries and prepared operands of the kernel have, and sums unless they are of integers: `i32` if all parameters are
    /// integers, `f64` if one is that, else `f32`.
    pub fn computes_in(&self) -> DType {
        if self.params.iter().any(|param| param.dtype == DType::F64) {
            DType::F64
        } else if self.params.iter().all(|param| param.dtype.is_integer()) {
            DType::I32
        } else {
            DType::F32
        }
    }

    /// Which parameter the kernel writes.
    pub(super) fn output(&self) -> Option<usize> {
        self.params.iter().position(|param| param.mutable)
    }
}

/// A symbolic extent and the dimension that binds it.
#[derive(Debug)]
pub struct ShapeVar {
    /// Its name.
    pub name: &'static str,
    /// The parameter that binds it.
    pub param: usize,
    /// The dimension of that parameter which is the bare variable.
    pub dim: usize,
}

/// A parameter: a tensor or, without extents, a scalar.
#[derive(Debug)]
pub struct Param {
    /// Its name.
    pub name: &'static str,
    /// The type of its elements.
    pub dtype: DType,
    /// Its extents, outermost first; a scalar has none.
    pub dims: &'static [Affine],
    /// Whether the kernel writes it.
    pub mutable: bool,
}

impl Param {
    /// Whether a call passes one value for it, and no tensor.
    pub(super) const fn is_scalar(&self) -> bool {
        self.dims.is_empty()
    }
}

/// A loop, `for name in 0..extent`.
#[derive(Debug)]
pub struct SignatureLoop {
    /// The loop variable.
    pub name: &'static str,
    /// The number of iterations.
    pub extent: Affine,
    /// Whether it is summed over.
    pub reduce: bool,
}

/// The range of one index, over all iterations of the loops.
#[derive(Debug)]
pub struct Bound {
    /// The parameter that is indexed.
    pub param: usize,
    /// The dimension that is indexed.
    pub dim: usize,
    /// The least value of the index.
    pub least: Affine,
    /// The greatest value of the index, inclusive.
    pub greatest: Affine,
    /// The index as written.
    pub index: &'static str,
}

/// `constant + Σ coefficient · variable`.
#[derive(Debug)]
pub struct Affine {
    /// (index of a shape variable, coefficient)
    pub terms: &'static [(usize, i64)],
    /// The constant term.
    pub constant: i64,
}

impl Affine {
    /// The value at a shape; `None` if it does not fit.
    #[inline]
    pub(super) fn at(&self, shape: &[i64]) -> Option<i64> {
        let mut sum = self.constant;
        for &(var, coefficient) in self.terms {
            sum = sum.checked_add(coefficient.checked_mul(*shape.get(var)?)?)?;
        }
        Some(sum)
    }

    /// The expression with names in it, for messages.
    pub(super) fn display<'a>(&'a self, vars: &'a [ShapeVar]) -> impl fmt::Display + 'a {
        AffineDisplay { affine: self, vars }
    }
}

struct AffineDisplay<'a> {
    affine: &'a Affine,
    vars: &'a [ShapeVar],
}

impl fmt::Display for AffineDisplay<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut plus = "";
        for &(var, coefficient) in self.affine.terms {
            let name = self.vars.get(var).map_or("?", |v| v.name);
            match coefficient {
                1 => write!(f, "{plus}{name}")?,
                c => write!(f, "{plus}{c}*{name}")?,
            }
            plus = " + ";
        }
        match self.affine.constant {
            0 if !plus.is_empty() => Ok(()),
            c if c < 0 && !plus.is_empty() => write!(f, " - {}", c.unsigned_abs()),
            c => write!(f, "{plus}{c}"),
        }
    }
}

/// The values of a kernel's shape variables in declaration order: a slice, held inline.
#[derive(Clone, Copy)]
pub struct Shape(Inline<i64, MAX_SHAPE_VARS>);

impl Shape {
    /// A shape without values yet.
    pub(super) fn new() -> Shape {
        Shape(Inline::new())
    }

    /// Replaces the values; there are at most [`MAX_SHAPE_VARS`].
    pub(super) fn assign(&mut self, values: impl Iterator<Item = i64>) {
        self.0.clear();
        values.for_each(|value| self.0.push(value));
    }
}

impl Deref for Shape {
    type Target = [i64];

    fn deref(&self) -> &[i64] {
        &self.0
    }
}

impl fmt::Debug for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}
