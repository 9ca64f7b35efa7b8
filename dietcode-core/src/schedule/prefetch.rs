//! The primitive `prefetch`.

use super::{Instruction, Schedule, legality};
use crate::Result;
use crate::ir::Name;

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
    /// It is a CPU's: a GPU has threads that compute while others wait, and copies that arrive later (`pipeline`).
    ///
    /// # Errors
    /// The sum does not read the tensor, or not by this loop; the loop is not serial; `ahead` is not from 0 to 8.
    pub fn prefetch(&mut self, buffer: &str, at: &str, ahead: i64) -> Result<()> {
        legality::prefetch(self, buffer, at, ahead)?;
        let prefetch = Prefetch { buffer: buffer.into(), at: at.into(), ahead };
        self.prefetches.retain(|known| (&known.buffer, &known.at) != (&prefetch.buffer, &prefetch.at));
        self.prefetches.push(prefetch);
        self.record(Instruction::Prefetch { buffer: buffer.into(), at: at.into(), ahead: ahead.into() });
        Ok(())
    }
}
