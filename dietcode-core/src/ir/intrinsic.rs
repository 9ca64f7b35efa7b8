//! Operations that a target carries out with instructions of its own.

use std::sync::Arc;

use super::{BinaryOp, Buffer, Dot, Expr};

/// A special operation. Each says in loops what it stands for.
#[derive(Clone, Debug, PartialEq)]
pub enum Intrinsic {
    /// `for column in 0..columns { for lane in 0..lanes { to[lane fastest] = lane < valid ? from[column fastest] : 0 } }`:
    /// a copy that exchanges which of two loops is contiguous, done in registers. Where an element is several, as many neighbours of
    /// both move together. Loops of [`runs`](Run) stand around that: where a run follows the one before it in memory, they are one.
    TransposeCopy {
        /// The destination and its element at (0, 0); its last dimension runs over the lanes, or over the neighbours that are one
        /// element, and the one before it over the lanes.
        to: Arc<Buffer>,
        /// Index of the destination at (0, 0).
        to_index: Vec<Expr>,
        /// Distance in elements between columns of the destination.
        to_stride: i64,
        /// The source; its last dimension runs over the columns.
        from: Arc<Buffer>,
        /// Index of the source at (0, 0).
        from_index: Vec<Expr>,
        /// Dimension of the source over which the lanes run.
        from_dim: usize,
        /// How many lanes: a power of two.
        lanes: i64,
        /// How many of them lie inside of the tensor.
        valid: Expr,
        /// How many columns.
        columns: Expr,
        /// How many neighbours along the source's last dimension are an element.
        neighbours: i64,
        /// At most [`Run::MOST`] loops around the columns, outermost first.
        runs: Vec<Run>,
    },
    /// `for lane in 0..lanes { to[.. + lane·to_step] = lane < valid ? from[.. + lane] : padding }`, by one access of the width
    /// of all lanes where the addresses allow it. Into global memory, only the valid lanes are written.
    Copy {
        /// The destination.
        to: Arc<Buffer>,
        /// Index of its lane 0.
        to_index: Vec<Expr>,
        /// Distance in elements between the lanes of the destination.
        to_step: i64,
        /// The source; its lanes are neighbours.
        from: Arc<Buffer>,
        /// Index of its lane 0.
        from_index: Vec<Expr>,
        /// How many lanes: a power of two.
        lanes: i64,
        /// How many of them lie inside of the tensor; any integer.
        valid: Expr,
        /// A condition on what is the same for a whole launch, where it is known: if it holds, all of them lie inside or none, in every
        /// copy that this statement makes.
        whole: Expr,
        /// What the others get; none: zeros, which an asynchronous copy writes by itself.
        padding: Option<Expr>,
        /// Whether the data may arrive as late as the [`Intrinsic::Wait`] for its group.
        asynchronous: bool,
        /// Whether elements of `f32` are rounded to tf32 on their way; they are then not asynchronous.
        tf32: bool,
    },
    /// Asks for what lies in memory from an element on, so that it is in the cache when it is read; nothing is read, and no result
    /// depends on it.
    Prefetch {
        /// The tensor.
        from: Arc<Buffer>,
        /// Index of the first element.
        from_index: Vec<Expr>,
        /// How many, along the last dimension; any integer.
        elements: Expr,
    },
    /// Closes a group of asynchronous copies; PTX `cp.async.commit_group`.
    Commit,
    /// Waits until at most this many of the thread's groups, the youngest, are under way; PTX `cp.async.wait_group`.
    Wait(i64),
    /// A warp loads operands of [`Intrinsic::Mma`] from shared memory; PTX `ldmatrix`.
    LoadMatrix {
        /// The destination, of scope [`super::Scope::Fragment`]; its last dimension are a thread's registers.
        to: Arc<Buffer>,
        /// Index of the first fragment's first register.
        to_index: Vec<Expr>,
        /// The source, in shared memory.
        from: Arc<Buffer>,
        /// Index of the matrix's corner.
        from_index: Vec<Expr>,
        /// Which operand it is.
        operand: Operand,
        /// Distance in elements between neighbours along the summed loop; it or `spatial_stride` is 1.
        reduce_stride: i64,
        /// Distance in elements between neighbours along the other.
        spatial_stride: i64,
        /// How many neighbouring fragments along the other loop are loaded at once: 1, or 2 of operand B.
        fragments: i64,
        /// What becomes of the elements on their way.
        parts: Parts,
    },
    /// A warp multiplies two matrices and adds the product to a third: `to[16][8] += a[16][k] · b[k][8]`, where k·(bytes of an
    /// element) = 32; PTX `mma.sync`.
    Mma {
        /// The accumulators: a thread's four are the last two dimensions of the tile.
        to: Arc<Buffer>,
        /// Index of the first of them.
        to_index: Vec<Expr>,
        /// Fragments of the left operand.
        a: Arc<Buffer>,
        /// Index of its first register.
        a_index: Vec<Expr>,
        /// Fragments of the right operand.
        b: Arc<Buffer>,
        /// Index of its first register.
        b_index: Vec<Expr>,
    },
    /// In each lane of the loop around, which is vectorized: `for s in 0..steps { to[…] += a[… + s] · b[… + s] }`, where the last
    /// dimension of both operands runs over the steps of the instruction. Of elements that it shifts (`ir/dot.rs`) it adds the products with
    /// shifted ones.
    Dot {
        /// The instruction.
        dot: Dot,
        /// The accumulators, which move with the lanes.
        to: Arc<Buffer>,
        /// Index of the lane's.
        to_index: Vec<Expr>,
        /// The operand that moves with the lanes: the dimension before its last one runs over them.
        a: Arc<Buffer>,
        /// Index of the lane's first step.
        a_index: Vec<Expr>,
        /// The one that is the same in all lanes, and the index of its first step; none: zeros that are shifted.
        b: Option<(Arc<Buffer>, Vec<Expr>)>,
    },
    /// Over the lanes of the loop around, which is vectorized: `to[… + n] = parts[n][0] ⊕ … ⊕ parts[n][lanes - 1]`, where halves of a
    /// vector are combined until one lane is left, lower lanes as the left operand.
    MeetLanes {
        /// The operator.
        op: BinaryOp,
        /// What receives them, one behind the other in memory.
        to: Arc<Buffer>,
        /// Index of the first.
        to_index: Vec<Expr>,
        /// Accumulators, each with its index: the last dimension runs over the lanes.
        parts: Vec<(Arc<Buffer>, Vec<Expr>)>,
    },
    /// `to[index] += value`, as one operation of the memory.
    AtomicAdd {
        /// The tensor.
        to: Arc<Buffer>,
        /// The element.
        index: Vec<Expr>,
        /// What is added.
        value: Expr,
    },
}

/// An operand of a matrix instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Operand {
    /// The left one: 16 rows.
    A,
    /// The right one: 8 columns.
    B,
}

/// What a fragment holds of the elements that are loaded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Parts {
    /// The elements as they lie in shared memory.
    Whole,
    /// The number of tf32 that is nearest to each.
    High,
    /// That, and the number of tf32 nearest to what is left: the buffer's first dimension are these two.
    HighAndLow,
}

/// A loop around the columns of a transposing copy, along one dimension of both sides.
#[derive(Clone, Debug, PartialEq)]
pub struct Run {
    /// Its iterations.
    pub extent: Expr,
    /// The dimension of the destination.
    pub to_dim: usize,
    /// The dimension of the source.
    pub from_dim: usize,
}

impl Run {
    /// As many as the functions of `dietcode.h` have.
    pub const MOST: usize = 2;
}

impl Intrinsic {
    /// What is read and written: buffer, index, whether it is written.
    pub fn accesses(&self) -> Vec<(&Arc<Buffer>, &[Expr], bool)> {
        match self {
            Intrinsic::TransposeCopy { to, to_index, from, from_index, .. }
            | Intrinsic::Copy { to, to_index, from, from_index, .. }
            | Intrinsic::LoadMatrix { to, to_index, from, from_index, .. } => {
                vec![(to, to_index, true), (from, from_index, false)]
            }
            Intrinsic::Mma { to, to_index, a, a_index, b, b_index } => {
                vec![(to, to_index, true), (a, a_index, false), (b, b_index, false)]
            }
            Intrinsic::MeetLanes { to, to_index, parts, .. } => {
                let parts = parts.iter().map(|(from, index)| (from, &index[..], false));
                [(to, &to_index[..], true)].into_iter().chain(parts).collect()
            }
            Intrinsic::Dot { to, to_index, a, a_index, b, .. } => {
                let b = b.iter().map(|(b, index)| (b, &index[..], false));
                [(to, &to_index[..], true), (a, a_index, false)].into_iter().chain(b).collect()
            }
            Intrinsic::AtomicAdd { to, index, .. } => vec![(to, index, true)],
            Intrinsic::Prefetch { from, from_index, .. } => vec![(from, from_index, false)],
            Intrinsic::Commit | Intrinsic::Wait(_) => Vec::new(),
        }
    }

    /// The expressions in it that are no index.
    pub fn values(&self) -> Vec<&Expr> {
        match self {
            Intrinsic::TransposeCopy { valid, columns, runs, .. } => {
                [valid, columns].into_iter().chain(runs.iter().map(|run| &run.extent)).collect()
            }
            Intrinsic::Copy { valid, whole, padding, .. } => [valid, whole].into_iter().chain(padding).collect(),
            Intrinsic::AtomicAdd { value, .. } | Intrinsic::Prefetch { elements: value, .. } => vec![value],
            _ => Vec::new(),
        }
    }

    /// The buffers with the index into each, and the other expressions, to be changed.
    #[allow(clippy::type_complexity, reason = "two lists, of what the two functions below change")]
    fn parts_mut(&mut self) -> (Vec<(&mut Arc<Buffer>, &mut Vec<Expr>)>, Vec<&mut Expr>) {
        match self {
            Intrinsic::TransposeCopy { to, to_index, from, from_index, valid, columns, runs, .. } => {
                let runs = runs.iter_mut().map(|run| &mut run.extent);
                (vec![(to, to_index), (from, from_index)], [valid, columns].into_iter().chain(runs).collect())
            }
            Intrinsic::Copy { to, to_index, from, from_index, valid, whole, .. } => {
                (vec![(to, to_index), (from, from_index)], vec![valid, whole])
            }
            Intrinsic::LoadMatrix { to, to_index, from, from_index, .. } => {
                (vec![(to, to_index), (from, from_index)], Vec::new())
            }
            Intrinsic::Mma { to, to_index, a, a_index, b, b_index } => {
                (vec![(to, to_index), (a, a_index), (b, b_index)], Vec::new())
            }
            Intrinsic::MeetLanes { to, to_index, parts, .. } => {
                let parts = parts.iter_mut().map(|(from, index)| (from, index));
                ([(to, to_index)].into_iter().chain(parts).collect(), Vec::new())
            }
            Intrinsic::Dot { to, to_index, a, a_index, b, .. } => {
                let b = b.iter_mut().map(|(b, index)| (b, index));
                ([(to, to_index), (a, a_index)].into_iter().chain(b).collect(), Vec::new())
            }
            Intrinsic::AtomicAdd { to, index, value }
            | Intrinsic::Prefetch { from: to, from_index: index, elements: value } => (vec![(to, index)], vec![value]),
            Intrinsic::Commit | Intrinsic::Wait(_) => (Vec::new(), Vec::new()),
        }
    }

    /// Calls `f` on every expression.
    pub(super) fn visit_exprs_mut(&mut self, f: &mut dyn FnMut(&mut Expr)) {
        let (accesses, values) = self.parts_mut();
        accesses.into_iter().flat_map(|(_, index)| index).chain(values).for_each(f);
    }

    /// Replaces a buffer by another, whose indices `f` makes of those that there are.
    pub(super) fn rewrite_accesses(&mut self, old: &Arc<Buffer>, new: &Arc<Buffer>, f: &dyn Fn(&mut Vec<Expr>)) {
        for (buffer, index) in self.parts_mut().0.into_iter().filter(|(buffer, _)| *buffer == old) {
            *buffer = new.clone();
            f(index);
        }
    }
}
