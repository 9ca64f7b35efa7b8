//! What instructions say beside names and sizes.

use serde::{Deserialize, Serialize};

use crate::ir::{DType, Dot};

/// What a split does where the factor does not divide the extent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Tail {
    /// The inner loop keeps its constant extent and hangs over the edge; local padding makes that safe. For tiles.
    Pad,
    /// The last inner loop is shorter. For loops outside of the tile.
    Clip,
}

/// When a read is staged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Staging {
    /// Always: into a packed panel, in the order in which the tile reads it.
    Always,
    /// Only where the tile hangs over the edge of the tensor; inside, it is read in place. This is what makes local
    /// padding free for an operand that needs no packing.
    Edge,
    /// Always: into registers of each thread of a GPU, by vectors of so many neighbours.
    Registers(i64),
    /// Always: into a tile that all threads of a GPU's block share and fill together.
    Shared(SharedTile),
}

impl Staging {
    /// What a copy of a buffer is called.
    pub(crate) fn name_of(self, buffer: &str) -> String {
        let what = match self {
            Staging::Always => "panel",
            Staging::Edge => "view",
            Staging::Registers(_) => "held",
            Staging::Shared(_) => "shared",
        };
        format!("{buffer}_{what}")
    }
}

/// How a tile in shared memory is filled and laid out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SharedTile {
    /// How many neighbouring elements a thread copies at once.
    pub vector: i64,
    /// Elements that follow each row without being used, so that rows begin in different banks.
    pub pad: i64,
    /// Neighbours that stay together where the rows are swizzled instead, so that those which are read at once begin in different banks: 16 or
    /// 32 bytes of them, or 0. See [`crate::ir::Swizzle`].
    #[serde(default, skip_serializing_if = "is_zero")]
    pub swizzle: i64,
    /// Which dimension lies contiguous: that of the tensor, or, if this is set, the spatial one, with the summed ones
    /// outside, so that a thread's operands are neighbours.
    pub reduce_outside: bool,
}

fn is_zero(number: &i64) -> bool {
    *number == 0
}

/// How the copies into shared memory, or into panels, overlap with the computation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Pipeline {
    /// Two tiles: while one is read, the next is on its way to registers, and is stored after that.
    Registers,
    /// Two panels of each packed input of a CPU: the next is packed before the current is computed with.
    Panels,
    /// So many tiles, filled by asynchronous copies (`cp.async`, compute capability 8.0 on).
    Async(i64),
}

/// How the parts of a reduction meet that different tiles of the grid compute.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Combine {
    /// Each part is stored; a second phase combines them in order, so that the result has the same bits each time.
    Workspace,
    /// On a GPU each part is added to the output by atomic operations, in any order: sums only. The output is initialised before.
    Atomic,
}

/// What carries out the innermost loops.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Unit {
    /// The matrix unit of a GPU.
    Matrix(MatrixUnit),
    /// An instruction of a CPU's vectors.
    Dot(Dot),
}

impl From<MatrixUnit> for Unit {
    fn from(unit: MatrixUnit) -> Unit {
        Unit::Matrix(unit)
    }
}

impl From<Dot> for Unit {
    fn from(dot: Dot) -> Unit {
        Unit::Dot(dot)
    }
}

/// A matrix instruction of a warp: `mma.sync` with 16 rows, 8 columns and 32 bytes of steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MatrixUnit {
    /// m16n8k16 on f16 or bf16, whichever the operands are.
    Half,
    /// m16n8k8 on f32 rounded to tf32: 10 bits of mantissa.
    Tf32,
    /// The same three times, on f32 as the sum of two numbers of tf32, x = high + low: low · high + high · low + high · high, whose
    /// sum is as good as that of f32.
    ///
    /// Source: Markidis et al., "NVIDIA Tensor Core Programmability, Performance & Precision" (IPDPSW 2018), for f16; Ootomo and
    /// Yokota, "Recovering single precision accuracy from Tensor Cores while surpassing the FP32 theoretical peak performance"
    /// (IJHPCA 2022), for tf32. The error: [`Arithmetic::Tf32x3`](crate::reference::Arithmetic::Tf32x3).
    Tf32x3,
}

impl MatrixUnit {
    /// How many products one instruction sums.
    pub fn steps(self) -> i64 {
        match self {
            MatrixUnit::Half => 16,
            MatrixUnit::Tf32 | MatrixUnit::Tf32x3 => 8,
        }
    }

    /// In how many parts it takes an element of an operand, each in a register.
    pub fn parts(self) -> i64 {
        if self == MatrixUnit::Tf32x3 { 2 } else { 1 }
    }

    /// Whether it takes operands of this type where another one is computed in: all of them add in `f32`.
    pub fn takes(self, dtype: DType, computes: DType) -> bool {
        let operand = match self {
            MatrixUnit::Half => dtype.is_half(),
            MatrixUnit::Tf32 | MatrixUnit::Tf32x3 => dtype == DType::F32,
        };
        operand && computes == DType::F32
    }
}
