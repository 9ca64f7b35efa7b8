//! The GPU's family of micro-kernels: blocks of threads × tiles in shared memory × accumulators in registers.
//!
//! ```text
//! blockIdx.x for each tile of the spatial loops           S    thread · vthread · inner, raster
//!   threadIdx.x                                           S    thread
//!     for each tile of the reductions                     R    reduce, split
//!       fill shared memory, cooperatively                      stage, stages
//!       fill registers, each thread its own                    load
//!       for each step in it                               R
//!         vthread                                         S    vthread
//!           the product of the inner tiles, unrolled      S    inner, matrix_unit
//!     write back, epilogue                                     store
//! ```
//!
//! Source: SSSRRSRS of TVM's MetaSchedule (`MultiLevelTiling`), with the tiles of DietCode (MLSys 2022), which divide
//! nothing.
mod apply;
mod default;
mod name;
pub(super) mod operands;
mod validity;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// The parameters of one micro-kernel, each named by the loop variables and tensors of the user's nest.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Blocked {
    /// Threads of a block along each spatial loop (missing: 1); with a matrix unit: warps.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub thread: BTreeMap<String, i64>,
    /// Parts of a thread's tile that lie `thread · inner` elements apart (missing: 1).
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub vthread: BTreeMap<String, i64>,
    /// Neighbouring elements of a thread (missing: 1); with a matrix unit: instructions of a warp.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub inner: BTreeMap<String, i64>,
    /// Reduction loops: elements of a tile in shared memory (missing: the whole extent).
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub reduce: BTreeMap<String, i64>,
    /// The inputs that are staged in shared memory, and how.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub stage: BTreeMap<String, Stage>,
    /// The matrix unit that multiplies. Tensors of f32 are rounded to tf32 by it, so that is never chosen unasked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub matrix_unit: Option<Unit>,
    /// How many tiles of each input there are in shared memory: 1, or 2 and more to fill them ahead.
    #[serde(skip_serializing_if = "is_default")]
    pub stages: Count<1>,
    /// Whether they are filled by asynchronous copies (`cp.async`, compute capability 8.0 on).
    #[serde(rename = "async", skip_serializing_if = "is_default")]
    pub asynchronous: bool,
    /// Reduction loops: blocks of the grid that share a sum (missing: 1).
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub split: BTreeMap<String, i64>,
    /// Whether shared sums meet by atomic additions; else in a second kernel, in the same order each time.
    #[serde(skip_serializing_if = "is_default")]
    pub atomic: bool,
    /// Whether the grid is as large as the device holds at once, and its blocks go on to further tiles.
    #[serde(skip_serializing_if = "is_default")]
    pub persistent: bool,
    /// How many blocks a multiprocessor shall hold, for `__launch_bounds__`.
    #[serde(skip_serializing_if = "is_default")]
    pub min_blocks: Count<1>,
    /// How many neighbours a thread stores at once.
    #[serde(skip_serializing_if = "is_default")]
    pub store: Count<1>,
    /// The inputs that each thread reads into registers of its own, for a tile of the reductions at once, and by how many
    /// neighbours.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub load: BTreeMap<String, i64>,
    /// Two spatial loops: how many of their blocks lie next to each other in the order of the grid (missing: row by row).
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub raster: BTreeMap<String, i64>,
}

/// How an input is staged in shared memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Stage {
    /// How many neighbours are copied at once.
    #[serde(skip_serializing_if = "is_default")]
    pub vector: Count<1>,
    /// Unused elements behind each row.
    #[serde(skip_serializing_if = "is_default")]
    pub pad: i64,
    /// Whether the summed dimensions lie outside of the spatial one; else the tile lies as the tensor does.
    #[serde(skip_serializing_if = "is_default")]
    pub reduce_outside: bool,
}

/// Which matrix instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Unit {
    /// On f16 or bf16 tensors.
    Half,
    /// On f32 tensors, rounded to tf32.
    Tf32,
}

/// A number whose default is not 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Count<const DEFAULT: i64>(pub i64);

impl<const DEFAULT: i64> Default for Count<DEFAULT> {
    fn default() -> Self {
        Count(DEFAULT)
    }
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// The size along a loop; 1 if it is not named.
fn size(sizes: &BTreeMap<String, i64>, name: &str) -> i64 {
    sizes.get(name).copied().unwrap_or(1)
}

impl Blocked {
    /// The block's tile along a spatial loop.
    pub fn block_tile(&self, name: &str) -> i64 {
        size(&self.thread, name) * size(&self.vthread, name) * size(&self.inner, name)
    }
}
