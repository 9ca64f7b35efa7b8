//! Sums that the threads of a block share: each has summed a part, and the parts meet in shared memory.
//!
//! It belongs to the first pass: what it adds are loops, stores and barriers like any others. Halving pairs the same parts
//! each time, so that a result has the same bits each time; a number of threads that is no power of two leaves one
//! part out of a step. Every part is stored once and read once, by another thread, with one barrier in between, so that a
//! step needs no second one.
//!
//! ```text
//! threadIdx.x t in 0..32                               threadIdx.x t in 0..32
//!   threadIdx.x k_c in 0..4                              threadIdx.x k_c in 0..4
//!     for k_0: y_tile[i] += x[…][k_0·4 + k_c]              for k_0: y_tile[i] += x[…][k_0·4 + k_c]
//!     y[…] = y_tile[i]                            →        if k_c >= 2: y_cross[i][t][k_c] = y_tile[i]
//!                                                          sync
//!                                                          if k_c < 2: y_tile[i] += y_cross[i][t][k_c + 2]
//!                                                          if k_c >= 1 && k_c < 2: y_cross[i][t][k_c] = y_tile[i]
//!                                                          sync
//!                                                          if k_c < 1: y_tile[i] += y_cross[i][t][k_c + 1]
//!                                                          sync
//!                                                          if k_c == 0: y[…] = y_tile[i]
//! ```
//!
//! Source: the halving tree of M. Harris, "Optimizing Parallel Reduction in CUDA" (NVIDIA, 2007); TVM's `LowerThreadAllreduce`.

use std::ops::Add;
use std::sync::Arc;

use dietcode_syntax::Role;

use crate::ir::{Buffer, CompareOp, Expr, Reduction, Scope, Stmt};
use crate::schedule::{Loop, Schedule};

/// The threads of a block that share a sum.
pub(super) struct CrossThread {
    /// The accumulators of each.
    tile: Arc<Buffer>,
    /// Where their parts meet: the tile's dimensions, then those of the threads, in the order in which these count, so that
    /// neighbours access neighbouring banks.
    parts: Arc<Buffer>,
    /// Which part of the sum a thread has, and how many there are.
    part: (Expr, i64),
    /// Which of the sums.
    sum: Expr,
    /// Whether neighbouring threads have parts of the same sum.
    part_is_last: bool,
}

impl CrossThread {
    /// None: each thread sums alone.
    pub(super) fn of(schedule: &Schedule, tile: &Arc<Buffer>) -> Option<CrossThread> {
        let of = |role| Loop::number(schedule.thread_loops().filter(move |l| l.role == role));
        let (part, (sum, sums)) = (of(Role::Reduce)?, of(Role::Spatial)?);
        if part.1 == 1 {
            return None;
        }
        let part_is_last = schedule.thread_loops().last().is_some_and(|l| l.role == Role::Reduce);
        let mut parts = Buffer {
            name: schedule.fresh_name(&format!("{}_cross", schedule.block.output.name)),
            scope: Scope::Shared,
            ..(**tile).clone()
        };
        let threads = [sums, part.1].map(Expr::Int);
        parts.shape.extend(ordered(threads, part_is_last));
        Some(CrossThread { tile: tile.clone(), parts: Arc::new(parts), part, sum, part_is_last })
    }

    /// The parts meet, and the threads that have the sums finish them. `index` is a tile's element inside of the loops that `over`
    /// puts around a statement.
    pub(super) fn meet(
        &self,
        reduction: &Reduction,
        index: &[Expr],
        over: &dyn Fn(Stmt) -> Stmt,
        finish: Stmt,
    ) -> Stmt {
        let mut steps = Vec::new();
        let mut left = self.part.1;
        while left > 1 {
            let half = (left + 1) / 2;
            let taken = self.take(reduction, index, half, left, over);
            steps.extend([self.leave(index, over, half, left), Stmt::Sync, taken]);
            left = half;
        }
        let first = Expr::compare(CompareOp::Eq, self.part.0.clone(), Expr::Int(0));
        // All threads have read the memory before it is used again.
        let body = Stmt::seq(steps.into_iter().chain([Stmt::Sync, Stmt::if_(first, finish)]));
        Stmt::Allocate { buffer: self.parts.clone(), body: Box::new(body) }
    }

    /// The threads of the upper half store their parts.
    fn leave(&self, index: &[Expr], over: &dyn Fn(Stmt) -> Stmt, half: i64, left: i64) -> Stmt {
        let own = &self.part.0;
        let upper = Expr::compare(CompareOp::Ge, own.clone(), Expr::Int(half));
        let alive = if left == self.part.1 { Expr::Int(1) } else { own.clone().lt(Expr::Int(left)) };
        let value = Expr::Load(self.tile.clone(), index.to_vec());
        let store = Stmt::Store { buffer: self.parts.clone(), index: self.place(index, own.clone()), value };
        Stmt::if_(upper.and(alive), over(store))
    }

    /// Those of the lower half combine them with theirs; one that has no partner keeps its part.
    fn take(&self, reduction: &Reduction, index: &[Expr], half: i64, left: i64, over: &dyn Fn(Stmt) -> Stmt) -> Stmt {
        let own = &self.part.0;
        let other = Expr::Load(self.parts.clone(), self.place(index, own.clone().add(Expr::Int(half))));
        let tile = Expr::Load(self.tile.clone(), index.to_vec());
        let value = reduction.combine(tile, other);
        let store = Stmt::Store { buffer: self.tile.clone(), index: index.to_vec(), value };
        Stmt::if_(own.clone().lt(Expr::Int(left - half)), over(store))
    }

    /// Where a part of an element lies.
    fn place(&self, index: &[Expr], part: Expr) -> Vec<Expr> {
        index.iter().cloned().chain(ordered([self.sum.clone(), part], self.part_is_last)).collect()
    }
}

/// What belongs to the sum and to the part, in the order in which threads count.
fn ordered([sum, part]: [Expr; 2], part_is_last: bool) -> [Expr; 2] {
    if part_is_last { [sum, part] } else { [part, sum] }
}
