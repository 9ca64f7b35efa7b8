//! Instructions of CPUs that multiply several steps of a sum in each lane of a vector, and add them to it.
//!
//! | instruction    | CPU feature  | operands           | shifted            | accumulators | steps | lanes |
//! |----------------|--------------|--------------------|--------------------|--------------|-------|-------|
//! | `vdpbf16ps`    | `avx512bf16` | bf16 · bf16        |                    | f32          | 2     | 16    |
//! | `vpdpbusd`     | `avx512vnni` | u8 · i8 or i8 · u8 | i8 · i8 or u8 · u8 | i32          | 4     | 16    |
//! | `vpdpbusd_ymm` | `avxvnni`    | u8 · i8 or i8 · u8 | i8 · i8 or u8 · u8 | i32          | 4     | 8     |
//!
//! One operand is a vector: in each lane so many neighbours along the sum. The other one is as many neighbours, the same in all lanes.
//!
//! Of operands that are *shifted*, the second one is taken with the highest bit of each byte flipped: what is signed is then an unsigned number
//! that is 128 larger, and what is unsigned a signed one that is 128 smaller. What that adds to a sum is what the sum is for zeros in place of
//! the second operand, and is subtracted (`lower/passes/shifted.rs`): Σ a · b = Σ a · (b ± 128) − Σ a · (0 ± 128), also modulo 2³².
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
    /// The same in vectors of 256 bits, of CPUs without AVX-512.
    VpdpbusdYmm,
}

/// What is known of an instruction.
#[derive(Debug)]
pub struct DotRow {
    /// Its mnemonic, with the width of its vectors where that has several.
    pub name: &'static str,
    /// The feature that a CPU has it by, as [`crate::cpu_features`] calls it.
    pub feature: &'static str,
    /// The elements of the vector, and those that are the same in all lanes: each pair that it multiplies.
    pub operands: &'static [[DType; 2]],
    /// The pairs that it multiplies once the second one is shifted, so that it is of the other signedness.
    pub shifted: &'static [[DType; 2]],
    /// What it adds to.
    pub accumulator: DType,
    /// Steps of a sum that it takes.
    pub steps: i64,
    /// Accumulators of a vector.
    pub lanes: i64,
}

/// Bytes of which one is signed, and those of which none or both are.
const BYTES: &[[DType; 2]] = &[[DType::I8, DType::U8], [DType::U8, DType::I8]];
const BYTES_ALIKE: &[[DType; 2]] = &[[DType::I8; 2], [DType::U8; 2]];

const ROWS: [DotRow; 3] = [
    DotRow {
        name: "vdpbf16ps",
        feature: "avx512bf16",
        operands: &[[DType::BF16; 2]],
        shifted: &[],
        accumulator: DType::F32,
        steps: 2,
        lanes: 16,
    },
    DotRow {
        name: "vpdpbusd",
        feature: "avx512vnni",
        operands: BYTES,
        shifted: BYTES_ALIKE,
        accumulator: DType::I32,
        steps: 4,
        lanes: 16,
    },
    DotRow {
        name: "vpdpbusd_ymm",
        feature: "avxvnni",
        operands: BYTES,
        shifted: BYTES_ALIKE,
        accumulator: DType::I32,
        steps: 4,
        lanes: 8,
    },
];

impl Dot {
    /// All of them.
    pub const ALL: [Dot; 3] = [Dot::Vdpbf16ps, Dot::Vpdpbusd, Dot::VpdpbusdYmm];

    /// What is added to an element that is shifted, modulo 256.
    pub(crate) const SHIFT: f64 = 128.0;

    /// The type of elements that are shifted.
    pub(crate) fn shifted(dtype: DType) -> DType {
        if dtype == DType::I8 { DType::U8 } else { DType::I8 }
    }

    /// Its row of the table.
    pub fn row(self) -> &'static DotRow {
        &ROWS[self as usize]
    }

    /// Whether an operand of these elements moves with the lanes.
    pub(crate) fn has_lanes_of(self, dtype: DType) -> bool {
        self.row().operands.iter().any(|[lanes, _]| *lanes == dtype)
    }
}

impl DotRow {
    /// Each pair of elements that it multiplies, as they are or shifted.
    pub(crate) fn pairs(&self) -> impl Iterator<Item = &[DType; 2]> {
        self.operands.iter().chain(self.shifted)
    }

    /// Whether the second one of two operands is to be shifted.
    pub(crate) fn shifts(&self, operands: [DType; 2]) -> bool {
        self.shifted.contains(&operands)
    }
}
