//! A workload instance: a kernel at one shape, with every extent a number.

use dietcode_syntax::{Affine, Bound, DType, Expr, KernelDef, LoopDef, Param, ReduceOp, Role, bounds};
use serde::{Deserialize, Serialize};

use crate::ir::holds;
use crate::{Error, Result};

/// What a worker needs to know of a kernel to call it at a shape.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Instance {
    /// The shape variables, in declaration order.
    pub shape: Vec<i64>,
    /// The extents of each parameter; tensors are contiguous.
    pub dims: Vec<Vec<i64>>,
    /// The element type of each parameter.
    #[serde(with = "dtype_names")]
    pub dtypes: Vec<DType>,
    /// Which parameter is written.
    pub output: usize,
    /// Whether the nest reads what the output held before (`y[i] += …`). What a choice by a given scalar does not take, is not
    /// read.
    pub reads_output: bool,
    /// The value of each parameter that is a scalar, if it is given; the others are random.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub scalars: Vec<Option<f64>>,
    /// Whether the nest multiplies what it reads, which is near 1 then: a long product of other numbers is nothing or infinite.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub multiplies: bool,
    /// How the operands lie that are laid out before calls.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub prepared: Vec<Prepared>,
    /// Arithmetic operations of one call. A sum under a condition counts as taken.
    pub flops: f64,
}

/// How a prepared operand lies; see [`dietcode_syntax::Prepared`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Prepared {
    /// The parameter.
    pub param: usize,
    /// The dimension that is cut into panels.
    pub dim: usize,
    /// The dimensions outside of the panels.
    pub outer: Vec<usize>,
    /// The dimensions inside.
    pub inner: Vec<usize>,
    /// The width of a panel.
    pub panel: usize,
}

/// Refuses a shape that a call would refuse, since an index leaves its tensor.
fn check_bounds(def: &KernelDef, shape: &[i64], extents: &[i64], dims: &[Vec<i64>]) -> Result<()> {
    if extents.contains(&0) {
        return Ok(());
    }
    let at = |form: &Affine| form.evaluate(|var| def.value_at(shape, var));
    for Bound { param, dim, least, greatest, index } in bounds(def) {
        let (extent, ends) = (dims[param][dim], [&least, &greatest].map(at));
        if !ends.iter().all(|end| end.is_some_and(|end| (0..extent).contains(&end))) {
            let [least, greatest] = ends.map(|end| end.unwrap_or(i64::MAX));
            return Err(Error::input(format!(
                "at shape {shape:?}, the index `{index}` of `{}` runs from {least} to {greatest}, and dimension {dim} is {extent}",
                def.params[param].name
            )));
        }
    }
    Ok(())
}

impl Prepared {
    fn of(prepared: &dietcode_syntax::Prepared) -> Prepared {
        let dietcode_syntax::Prepared { param, dim, outer, inner, panel, .. } = prepared.clone();
        Prepared { param, dim, outer, inner, panel: panel as usize }
    }
}

impl Instance {
    /// A kernel at a shape (one value per shape variable, in declaration order).
    ///
    /// # Errors
    ///
    /// If an extent is negative, a tensor has more elements than can be addressed, or an index leaves its tensor.
    pub fn of(def: &KernelDef, shape: &[i64]) -> Result<Instance> {
        let extent = |part: Part<'_>| {
            let found = part.extent(def, shape);
            found.filter(|n| (0..=1 << 40).contains(n)).ok_or_else(|| {
                let expected = if found.is_some_and(|n| n < 0) { "0 or more" } else { "at most 2^40" };
                Error::input(format!("{}, expected {expected}", part.text(def, shape)))
            })
        };
        let extents: Vec<i64> = def.loops.iter().map(|l| extent(Part::Loop(l))).collect::<Result<_>>()?;
        let mut dims = Vec::new();
        for param in &def.params {
            let of_param: Vec<i64> =
                (0..param.dims.len()).map(|dim| extent(Part::Dim(param, dim))).collect::<Result<_>>()?;
            let elements = of_param.iter().try_fold(1i64, |product, n| product.checked_mul(*n));
            if elements.is_none_or(|n| n > 1 << 40) {
                return Err(Error::input(format!(
                    "at shape {shape:?}, `{}` has more elements than fit memory",
                    param.name
                )));
            }
            dims.push(of_param);
        }
        check_bounds(def, shape, &extents, &dims)?;
        Ok(Instance {
            shape: shape.to_vec(),
            dims,
            dtypes: def.params.iter().map(|param| param.dtype).collect(),
            output: def.output,
            reads_output: reads_output(def, &[]),
            scalars: Vec::new(),
            multiplies: def.reduction.as_ref().is_some_and(|reduction| reduction.op == ReduceOp::Prod),
            prepared: def.prepared.iter().map(Prepared::of).collect(),
            flops: flops(def, &extents),
        })
    }

    /// The instance with its longest extent halved, again and again, until there is `enough` of it: down to a floor for each shape
    /// variable, as far as the nest has such an instance that is not empty. Odd extents stay odd.
    pub(crate) fn halved(&self, def: &KernelDef, floor: &[i64], enough: impl Fn(&Instance) -> bool) -> Instance {
        let mut instance = self.clone();
        while !enough(&instance) {
            let long = |at: &usize| instance.shape[*at] / 2 >= floor[*at];
            let Some(at) = (0..floor.len()).filter(long).max_by_key(|at| instance.shape[*at]) else { break };
            let mut shape = instance.shape.clone();
            shape[at] = (shape[at] / 2) | (shape[at] & 1);
            match Instance::of(def, &shape) {
                Ok(smaller) if !smaller.is_empty() && shape != instance.shape => instance = smaller,
                _ => break,
            }
        }
        instance
    }

    /// The same with given values of scalars, by name; the others stay random.
    ///
    /// # Errors
    ///
    /// If the kernel has no such scalar.
    pub fn with_scalars(mut self, def: &KernelDef, values: &[(&str, f64)]) -> Result<Instance> {
        self.scalars.resize(def.params.len(), None);
        for (name, value) in values {
            let at = def.params.iter().position(|param| param.name == *name && param.dims.is_empty());
            let at = at.ok_or_else(|| Error::input(format!("`{}` has no scalar `{name}`", def.name)))?;
            self.scalars[at] = Some(def.params[at].dtype.rounded(*value));
        }
        self.reads_output = reads_output(def, &self.scalars);
        Ok(self)
    }

    /// Whether a call computes no element of its output, and returns at once.
    pub fn computes_nothing(&self) -> bool {
        self.flops == 0.0
    }

    /// Whether a tensor has no element. A call takes it, but it has no throughput.
    pub fn is_empty(&self) -> bool {
        self.computes_nothing() || self.dims.iter().flatten().any(|extent| *extent == 0)
    }

    /// The loop or the tensor of the kernel for which the instance [is empty](Instance::is_empty), in words.
    pub fn empty_part(&self, def: &KernelDef) -> Option<String> {
        let loops = def.loops.iter().filter(|l| l.role == Role::Spatial).map(Part::Loop);
        let dims = def.params.iter().flat_map(|param| (0..param.dims.len()).map(move |dim| Part::Dim(param, dim)));
        let empty = loops.chain(dims).find(|part| part.extent(def, &self.shape) == Some(0));
        empty.map(|part| part.text(def, &self.shape))
    }

    /// The strides of all parameters, as [`crate::abi::Run`] takes them.
    pub fn strides(&self) -> Vec<i64> {
        self.dims.iter().flat_map(|dims| contiguous(dims)).collect()
    }

    /// How many elements a parameter has.
    pub fn elements(&self, param: usize) -> usize {
        self.dims[param].iter().product::<i64>() as usize
    }
}

/// What has an extent.
#[derive(Clone, Copy)]
enum Part<'a> {
    Loop(&'a LoopDef),
    /// A dimension of a parameter.
    Dim(&'a Param, usize),
}

impl Part<'_> {
    fn affine(&self) -> &Affine {
        match self {
            Part::Loop(l) => &l.extent,
            Part::Dim(param, dim) => &param.dims[*dim],
        }
    }

    /// None if it overflows.
    fn extent(&self, def: &KernelDef, shape: &[i64]) -> Option<i64> {
        self.affine().evaluate(|name| def.value_at(shape, name))
    }

    /// "the loop over `i` of `scale` has N - 2 = -1 iterations at N=1".
    fn text(&self, def: &KernelDef, shape: &[i64]) -> String {
        let affine = self.affine();
        let found = self.extent(def, shape).map_or("more than fits 64 bits".to_owned(), |n| n.to_string());
        let is_bare = affine.constant == 0 && matches!(&*affine.terms, [(_, 1)]);
        let extent = if affine.terms.is_empty() || is_bare { found } else { format!("{affine} = {found}") };
        let vars = affine.terms.iter().filter_map(|(name, _)| Some(format!("{name}={}", def.value_at(shape, name)?)));
        let vars: Vec<String> = vars.collect();
        let at = if vars.is_empty() { String::new() } else { format!(" at {}", vars.join(",")) };
        match self {
            Part::Loop(l) => format!("the loop over `{}` of `{}` has {extent} iterations{at}", l.name, def.name),
            Part::Dim(param, dim) => format!("dimension {dim} of `{}` of `{}` is {extent}{at}", param.name, def.name),
        }
    }
}

/// Element types as the names of the Rust types.
mod dtype_names {
    use dietcode_syntax::DType;
    use serde::de::Error;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub(crate) fn serialize<S: Serializer>(dtypes: &[DType], to: S) -> Result<S::Ok, S::Error> {
        dtypes.iter().map(|dtype| dtype.name()).collect::<Vec<_>>().serialize(to)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<DType>, D::Error> {
        let dtype = |name: &String| {
            let found = DType::ALL.into_iter().find(|dtype| dtype.name() == name);
            found.ok_or_else(|| D::Error::custom(format!("`{name}` is no element type")))
        };
        Vec::<String>::deserialize(from)?.iter().map(dtype).collect()
    }
}

/// Row-major strides without gaps.
pub(crate) fn contiguous(dims: &[i64]) -> Vec<i64> {
    let mut strides = vec![1; dims.len()];
    for d in (1..dims.len()).rev() {
        strides[d - 1] = strides[d] * dims[d];
    }
    strides
}

/// The index of an element by its number in row-major order.
pub(crate) fn unflatten(at: usize, dims: &[i64]) -> Vec<i64> {
    let strides = contiguous(dims);
    strides.iter().zip(dims).map(|(stride, dim)| at as i64 / stride % dim).collect()
}

fn reads_output(def: &KernelDef, scalars: &[Option<f64>]) -> bool {
    let reduction = def.reduction.as_ref().map(|r| [&r.init, &r.update]);
    reduction.into_iter().flatten().chain([&def.epilogue]).any(|e| reads(e, def.output, scalars))
}

/// Whether an expression reads a parameter; of a choice by given scalars, only the side that is taken.
fn reads(expr: &Expr, param: usize, scalars: &[Option<f64>]) -> bool {
    if let Expr::Select { op, lhs, rhs, then, otherwise } = expr
        && let (Some(lhs), Some(rhs)) = (given(lhs, scalars), given(rhs, scalars))
    {
        return reads(if holds(*op, &lhs, &rhs) { then } else { otherwise }, param, scalars);
    }
    matches!(expr, Expr::Load { param: p, .. } if *p == param)
        || expr.parts().into_iter().any(|e| reads(e, param, scalars))
}

/// The value of a literal, or of a scalar that is given.
fn given(expr: &Expr, scalars: &[Option<f64>]) -> Option<f64> {
    match expr {
        Expr::Literal(value) => Some(*value),
        Expr::Load { param, .. } => scalars.get(*param).copied().flatten(),
        _ => None,
    }
}

/// Operations as they are counted for throughput: one per arithmetic operator, method or comparison.
fn flops(def: &KernelDef, extents: &[i64]) -> f64 {
    let all: f64 = extents.iter().map(|n| *n as f64).product();
    let spatial = |l: &&LoopDef| l.role == Role::Spatial;
    let outputs: f64 = def.loops.iter().zip(extents).filter(|(l, _)| spatial(l)).map(|(_, n)| *n as f64).product();
    let sum = def.reduction.as_ref().map_or(0.0, |r| all * (operations(&r.update) + 1.0));
    // A copy counts one operation per element, so that its throughput is a number too.
    (sum + outputs * operations(&def.epilogue)).max(outputs)
}

fn operations(expr: &Expr) -> f64 {
    let own = match expr {
        Expr::Acc | Expr::Literal(_) | Expr::Load { .. } | Expr::Index(_) => 0.0,
        Expr::Binary(..) | Expr::Call(..) | Expr::Select { .. } => 1.0,
    };
    own + expr.parts().into_iter().map(operations).sum::<f64>()
}
