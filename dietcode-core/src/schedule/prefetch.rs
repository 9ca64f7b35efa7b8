//! The primitive `prefetch`.

use std::sync::Arc;

use dietcode_syntax::Role;

use super::{Instruction, Schedule, legality};
use crate::Result;
use crate::ir::{Buffer, Expr, ForKind, Name};

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
    /// Along an axis that is whole among the tasks of threads, such as that of a batch, the tiles of one iteration ask together for the
    /// slice of a tensor that those of a later one read, or write: each for its share, so that it arrives evenly.
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
    /// The sum does not read the tensor, or not by this loop; the loop is neither serial nor an axis of tasks that has slices of the
    /// tensor; `ahead` is not from 0 to 8.
    pub fn prefetch(&mut self, buffer: &str, at: &str, ahead: i64) -> Result<()> {
        legality::prefetch(self, buffer, at, ahead)?;
        let prefetch = Prefetch { buffer: buffer.into(), at: at.into(), ahead };
        self.prefetches.retain(|known| (&known.buffer, &known.at) != (&prefetch.buffer, &prefetch.at));
        self.prefetches.push(prefetch);
        self.record(Instruction::Prefetch { buffer: buffer.into(), at: at.into(), ahead: ahead.into() });
        Ok(())
    }

    /// Whether tasks differ along an axis of the nest, of which each has one iteration.
    pub(crate) fn is_of_tasks(&self, axis: &str) -> bool {
        let is_own = self.block.iters_of(Role::Spatial).any(|iter| &*iter.name == axis);
        let tasks = self.loops.iter().filter(|l| l.kind == ForKind::Parallel);
        is_own && tasks.flat_map(|l| self.parts(&l.name)).any(|part| &*part == axis)
    }

    /// The access to a tensor, which the sum reads or the block writes, and the dimension of its slices along an axis of tasks, see
    /// [`slices_along`].
    pub(crate) fn slices(&self, buffer: &str, axis: &str) -> Option<(Arc<Buffer>, Vec<Expr>, usize)> {
        let written = (self.block.output.clone(), self.block.output_index.clone());
        let mut accesses = self.block.update_reads().into_iter().chain([written]);
        let (buffer, index) = accesses.find(|(tensor, _)| &*tensor.name == buffer)?;
        let at = slices_along(&index, axis, |name| self.is_of_tasks(name))?;
        Some((buffer, index, at))
    }
}

/// The dimension along which an axis moves a tensor from slice to slice: all dimensions up to it have an axis of tasks each, and what lies
/// behind it is read or written by the tasks of one iteration.
pub(crate) fn slices_along(index: &[Expr], axis: &str, is_of_tasks: impl Fn(&Name) -> bool) -> Option<usize> {
    let at = index.iter().position(|e| matches!(e, Expr::Var(name) if &**name == axis))?;
    let is_fixed = |e: &Expr| matches!(e, Expr::Var(name) if is_of_tasks(name));
    let (outer, inner) = index.split_at(at + 1);
    (!inner.is_empty() && !inner.iter().any(|e| e.uses(axis)) && outer.iter().all(is_fixed)).then_some(at)
}
