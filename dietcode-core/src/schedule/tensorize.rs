//! The primitive `tensorize`.

use super::{Instruction, Schedule, legality};
use crate::Result;
use crate::ir::DType;

/// A matrix instruction of a warp: `mma.sync` with 16 rows, 8 columns and 32 bytes of steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MatrixUnit {
    /// m16n8k16 on f16 or bf16, whichever the operands are.
    Half,
    /// m16n8k8 on f32 rounded to tf32: 10 bits of mantissa.
    Tf32,
}

impl MatrixUnit {
    /// How many products one instruction sums.
    pub fn steps(self) -> i64 {
        match self {
            MatrixUnit::Half => 16,
            MatrixUnit::Tf32 => 8,
        }
    }

    /// Whether it takes operands of this type.
    pub fn takes(self, dtype: DType) -> bool {
        (self == MatrixUnit::Tf32) == (dtype == DType::F32)
    }
}

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
