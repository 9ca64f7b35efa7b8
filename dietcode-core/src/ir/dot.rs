//! Instructions of CPUs that multiply several steps of a sum in each lane of a vector, and add them to it.
//!
//! | instruction | CPU feature  | operands           | accumulators | steps | lanes |
//! |-------------|--------------|--------------------|--------------|-------|-------|
//! | `vdpbf16ps` | `avx512bf16` | bf16 · bf16        | f32          | 2     | 16    |
//! | `vpdpbusd`  | `avx512vnni` | u8 · i8 or i8 · u8 | i32          | 4     | 16    |
//!
//! One operand is a vector: in each lane so many neighbours along the sum. The other one is as many neighbours, the same in all lanes.
//!
//! Source: Intel 64 and IA-32 Architectures Software Developer's Manual, volume 2, VDPBF16PS and VPDPBUSD.

use serde::{Deserialize, Serialize};

use super::DType;

/// Which instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Dot {
    /// Two fused multiply-adds, one after the other, each rounded to nearest even; operands and results that are subnormal count as 0.
    Vdpbf16ps,
    /// Four products of 16 bits, added modulo 2³²: no sum on the way is cut off.
    Vpdpbusd,
}

/// What is known of an instruction.
#[derive(Debug)]
pub struct DotRow {
    /// Its mnemonic.
    pub name: &'static str,
    /// The feature that a CPU has it by, as [`crate::cpu_features`] calls it.
    pub feature: &'static str,
    /// The elements of the vector, and those that are the same in all lanes: each pair that it multiplies.
    pub operands: &'static [[DType; 2]],
    /// What it adds to.
    pub accumulator: DType,
    /// Steps of a sum that it takes.
    pub steps: i64,
    /// Accumulators of a vector.
    pub lanes: i64,
}

const ROWS: [DotRow; 2] = [
    DotRow {
        name: "vdpbf16ps",
        feature: "avx512bf16",
        operands: &[[DType::BF16; 2]],
        accumulator: DType::F32,
        steps: 2,
        lanes: 16,
    },
    DotRow {
        name: "vpdpbusd",
        feature: "avx512vnni",
        operands: &[[DType::I8, DType::U8], [DType::U8, DType::I8]],
        accumulator: DType::I32,
        steps: 4,
        lanes: 16,
    },
];

impl Dot {
    /// All of them.
    pub const ALL: [Dot; 2] = [Dot::Vdpbf16ps, Dot::Vpdpbusd];

    /// Its row of the table.
    pub fn row(self) -> &'static DotRow {
        &ROWS[self as usize]
    }

    /// Whether an operand of these elements moves with the lanes.
    pub(crate) fn has_lanes_of(self, dtype: DType) -> bool {
        self.row().operands.iter().any(|[lanes, _]| *lanes == dtype)
    }
}
