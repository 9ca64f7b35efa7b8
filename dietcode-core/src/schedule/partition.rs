//! The primitive `partition`.

use super::{Instruction, Schedule, legality};
use crate::Result;

/// How often sketches and templates halve a loop that they partition: tiles of a half, a quarter and an eighth of the iterations.
pub(crate) const HALVINGS: i64 = 3;

impl Schedule {
    /// Gives a register tile that hangs over the edge along an unrolled loop fewer iterations of it: half as many, or half of
    /// these, up to so many times, the fewest that cover what is left. Known as loop partitioning; with 0 halvings all of a tile is
    /// computed, and what lies outside of the tensor is thrown away.
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
    /// # Errors
    /// The loop is not an unrolled spatial one, or the halvings are not from 0 to 8.
    pub fn partition(&mut self, name: &str, halvings: i64) -> Result<()> {
        let at = legality::partition(self, name, halvings)?;
        let name = self.loops[at].name.clone();
        self.partitions.retain(|(known, _)| *known != name);
        self.partitions.push((name.clone(), halvings));
        self.record(Instruction::Partition { name, halvings: halvings.into() });
        Ok(())
    }
}
