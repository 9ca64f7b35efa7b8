//! Programs before they are scheduled: buffers and blocks.

use std::sync::Arc;

use dietcode_syntax::Role;

use super::{BinaryOp, DType, Expr, ReduceOp, affine};

/// A name of a variable or a buffer; unique within a program.
pub type Name = Arc<str>;

/// What a kernel computes, at any shape.
#[derive(Clone, Debug, PartialEq)]
pub struct Program {
    /// The kernel's name.
    pub name: Name,
    /// The nest in its canonical form, as Rust source: what a report of a defect shows.
    pub nest: Arc<str>,
    /// The shape variables, in the order in which the runtime passes their values.
    pub shape_vars: Vec<Name>,
    /// The tensors, in the order of the function's parameters; scope [`Scope::Global`]. One without dimensions is a scalar.
    pub params: Vec<Arc<Buffer>>,
    /// Integers that are computed once per call, of shape variables and scalars: extents may name them like shape variables,
    /// but for those of spatial loops, which the grid is made of.
    pub derived: Vec<(Name, Expr)>,
    /// The computations, in order.
    pub blocks: Vec<Block>,
    /// The operands that a program lays out before its calls.
    pub prepared: Vec<Prepared>,
}

/// An operand as a program lays it out before its calls: blocks index the tensor, and loops that are built of them read this.
#[derive(Clone, Debug, PartialEq)]
pub struct Prepared {
    /// The tensor.
    pub tensor: Arc<Buffer>,
    /// What the code is handed, under the same name: of the type that the program computes in, dense,
    /// `[outer dimensions…][⌈extent / panel⌉][inner dimensions…][panel]`.
    pub laid_out: Arc<Buffer>,
    /// How it lies.
    pub layout: dietcode_syntax::Prepared,
}

/// A tensor, or a piece of memory that a schedule adds.
#[derive(Clone, Debug, PartialEq)]
pub struct Buffer {
    /// Its name.
    pub name: Name,
    /// Element type.
    pub dtype: DType,
    /// Extents, outermost first. Only a global buffer's may name shape variables.
    pub shape: Vec<Expr>,
    /// Where it lives.
    pub scope: Scope,
    /// How many neighbours stay together where the rows of a tile in shared memory are swizzled; 0: they lie in their order.
    /// See [`Swizzle`](super::Swizzle).
    pub swizzle: i64,
}

/// Where a buffer lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Scope {
    /// The caller's memory; addressed through run-time strides, the last of which is 1.
    Global,
    /// Memory that the threads of a GPU's block share, row-major.
    Shared,
    /// A thread's scratch memory, row-major, in the order in which the tile reads it: a packed panel.
    Panel,
    /// A thread's stack, row-major.
    Local,
    /// Registers: every index is a constant, or the lane of a vector.
    Register,
    /// Registers of a matrix instruction: 32 bits of packed elements each; the last dimension are those of a thread.
    Fragment,
    /// A window into another buffer, with strides of its own, chosen at run time by [`super::Stmt::View`].
    View,
}

/// One computation: for every value of the spatial variables,
/// `output[output_index] = epilogue(init op all updates over the reduce variables)`.
#[derive(Clone, Debug, PartialEq)]
pub struct Block {
    /// Its name.
    pub name: Name,
    /// The iteration variables, spatial ones first.
    pub iters: Vec<IterVar>,
    /// The buffer it writes.
    pub output: Arc<Buffer>,
    /// Which element of it.
    pub output_index: Vec<Expr>,
    /// Init and update of the accumulator; a block without them is elementwise.
    pub reduction: Option<Reduction>,
    /// The stored value; [`ACC`] stands for the finished accumulator.
    pub epilogue: Expr,
}

/// The accumulating part of a block.
#[derive(Clone, Debug, PartialEq)]
pub struct Reduction {
    /// How terms are combined, in any order and grouping.
    pub op: ReduceOp,
    /// The type of the accumulator and of the terms.
    pub dtype: DType,
    /// What the accumulator starts with.
    pub init: Expr,
    /// The terms.
    pub update: Expr,
}

/// An iteration variable of a block.
#[derive(Clone, Debug, PartialEq)]
pub struct IterVar {
    /// Its name.
    pub name: Name,
    /// Values are `0..extent`.
    pub extent: Expr,
    /// Spatial or reduce.
    pub role: Role,
}

/// The variable that stands for the accumulator in an epilogue. It lies in the prefix that users may not use.
pub const ACC: &str = "dietcode_acc";

impl Reduction {
    /// What a part of it starts with.
    pub fn identity(&self) -> Expr {
        Expr::Float(self.op.identity(self.dtype))
    }

    /// An accumulator and a term, or the two parts of a reduction, the earlier one first.
    pub fn combine(&self, acc: Expr, term: Expr) -> Expr {
        Expr::Binary(self.operator(), Arc::new(acc), Arc::new(term))
    }

    /// What combines them.
    pub(crate) fn operator(&self) -> BinaryOp {
        match self.op {
            ReduceOp::Sum => BinaryOp::Add,
            ReduceOp::Prod => BinaryOp::Mul,
            ReduceOp::Max => BinaryOp::Max,
            ReduceOp::Min => BinaryOp::Min,
        }
    }

    /// The terms, if it is a sum.
    pub fn summed(&self) -> Option<&Expr> {
        (self.op == ReduceOp::Sum).then_some(&self.update)
    }
}

impl Block {
    /// The iteration variables of a role.
    pub fn iters_of(&self, role: Role) -> impl Iterator<Item = &IterVar> {
        self.iters.iter().filter(move |iter| iter.role == role)
    }

    /// The spatial variable along which the output is contiguous: its last index moves by 1 with that one.
    pub fn contiguous(&self) -> Option<&Name> {
        let last = affine(self.output_index.last()?)?;
        self.iters_of(Role::Spatial).map(|iter| &iter.name).find(|name| last.coefficient(name) == 1)
    }

    /// Whether the output is a sum as it is, of the sum's type, so that atomic additions may meet in it.
    pub fn holds_sum(&self) -> bool {
        let sum = self.reduction.as_ref().filter(|reduction| reduction.op == ReduceOp::Sum);
        self.epilogue == Expr::var(ACC) && sum.is_some_and(|sum| sum.dtype == self.output.dtype)
    }

    /// The distinct reads of tensors in the accumulating part, in order of appearance: buffer and index. Scalars are no
    /// reads: nothing moves along them.
    pub fn update_reads(&self) -> Vec<(Arc<Buffer>, Vec<Expr>)> {
        reads(self.reduction.iter().map(|reduction| &reduction.update))
    }

    /// The same of what is read once for each element of the output: by the epilogue, and by the value that the sum starts with.
    pub(crate) fn final_reads(&self) -> Vec<(Arc<Buffer>, Vec<Expr>)> {
        reads(self.reduction.iter().map(|reduction| &reduction.init).chain([&self.epilogue]))
    }
}

fn reads<'e>(of: impl Iterator<Item = &'e Expr>) -> Vec<(Arc<Buffer>, Vec<Expr>)> {
    let mut reads = Vec::new();
    for e in of {
        e.visit(&mut |e| {
            if let Expr::Load(buffer, index) = e
                && !buffer.is_scalar()
                && !reads.contains(&(buffer.clone(), index.clone()))
            {
                reads.push((buffer.clone(), index.clone()));
            }
        });
    }
    reads
}

impl Program {
    /// The value of a shape variable at a shape, which has one for each in their order.
    pub fn value_at(&self, shape: &[i64], var: &str) -> Option<i64> {
        shape.get(self.shape_vars.iter().position(|known| **known == *var)?).copied()
    }

    /// The type that values are computed in before they are stored, and sums unless they are of integers.
    pub fn computes_in(&self) -> DType {
        DType::computing(self.params.iter().map(|param| param.dtype))
    }

    /// The type that sums have, and so tiles, panels and parts of sums; as long as the one that is computed in.
    pub fn sums_in(&self) -> DType {
        let sum = self.blocks.iter().find_map(|block| block.reduction.as_ref());
        sum.map_or_else(|| self.computes_in(), |sum| sum.dtype)
    }

    /// An operand, if it is laid out before calls.
    pub fn prepared(&self, tensor: &str) -> Option<&Prepared> {
        self.prepared.iter().find(|prepared| *prepared.tensor.name == *tensor)
    }

    /// Whether a block reads an operand that is laid out before calls at other places for other values of an axis. Along a sum nothing
    /// pads it: it ends where the sum does.
    pub fn reads_prepared_along(&self, block: &Block, axis: &str) -> bool {
        let along = |(buffer, index): &(Arc<Buffer>, Vec<Expr>)| {
            self.prepared(&buffer.name).is_some() && index.iter().any(|e| e.uses(axis))
        };
        block.update_reads().iter().any(along)
    }

    /// The tensors and scalars as the code is handed them, in the order of the parameters.
    pub fn operands(&self) -> Vec<Arc<Buffer>> {
        let handed =
            |param: &Arc<Buffer>| self.prepared(&param.name).map_or(param, |prepared| &prepared.laid_out).clone();
        self.params.iter().map(handed).collect()
    }

    /// An extent where conditioned sums are taken, in terms of the shape variables.
    pub(crate) fn taken(&self, e: &Expr) -> Expr {
        self.derived.iter().fold(e.clone(), |e, (name, value)| match value {
            Expr::Select(_, taken, _) => e.substitute(name, taken),
            value => e.substitute(name, value),
        })
    }

    /// The variables that are known at the start of a call: those of the shape, and what is derived.
    pub fn variables(&self) -> Vec<Name> {
        self.shape_vars.iter().chain(self.derived.iter().map(|(name, _)| name)).cloned().collect()
    }
}

impl Buffer {
    /// The same with a dimension more, of this extent, at a place among its own.
    pub(crate) fn with_dimension(&self, place: usize, extent: i64) -> Arc<Buffer> {
        let mut shape = self.shape.clone();
        shape.insert(place, Expr::Int(extent));
        Arc::new(Buffer { shape, ..self.clone() })
    }

    /// Whether it is a scalar parameter: passed by its value, read without an index.
    pub fn is_scalar(&self) -> bool {
        self.shape.is_empty() && self.scope == Scope::Global
    }

    /// Bytes of a buffer whose extents are constants.
    pub fn bytes(&self) -> Option<i64> {
        self.shape.iter().try_fold(self.dtype.bytes(), |bytes, extent| bytes.checked_mul(extent.as_int()?))
    }
}
