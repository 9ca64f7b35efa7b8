//! Recognises a nest that a library's matrix product can carry out.
//!
//! ```text
//! for batch…  for m  for n  c[…] = (0 | c[…]) + Σ_k a[…] · b[…]
//! for batch…  for m  for n  c[…] = α · Σ_k a[…] · b[…] [+ β · c[…] unless β = 0]
//! ```
//!
//! where α and β are scalars, which a sum may depend on as BLAS has it (nothing is summed if α = 0), and every index is a bare sum of loop
//! variables, so that each tensor is a matrix in its loops with two strides. Which loop is which follows from who uses it: both factors and
//! the output: batch; output and one factor: a dimension of the product; both factors and not the output: the sum.

mod coefficients;

use std::ffi::c_void;

use dietcode_syntax::{Affine, BinaryOp, DType, Expr, KernelDef, ReduceOp, Role};
use serde::{Deserialize, Serialize};

use crate::instance::contiguous;
use crate::measure::Instance;

/// `c = alpha · a · b + beta · c` for each entry of the batch; `a` is m × k, `b` is k × n, `c` is m × n.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Gemm {
    /// Rows of the product.
    pub m: i64,
    /// Columns of the product.
    pub n: i64,
    /// Length of the sum.
    pub k: i64,
    /// The left factor.
    pub a: Matrix,
    /// The right factor.
    pub b: Matrix,
    /// The product.
    pub c: Matrix,
    /// What the product is multiplied with.
    pub alpha: Coefficient,
    /// What is added to the product: so many times what is there.
    pub beta: Coefficient,
    /// Outer loops over products.
    pub batch: Vec<Batch>,
    /// Whether elements and factors are `f64`.
    #[serde(default)]
    pub double: bool,
}

/// A factor of a whole product.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Coefficient {
    /// 0
    Zero,
    /// 1
    One,
    /// The value of the parameter of this number.
    Param(usize),
}

impl Coefficient {
    /// Its value in a call.
    ///
    /// # Safety
    ///
    /// `buffers` has a pointer per parameter of the nest; those of scalars are to a `T` in this process's memory.
    pub(in crate::measure) unsafe fn value<T: Copy + From<u8>>(self, buffers: &[*mut c_void]) -> T {
        match self {
            Coefficient::Zero => T::from(0),
            Coefficient::One => T::from(1),
            // SAFETY: as the caller vouches.
            Coefficient::Param(param) => unsafe { *buffers[param].cast::<T>() },
        }
    }
}

/// A matrix inside a parameter, in elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Matrix {
    /// Which parameter.
    pub param: usize,
    /// Its first element.
    pub offset: i64,
    /// From a row to the next.
    pub row: i64,
    /// From a column to the next.
    pub col: i64,
}

/// A loop over products.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Batch {
    /// How many.
    pub extent: i64,
    /// From one `a` to the next.
    pub a: i64,
    /// From one `b` to the next.
    pub b: i64,
    /// From one `c` to the next.
    pub c: i64,
}

impl Gemm {
    /// The product that a nest computes at an instance, if it is one.
    pub fn of(def: &KernelDef, instance: &Instance) -> Option<Gemm> {
        // The libraries' products that are called have one element type.
        let mut tensors = def.params.iter().filter(|param| !param.dims.is_empty());
        let dtype = def.params[def.output].dtype;
        if dtype.is_integer() || tensors.any(|param| param.dtype != dtype) {
            return None;
        }
        // Factors have the type that is computed in.
        if def.computes_in() == DType::F64 && dtype != DType::F64 {
            return None;
        }
        let reduction = def.reduction.as_ref().filter(|reduction| reduction.op == ReduceOp::Sum)?;
        let Expr::Binary(BinaryOp::Mul, left, right) = &reduction.update else { return None };
        let context = Context { def, instance };
        let (a, b) = (context.operand(left)?, context.operand(right)?);
        let c = context.access(def.output, &def.output_index)?;
        let [alpha, beta] = coefficients::of(def, reduction)?;
        if a.param == c.param || b.param == c.param {
            return None;
        }
        let product = Loops::classify(&context, &a, &b, &c)?.gemm(&a, &b, &c, [alpha, beta]);
        Some(Gemm { double: dtype == DType::F64, ..product })
    }

    /// Calls `product` with the first elements of `a`, `b` and `c` of each product of the batch.
    pub(super) fn for_each_product(&self, mut product: impl FnMut(i64, i64, i64)) {
        let count: i64 = self.batch.iter().map(|b| b.extent).product();
        for number in 0..count {
            let (mut left, mut at) = (number, [self.a.offset, self.b.offset, self.c.offset]);
            for batch in self.batch.iter().rev() {
                let i = left % batch.extent;
                left /= batch.extent;
                at = [at[0] + i * batch.a, at[1] + i * batch.b, at[2] + i * batch.c];
            }
            product(at[0], at[1], at[2]);
        }
    }
}

/// A nest at an instance.
struct Context<'a> {
    def: &'a KernelDef,
    instance: &'a Instance,
}

/// A load as a sum over loops: which parameter, from where, and the stride of each loop.
struct Access {
    param: usize,
    offset: i64,
    strides: Vec<i64>,
}

impl Context<'_> {
    fn operand(&self, expr: &Expr) -> Option<Access> {
        match expr {
            Expr::Load { param, index } => self.access(*param, index),
            _ => None,
        }
    }

    fn access(&self, param: usize, index: &[Affine]) -> Option<Access> {
        let mut access = Access { param, offset: 0, strides: vec![0; self.def.loops.len()] };
        for (affine, stride) in index.iter().zip(contiguous(&self.instance.dims[param])) {
            for (at, l) in self.def.loops.iter().enumerate() {
                access.strides[at] += affine.coefficient(&l.name) * stride;
            }
            access.offset += affine.evaluate(|name| self.constant(name))? * stride;
        }
        Some(access)
    }

    /// Loop variables start at 0; shape variables have the instance's value.
    fn constant(&self, name: &str) -> Option<i64> {
        let shape = self.def.value_at(&self.instance.shape, name);
        shape.or_else(|| self.def.loops.iter().any(|l| l.name == name).then_some(0))
    }
}

/// One loop with its extent and its stride in each matrix.
type Dim = Batch;

/// The nest's loops by what they do.
#[derive(Default)]
struct Loops {
    m: Vec<Dim>,
    n: Vec<Dim>,
    k: Vec<Dim>,
    batch: Vec<Dim>,
}

impl Loops {
    fn classify(context: &Context<'_>, a: &Access, b: &Access, c: &Access) -> Option<Loops> {
        let mut loops = Loops::default();
        for (at, l) in context.def.loops.iter().enumerate() {
            let extent = l.extent.evaluate(|name| context.constant(name))?;
            let dim = Dim { extent, a: a.strides[at], b: b.strides[at], c: c.strides[at] };
            let of = match (l.role, dim.a != 0, dim.b != 0) {
                (Role::Reduce, true, true) => &mut loops.k,
                (Role::Spatial, true, true) => &mut loops.batch,
                (Role::Spatial, true, false) => &mut loops.m,
                (Role::Spatial, false, true) => &mut loops.n,
                _ => return None,
            };
            of.push(dim);
        }
        [&mut loops.m, &mut loops.n, &mut loops.k].into_iter().for_each(fuse);
        // What cannot be one dimension of a product is a loop over products.
        for of in [&mut loops.m, &mut loops.n] {
            while of.len() > 1 {
                let smallest = (0..of.len()).min_by_key(|at| of[*at].extent)?;
                loops.batch.push(of.remove(smallest));
            }
        }
        (loops.k.len() == 1).then_some(loops)
    }

    fn gemm(self, a: &Access, b: &Access, c: &Access, [alpha, beta]: [Coefficient; 2]) -> Gemm {
        let one = Dim { extent: 1, a: 0, b: 0, c: 0 };
        let [m, n, k] = [&self.m, &self.n, &self.k].map(|of| of.first().copied().unwrap_or(one));
        let matrix = |of: &Access, row: i64, col: i64| Matrix { param: of.param, offset: of.offset, row, col };
        Gemm {
            m: m.extent,
            n: n.extent,
            k: k.extent,
            a: matrix(a, m.a, k.a),
            b: matrix(b, k.b, n.b),
            c: matrix(c, m.c, n.c),
            alpha,
            beta,
            batch: self.batch,
            double: false,
        }
    }
}

/// Joins loops that run through memory as one.
fn fuse(dims: &mut Vec<Dim>) {
    let joins = |outer: &Dim, inner: &Dim| {
        [(outer.a, inner.a), (outer.b, inner.b), (outer.c, inner.c)].iter().all(|(o, i)| *o == i * inner.extent)
    };
    let pair = |dims: &[Dim]| {
        let pairs = (0..dims.len()).flat_map(|o| (0..dims.len()).map(move |i| (o, i)));
        pairs.into_iter().find(|(o, i)| o != i && joins(&dims[*o], &dims[*i]))
    };
    while let Some((outer, inner)) = pair(dims) {
        dims[inner].extent *= dims[outer].extent;
        dims.remove(outer);
    }
}

#[cfg(test)]
mod tests;
