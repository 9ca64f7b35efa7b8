//! The primitive `rfactor`.

use super::{Combine, Instruction, Schedule, legality};
use crate::Result;

impl Schedule {
    /// Lets the tiles along a reduction that is bound to the grid, or parallel, compute parts of the sum; TVM's `rfactor`, known
    /// as split-K.
    ///
    /// ```text
    /// for k_s bound to the grid                for k_s bound to the grid
    ///   for k                            →       for k: part[k_s][i] += …
    ///     y[i] += …                            for k_s: y[i] += part[k_s][i]
    /// ```
    ///
    /// # Errors
    /// No reduction is bound to the grid; one by another operator than a sum is to meet by atomic operations, or one whose output holds
    /// something else.
    pub fn rfactor(&mut self, combine: Combine) -> Result<()> {
        legality::rfactor(self, combine)?;
        self.rfactor = Some(combine);
        self.record(Instruction::Rfactor(combine));
        Ok(())
    }
}
