//! The primitive `prefetch`.

use std::sync::Arc;

use dietcode_syntax::Role;

use super::{Instruction, Loop, Schedule, legality};
use crate::Result;
use crate::ir::{Block, Buffer, Expr, ForKind, Name};

/// How many iterations ahead sketches and templates ask: none, or those of the next.
pub(crate) const AHEAD: [i64; 2] = [0, 1];

/// A tensor of which the iterations of a loop ask for what later ones read.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Prefetch {
    pub(crate) buffer: Name,
    /// The loop.
    pub(crate) at: Name,
    /// How many iterations later.
    pub(crate) ahead: i64,
}

impl Schedule {
    /// Has each iteration of a loop ask for what the iteration `ahead` later reads of a tensor, so that it comes from memory meanwhile;
    /// Halide's `prefetch`. Along loops around that do not move the read, only the first iteration asks: the others read the same again.
    /// With 0 nothing is asked for. A tile that hangs over the edge of the tensor is not asked for either.
    ///
    /// ```text
    /// for j_0                              for j_0
    ///   for i_0 in 0..n                      for i_0 in 0..n
    ///     for k, i_1                  →        if j_0 == 0 && i_0 + 1 < n: for i_1: prefetch x[i_0·8 + 8 + i_1][…]
    ///       … x[i_0·8 + i_1][k] …              for k, i_1: … x[i_0·8 + i_1][k] …                                    1 ahead
    /// ```
    ///
    /// Along an axis of the nest by which tasks of a sum differ, such as that of a batch, the tiles of one iteration ask together for the
    /// slice of a tensor that those of a later one read or write: each for its share, so that it arrives evenly. A slice is taken as if its
    /// rows followed each other without a gap.
    ///
    /// ```text
    /// parallel for b, j_0                  parallel for b, j_0
    ///   for i_0 in 0..n                      for i_0 in 0..n
    ///     for k, i_1                  →        if b + 1 < B: prefetch the part j_0·n + i_0 of x[b + 1][…][…]
    ///       … x[b][i_0·8 + i_1][k] …           for k, i_1: … x[b][i_0·8 + i_1][k] …                                   1 ahead
    /// ```
    ///
    /// It is a CPU's: a GPU has threads that compute while others wait, and copies that arrive later (`pipeline`).
    ///
    /// # Errors
    /// The sum reads nothing of the tensor that moves with this loop; the loop is neither serial nor an axis of tasks, or has no slices of the
    /// tensor; `ahead` is not from 0 to 8.
    pub fn prefetch(&mut self, buffer: &str, at: &str, ahead: i64) -> Result<()> {
        legality::prefetch(self, buffer, at, ahead)?;
        let prefetch = Prefetch { buffer: buffer.into(), at: at.into(), ahead };
        self.prefetches.retain(|known| (&known.buffer, &known.at) != (&prefetch.buffer, &prefetch.at));
        self.prefetches.push(prefetch);
        self.record(Instruction::Prefetch { buffer: buffer.into(), at: at.into(), ahead: ahead.into() });
        Ok(())
    }

    /// Whether a sum is computed in tasks that differ along an axis of the nest, of which a register tile has one iteration.
    pub(crate) fn is_of_tasks(&self, axis: &str) -> bool {
        let is_parallel = self.loops.iter().any(|l| l.kind == ForKind::Parallel && self.is_part(l, axis));
        is_parallel && self.block.reduction.is_some() && self.is_same_in_tile(axis)
    }

    /// Whether a register tile has one iteration of an axis, which is not a sum's.
    fn is_same_in_tile(&self, axis: &str) -> bool {
        let is_in_tile =
            |l: &Loop| matches!(l.kind, ForKind::Unrolled | ForKind::Vectorized) && l.extent != Expr::Int(1);
        let is_own = self.block.iters_of(Role::Spatial).any(|iter| &*iter.name == axis);
        is_own && !self.loops.iter().any(|l| is_in_tile(l) && self.is_part(l, axis))
    }

    /// Whether a loop, or one that was fused to it, is a part of an axis.
    fn is_part(&self, l: &Loop, axis: &str) -> bool {
        let is_part = |name: &Name| matches!(&self.roots(name)[..], [root] if &**root == axis);
        self.parts(&l.name).iter().any(is_part)
    }

    /// An access to a tensor, which the sum reads or the block writes, and the dimension of its slices along an axis of tasks, see
    /// [`slices_along`].
    pub(crate) fn slices(&self, buffer: &str, axis: &str) -> Option<(Arc<Buffer>, Vec<Expr>, usize)> {
        let accesses = self.block.accesses().into_iter();
        let mut own = accesses.filter(|(tensor, _)| self.is_of_tasks(axis) && &*tensor.name == buffer);
        let is_around = |outer: &Name| self.is_same_in_tile(outer);
        own.find_map(|(tensor, index)| slices_along(&index, axis, is_around).map(|at| (tensor, index, at)))
    }
}

impl Block {
    /// The tensors that the sum reads or the block writes, with their indices.
    fn accesses(&self) -> Vec<(Arc<Buffer>, Vec<Expr>)> {
        let written = (self.output.clone(), self.output_index.clone());
        self.update_reads().into_iter().chain([written]).collect()
    }

    /// Those of them that have a slice for each iteration of an axis, each once; `is_around` as for [`slices_along`].
    pub(crate) fn slices_along(&self, axis: &str, is_around: impl Fn(&Name) -> bool) -> Vec<Name> {
        let mut tensors: Vec<Name> = Vec::new();
        for (tensor, index) in self.accesses() {
            if slices_along(&index, axis, &is_around).is_some() && !tensors.contains(&tensor.name) {
                tensors.push(tensor.name.clone());
            }
        }
        tensors
    }
}

/// The dimension along which an axis moves a tensor from slice to slice: all dimensions in front of it have an axis each that is around the
/// tile, so that a tile has one slice, and the axis moves none behind it.
fn slices_along(index: &[Expr], axis: &str, is_around: impl Fn(&Name) -> bool) -> Option<usize> {
    let at = index.iter().position(|e| matches!(e, Expr::Var(name) if &**name == axis))?;
    let (outer, inner) = (&index[..at], &index[at + 1..]);
    let is_slice = !inner.is_empty() && !inner.iter().any(|e| e.uses(axis));
    (is_slice && outer.iter().all(|e| matches!(e, Expr::Var(name) if is_around(name)))).then_some(at)
}
