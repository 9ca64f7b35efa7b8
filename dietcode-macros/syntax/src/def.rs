//! `KernelDef`: what a user's loop nest says, checked and in one canonical form.
//!
//! Everything downstream (the macro's expansion, the IR, the signature that the runtime checks calls against)
//! is made from this form and never looks at Rust tokens again. It prints canonically ([`std::fmt::Display`]),
//! and [`KernelDef::source_hash`] is the hash of that print, so white space and comments never change it.

use crate::{Function, Prepared, ReduceOp};
use std::fmt;

/// A checked kernel: `output[output_index] = epilogue(init combined with all updates)` over the loops.
#[derive(Clone, Debug, PartialEq)]
pub struct KernelDef {
    /// The function's name.
    pub name: String,
    /// The config named in the attribute, relative to the crate's manifest; `None` runs the default micro-kernel.
    pub config: Option<String>,
    /// The parameters in order; exactly one of them is mutable.
    pub params: Vec<Param>,
    /// The shape variables in order of first appearance, outermost dimension of the first parameter first.
    pub shape_vars: Vec<ShapeVar>,
    /// All loops of the nest: the spatial ones in source order, then the reductions in source order.
    pub loops: Vec<LoopDef>,
    /// Index of the mutable parameter in `params`.
    pub output: usize,
    /// One entry per dimension of the output: at most one spatial loop variable, each used once and times 1, plus shape
    /// variables and an integer.
    pub output_index: Vec<Affine>,
    /// The reduction, if the nest accumulates.
    pub reduction: Option<Reduction>,
    /// The value that is stored; [`Expr::Acc`] stands for the finished accumulator, and a load of the output for what was
    /// there before the call.
    pub epilogue: Expr,
    /// Elements whose values reach nothing that is stored, by parameter and index. No code reads them but the nest itself; so a
    /// call has to check them like all others.
    pub idle_reads: Vec<(usize, Vec<Affine>)>,
    /// The operands that a program lays out before its calls, in the order of the parameters.
    pub prepared: Vec<Prepared>,
}

impl KernelDef {
    /// The same kernel with those of the reads whose values it has no use for.
    pub(crate) fn with_reads(mut self, mut reads: Vec<(usize, Vec<Affine>)>) -> KernelDef {
        let is_used = |read: &(usize, Vec<Affine>)| {
            let is_this = |e: &Expr| matches!(e, Expr::Load { param, index } if (*param, index) == (read.0, &read.1));
            self.values().any(|value| value.any(&is_this))
        };
        reads.sort();
        reads.dedup();
        reads.retain(|read| !is_used(read));
        self.idle_reads = reads;
        self
    }

    /// The value of a shape variable at a shape, which has one for each in declaration order.
    pub fn value_at(&self, shape: &[i64], var: &str) -> Option<i64> {
        shape.get(self.shape_vars.iter().position(|known| known.name == var)?).copied()
    }

    /// The type that sums, temporaries and scalars of the nest have.
    pub fn computes_in(&self) -> DType {
        DType::computing(self.params.iter().map(|param| param.dtype))
    }

    /// Every expression of elements: those of the sum, and the value that is stored.
    pub fn values(&self) -> impl Iterator<Item = &Expr> {
        let sum = self.reduction.iter().flat_map(|sum| [&sum.init, &sum.update]);
        let conditions = self.reduction.iter().filter_map(|sum| sum.condition.as_ref());
        sum.chain(conditions.flat_map(|condition| [&condition.lhs, &condition.rhs])).chain([&self.epilogue])
    }
}

/// A parameter: a tensor, `name: &[[dtype; dims[1]]; dims[0]]`, or, without dimensions, a scalar, `name: f32`.
#[derive(Clone, Debug, PartialEq)]
pub struct Param {
    /// The parameter's name.
    pub name: String,
    /// The element type.
    pub dtype: DType,
    /// Extents, outermost first, affine in the shape variables; a scalar has none.
    pub dims: Vec<Affine>,
    /// Whether it is the `&mut` parameter.
    pub mutable: bool,
}

impl Param {
    /// Whether it is one value, which a call passes as it is.
    pub fn is_scalar(&self) -> bool {
        self.dims.is_empty()
    }
}

/// Element types of tensors.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DType {
    /// IEEE 754 binary32.
    F32,
    /// IEEE 754 binary16.
    F16,
    /// The upper half of a binary32.
    BF16,
    /// IEEE 754 binary64.
    F64,
    /// An unsigned integer of 8 bits.
    U8,
    /// A signed integer of 8 bits.
    I8,
    /// A signed integer of 32 bits, whose sums, differences and products are those modulo 2³².
    I32,
}

impl DType {
    /// All of them.
    pub const ALL: [DType; 7] = [DType::F32, DType::F16, DType::BF16, DType::F64, DType::U8, DType::I8, DType::I32];

    /// The name of the Rust type.
    pub const fn name(self) -> &'static str {
        match self {
            DType::F32 => "f32",
            DType::F16 => "f16",
            DType::BF16 => "bf16",
            DType::F64 => "f64",
            DType::U8 => "u8",
            DType::I8 => "i8",
            DType::I32 => "i32",
        }
    }

    /// The size of an element.
    pub const fn bytes(self) -> i64 {
        match self {
            DType::F32 | DType::I32 => 4,
            DType::F16 | DType::BF16 => 2,
            DType::F64 => 8,
            DType::U8 | DType::I8 => 1,
        }
    }

    /// The type that a nest with parameters of these types computes in: `i32` if all are integers, `f64` if one is that, else `f32`.
    pub fn computing(types: impl IntoIterator<Item = DType>) -> DType {
        let wider = |computes: Option<DType>, dtype: DType| match (computes, dtype) {
            (Some(DType::F64), _) | (_, DType::F64) => DType::F64,
            (None | Some(DType::I32), dtype) if dtype.is_integer() => DType::I32,
            _ => DType::F32,
        };
        types.into_iter().fold(None, |computes, dtype| Some(wider(computes, dtype))).unwrap_or(DType::F32)
    }

    /// Whether nests compute in it.
    pub const fn is_computed_in(self) -> bool {
        matches!(self, DType::F32 | DType::F64 | DType::I32)
    }

    /// Whether its numbers are integers.
    pub const fn is_integer(self) -> bool {
        matches!(self, DType::U8 | DType::I8 | DType::I32)
    }

    /// The smallest and the largest number of a type of integers.
    pub const fn range(self) -> Option<[i64; 2]> {
        match self {
            DType::U8 => Some([0, u8::MAX as i64]),
            DType::I8 => Some([i8::MIN as i64, i8::MAX as i64]),
            DType::I32 => Some([i32::MIN as i64, i32::MAX as i64]),
            DType::F32 | DType::F16 | DType::BF16 | DType::F64 => None,
        }
    }

    /// Whether a value is a number of the type: all are of floats, which round them.
    pub fn holds(self, value: f64) -> bool {
        self.range().is_none_or(|[least, most]| value >= least as f64 && value <= most as f64)
    }

    /// The number that a decimal is nearest to, of a type that nests compute in: it is read as that type at once, as rustc does, since a
    /// detour would round twice.
    pub fn read(self, digits: &str) -> Option<f64> {
        match self {
            DType::F64 => digits.parse().ok(),
            DType::F32 | DType::F16 | DType::BF16 => digits.parse::<f32>().ok().map(f64::from),
            DType::U8 | DType::I8 | DType::I32 => digits.parse::<i32>().ok().map(f64::from),
        }
    }

    /// A value as a number of a type that nests compute in; an integer modulo 2³².
    pub const fn rounded(self, value: f64) -> f64 {
        match self {
            DType::F64 => value,
            DType::F32 | DType::F16 | DType::BF16 => value as f32 as f64,
            DType::U8 | DType::I8 | DType::I32 => value as i64 as i32 as f64,
        }
    }

    /// Whether it has 16 bits: nothing is computed in it.
    pub const fn is_half(self) -> bool {
        matches!(self, DType::F16 | DType::BF16)
    }
}

/// A symbolic extent, bound at a call by one dimension of one parameter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShapeVar {
    /// The variable's name, as written.
    pub name: String,
    /// The parameter that binds it.
    pub param: usize,
    /// The dimension of that parameter which is the bare variable.
    pub dim: usize,
}

/// One loop, `for name in 0..extent`; one that starts elsewhere has its start in all that its variable is used in.
#[derive(Clone, Debug, PartialEq)]
pub struct LoopDef {
    /// The loop variable.
    pub name: String,
    /// The number of iterations, affine in the shape variables.
    pub extent: Affine,
    /// Whether the variable indexes the output.
    pub role: Role,
}

/// What a loop does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Role {
    /// Its variable indexes the output.
    Spatial,
    /// It is reduced over.
    Reduce,
}

/// `acc = init; if condition { for reduce loops { acc = op(acc, update) } }`.
#[derive(Clone, Debug, PartialEq)]
pub struct Reduction {
    /// What becomes of the accumulator and a term.
    pub op: ReduceOp,
    /// The type of the accumulator, of what it starts with and of the terms: what the nest computes in, or `i32` where all that is read are
    /// integers.
    pub dtype: DType,
    /// What the accumulator starts with: a literal, loads, or the output itself for `y[..] += …`.
    pub init: Expr,
    /// The term of each iteration.
    pub update: Expr,
    /// Where there is one, nothing is reduced, and nothing is read for it, unless it holds.
    pub condition: Option<Condition>,
}

/// `lhs op rhs`, the same for every element of a call: of literals and scalar parameters.
#[derive(Clone, Debug, PartialEq)]
pub struct Condition {
    /// The comparison.
    pub op: CompareOp,
    /// Its left side.
    pub lhs: Expr,
    /// Its right side.
    pub rhs: Expr,
}

/// `constant + Σ coefficient · variable`, over loop variables and shape variables. Terms are sorted by name and have
/// no zero coefficient, so equality is structural.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Affine {
    /// (variable, coefficient), sorted by variable.
    pub terms: Vec<(String, i64)>,
    /// The constant term.
    pub constant: i64,
}

/// A scalar expression; its values are of the type that the nest computes in ([`KernelDef::computes_in`]). What is stored to a tensor of a
/// narrower type is rounded once, to nearest even.
#[derive(Clone, Debug, PartialEq)]
pub enum Expr {
    /// The accumulator (in an epilogue only), which an epilogue of floats converts if it is an `i32`.
    Acc,
    /// A literal.
    Literal(f64),
    /// An element of a parameter, widened exactly, or a scalar parameter.
    Load {
        /// Index into `KernelDef::params`.
        param: usize,
        /// One entry per dimension; none for a scalar.
        index: Vec<Affine>,
    },
    /// An integer expression of loop and shape variables, cast to the type that the nest computes in (`i as f32`).
    Index(Affine),
    /// `a op b`.
    Binary(BinaryOp, Box<Expr>, Box<Expr>),
    /// A method call, receiver first, or a sign. The exponent of [`Function::Powi`] is a literal, and an integer.
    Call(Function, Vec<Expr>),
    /// `if lhs op rhs { then } else { otherwise }`.
    Select {
        /// The comparison.
        op: CompareOp,
        /// Its left side.
        lhs: Box<Expr>,
        /// Its right side.
        rhs: Box<Expr>,
        /// The value if it holds.
        then: Box<Expr>,
        /// The value if it does not (NaN on either side included, but for `!=`).
        otherwise: Box<Expr>,
    },
}

/// Arithmetic on elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BinaryOp {
    /// `+`
    Add,
    /// `-`
    Sub,
    /// `*`
    Mul,
    /// `/`
    Div,
}

/// Comparison of elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CompareOp {
    /// `<`
    Lt,
    /// `<=`
    Le,
    /// `>`
    Gt,
    /// `>=`
    Ge,
    /// `==`
    Eq,
    /// `!=`
    Ne,
}

impl Expr {
    /// The expressions that it combines, in the order in which they are written.
    pub fn parts(&self) -> Vec<&Expr> {
        match self {
            Expr::Acc | Expr::Literal(_) | Expr::Load { .. } | Expr::Index(_) => Vec::new(),
            Expr::Binary(_, lhs, rhs) => vec![lhs, rhs],
            Expr::Call(_, arguments) => arguments.iter().collect(),
            Expr::Select { lhs, rhs, then, otherwise, .. } => vec![lhs, rhs, then, otherwise],
        }
    }

    /// Whether a part of the expression, or all of it, is of a kind.
    pub fn any(&self, is: &dyn Fn(&Expr) -> bool) -> bool {
        is(self) || self.parts().into_iter().any(|part| part.any(is))
    }
}

impl Affine {
    /// A constant.
    pub fn constant(value: i64) -> Affine {
        Affine { terms: Vec::new(), constant: value }
    }

    /// A bare variable.
    pub fn var(name: impl Into<String>) -> Affine {
        Affine { terms: vec![(name.into(), 1)], constant: 0 }
    }

    /// The coefficient of a variable, 0 if it does not occur.
    pub fn coefficient(&self, name: &str) -> i64 {
        self.terms.iter().find(|(n, _)| n == name).map_or(0, |(_, c)| *c)
    }

    /// The variable, if this is one with coefficient 1 and nothing else.
    pub fn as_var(&self) -> Option<&str> {
        match self.terms.as_slice() {
            [(name, 1)] if self.constant == 0 => Some(name),
            _ => None,
        }
    }

    /// The value, if no variable occurs.
    pub fn as_constant(&self) -> Option<i64> {
        self.terms.is_empty().then_some(self.constant)
    }

    /// Its value, unless a variable has none or it overflows.
    pub fn evaluate(&self, value: impl Fn(&str) -> Option<i64>) -> Option<i64> {
        self.terms.iter().try_fold(self.constant, |sum, (name, c)| sum.checked_add(c.checked_mul(value(name)?)?))
    }

    /// `self + constant`; `None` if it overflows.
    pub fn plus(&self, constant: i64) -> Option<Affine> {
        self.add_scaled(&Affine::constant(constant), 1)
    }

    /// `self + factor · other`; `None` if a coefficient overflows.
    pub fn add_scaled(&self, other: &Affine, factor: i64) -> Option<Affine> {
        let mut sum = self.clone();
        sum.constant = sum.constant.checked_add(other.constant.checked_mul(factor)?)?;
        other.terms.iter().try_for_each(|(name, c)| sum.add_term(name, c.checked_mul(factor)?))?;
        Some(sum)
    }

    /// Adds `coefficient · variable`; `None` if its coefficient overflows.
    pub fn add_term(&mut self, variable: &str, coefficient: i64) -> Option<()> {
        match self.terms.binary_search_by(|(name, _)| name.as_str().cmp(variable)) {
            Ok(at) => match self.terms[at].1.checked_add(coefficient)? {
                0 => drop(self.terms.remove(at)),
                sum => self.terms[at].1 = sum,
            },
            Err(at) if coefficient != 0 => self.terms.insert(at, (variable.to_owned(), coefficient)),
            Err(_) => {}
        }
        Some(())
    }
}

impl fmt::Display for Affine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut first = true;
        for (name, c) in &self.terms {
            match (first, *c) {
                (true, 1) => write!(f, "{name}")?,
                (true, -1) => write!(f, "-{name}")?,
                (true, c) => write!(f, "{c}*{name}")?,
                (false, 1) => write!(f, " + {name}")?,
                (false, -1) => write!(f, " - {name}")?,
                (false, c) if c < 0 => write!(f, " - {}*{name}", c.unsigned_abs())?,
                (false, c) => write!(f, " + {c}*{name}")?,
            }
            first = false;
        }
        match (first, self.constant) {
            (true, c) => write!(f, "{c}"),
            (false, 0) => Ok(()),
            (false, c) if c < 0 => write!(f, " - {}", c.unsigned_abs()),
            (false, c) => write!(f, " + {c}"),
        }
    }
}
