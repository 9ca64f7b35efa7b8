//! The primitive `partition`.

use super::{Instruction, Schedule, legality};
use crate::Result;

/// How often sketches and templates halve a loop that they partition: tiles of a half, a quarter and an eighth of the iterations.
pub(crate) const HALVINGS: i64 = 3;

impl Schedule {
    /// Gives tiles at an edge a body of their own, known as loop partitioning; with 0 all tiles have one.
    ///
    /// On a CPU, a register tile that hangs over the edge along an unrolled loop has fewer iterations of it: half as many, or half of
    /// these, up to so many times, the fewest that cover what is left. With 0 halvings all of a tile is computed, and what lies outside of
    /// the tensor is thrown away.
    ///
    /// ```text
    /// for i_0                                  for i_0
    ///   unrolled i_1 in 0..8                     if i_0·8 + 4 < M
    ///     y_tile[i_1] += …                         unrolled i_1 in 0..8: y_tile[i_1] += …
    ///                                    →       else if i_0·8 + 2 < M
    ///                                              unrolled i_1 in 0..4: y_tile[i_1] += …
    ///                                            else
    ///                                              unrolled i_1 in 0..2: y_tile[i_1] += …          2 halvings
    /// ```
    ///
    /// On a GPU, of a loop over blocks, 1 gives those blocks a body without predicates whose tile lies inside of all tensors, with all
    /// steps of the sum that the block has; the other blocks have the body in which copies are padded and stores are predicated, as all blocks have with 0.
    ///
    /// ```text
    /// blockIdx.x i_b, threads                  blockIdx.x i_b, threads
    ///   for k_0                                  if i_b·64 + 63 < M && (⌈K/8⌉ − 1)·8 + 7 < K
    ///     fill x_shared where i < M, k < K         for k_0: fill x_shared, y_tile += …
    ///     y_tile += …                      →       y[…] = y_tile
    ///   if i < M: y[…] = y_tile                  else
    ///                                              for k_0: fill x_shared where i < M, k < K, y_tile += …
    ///                                              if i < M: y[…] = y_tile
    /// ```
    ///
    /// # Errors
    /// The loop is neither an unrolled spatial one of a CPU nor a spatial one that is bound to a GPU's blocks; the halvings are not from 0
    /// to 8, or of a GPU not 0 or 1.
    pub fn partition(&mut self, name: &str, halvings: i64) -> Result<()> {
        let at = legality::partition(self, name, halvings)?;
        let name = self.loops[at].name.clone();
        self.partitions.retain(|(known, _)| *known != name);
        self.partitions.push((name.clone(), halvings));
        self.record(Instruction::Partition { name, halvings: halvings.into() });
        Ok(())
    }
}
