//! The primitive `tensorize`.

use super::{Instruction, MatrixUnit, Schedule, legality};
use crate::Result;

impl Schedule {
    /// Lets a matrix unit carry out the three innermost loops; TVM's and Exo's `tensorize`.
    ///
    /// Of the 16 rows of an instruction, a lane of the warp holds rows `lane / 4` and `lane / 4 + 8`; of the 8 columns,
    /// columns `2·(lane % 4)` and the next. Bound to threads in this way, the accumulators lie where `mma.sync` has them, and
    /// nothing else of a schedule needs to know of matrices:
    ///
    /// ```text
    /// for i_h in 0..2                rows lane / 4 + 8·i_h
    ///   for j_p in 0..2              columns 2·(lane % 4) + j_p             →      tile[…] += mma x · w
    ///     for k_e in 0..16
    ///       tile[…][i_h][j_p] += x[…] · w[…]
    /// ```
    ///
    /// # Errors
    /// The innermost loops do not have these extents.
    pub fn tensorize(&mut self, unit: MatrixUnit) -> Result<()> {
        legality::tensorize(self, unit)?;
        self.matrix_unit = Some(unit);
        self.record(Instruction::Tensorize(unit));
        Ok(())
    }
}
