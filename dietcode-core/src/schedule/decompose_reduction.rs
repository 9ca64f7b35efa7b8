//! The primitive `decompose_reduction`.

use super::{Instruction, Schedule};
use crate::Result;

impl Schedule {
    /// Initialises the tile in loops of its own instead of in the first step of the reduction; TVM's
    /// `decompose_reduction`.
    ///
    /// ```text
    /// for k                    for i: tile[i] = 0
    ///   for i           →      for k
    ///     if k == 0: tile[i] = 0    for i: tile[i] += …
    ///     tile[i] += …
    /// ```
    ///
    /// # Errors
    /// The block sums nothing.
    pub fn decompose_reduction(&mut self) -> Result<()> {
        if self.block.reduction.is_none() {
            return Err(crate::Error::input(format!("decompose_reduction: `{}` sums nothing", self.block.name)));
        }
        self.decomposed = true;
        self.record(Instruction::DecomposeReduction);
        Ok(())
    }
}
