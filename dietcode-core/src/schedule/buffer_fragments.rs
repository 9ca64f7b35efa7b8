//! The primitive `buffer_fragments`.

use super::{Instruction, Schedule, legality};
use crate::Result;

impl Schedule {
    /// Holds what a thread multiplies in so many sets of registers. With two, the operands of the next step are read from shared memory
    /// under the products of this one, those of the next tile's first step too; TVM's `software_pipeline` of the inner loop, and the
    /// fragments of CUTLASS's mainloop.
    ///
    /// ```text
    /// for k_0                                       wait, sync; x[0] = x_shared of tile 0, step 0
    ///   wait, sync; fill the tile ahead             for k_0
    ///   for k_1 in 0..4                       →       x[1] = x_shared of step 1; fill the tile ahead
    ///     x = x_shared of step k_1                    … x[0] …; x[0] = step 2; … x[1] …; x[1] = step 3; … x[0] …
    ///     … x …                                       wait, sync; x[0] = x_shared of the next tile, step 0
    ///                                                 … x[1] …
    /// ```
    ///
    /// Where the steps of a tile are odd in number, the last of them and the next tile's first one have the same set, which is then read
    /// behind the products.
    ///
    /// # Errors
    /// Neither one set nor two, or two without a pipeline that has the next tile there in time. A tile of which nothing is read is refused
    /// when the schedule is lowered.
    ///
    /// Source: `mma_multistage.h` of CUTLASS.
    pub fn buffer_fragments(&mut self, sets: i64) -> Result<()> {
        legality::buffer_fragments(self, sets)?;
        self.fragment_sets = sets;
        self.record(Instruction::BufferFragments(sets.into()));
        Ok(())
    }
}
