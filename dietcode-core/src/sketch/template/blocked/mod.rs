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
//!     write back, epilogue                                     store, stage_store
//! ```
//!
//! Source: SSSRRSRS of TVM's MetaSchedule (`MultiLevelTiling`), with the tiles of DietCode (MLSys 2022), which divide
//! nothing.
mod apply;
mod default;
pub(in crate::sketch) mod operands;

use std::collections::BTreeMap;

use super::parameter::{FromValues, Kind, Named, Parameter, Stage, template, word};
use super::{Template, Tiled};
use crate::ir::Block;
use crate::schedule::MatrixUnit;

/// The largest size along a loop. No block of any device has more elements along one.
const MOST: i64 = 1 << 16;

/// The widest vector: 16 bytes of the smallest elements there are.
const MOST_LANES: i64 = 16;

template! {
    /// The parameters of one micro-kernel, each named by the loop variables and tensors of the user's nest.
    #[serde(default)]
    Blocked = "blocked" {
        Parameter::optional("thread", "t", Kind::Sizes(Named::Spatial, MOST)) => {
            /// Threads of a block along each spatial loop (missing: 1); with a matrix unit: warps.
            thread: BTreeMap<String, i64>,
        }
        Parameter::optional("vthread", "v", Kind::Sizes(Named::Spatial, MOST)) => {
            /// Parts of a thread's tile that lie `thread · inner` elements apart (missing: 1).
            vthread: BTreeMap<String, i64>,
        }
        Parameter::optional("inner", "r", Kind::Sizes(Named::Spatial, MOST)) => {
            /// Neighbouring elements of a thread (missing: 1); with a matrix unit: instructions of a warp.
            inner: BTreeMap<String, i64>,
        }
        Parameter::optional("reduce", "k", Kind::Sizes(Named::Reduce, MOST)) => {
            /// Reduction loops: elements of a tile in shared memory (missing: the whole extent).
            reduce: BTreeMap<String, i64>,
        }
        Parameter::optional("stage", "s", Kind::Stages) => {
            /// The inputs that are staged in shared memory, and how.
            stage: BTreeMap<String, Stage>,
        }
        Parameter::optional("matrix_unit", "", Kind::WordOrNone(MatrixUnit::WORDS)) => {
            /// The matrix unit that multiplies. Tensors of f32 are rounded to tf32 by it, once or in two parts, so that is never chosen unasked.
            matrix_unit: Option<MatrixUnit>,
        }
        Parameter::optional("stages", "stages", Kind::Size(8)) => {
            /// How many tiles of each input there are in shared memory: 1, or 2 and more to fill them ahead.
            stages: i64,
        }
        Parameter::optional("async", "async", Kind::Flag) => {
            /// Whether they are filled by asynchronous copies (`cp.async`, compute capability 8.0 on).
            #[serde(rename = "async")]
            asynchronous: bool,
        }
        Parameter::optional("fragments", "frag", Kind::Size(2)) => {
            /// How many sets of registers hold a thread's operands: with 2, those of the next step are read under the products of this one.
            fragments: i64,
        }
        Parameter::optional("split", "z", Kind::Sizes(Named::Reduce, MOST)) => {
            /// Reduction loops: blocks of the grid that share a sum (missing: 1).
            split: BTreeMap<String, i64>,
        }
        Parameter::optional("ranges", "ranges", Kind::Flag) => {
            /// Whether each of them has a contiguous range of the sum; else it has every n-th tile of its steps.
            ranges: bool,
        }
        Parameter::optional("atomic", "atomic", Kind::Flag) => {
            /// Whether shared sums meet by atomic additions; else in a second kernel, in the same order each time.
            atomic: bool,
        }
        Parameter::optional("stream", "stream", Kind::Size(MOST)) => {
            /// Blocks of the grid that have equal shares of the steps of the last tiles; 1: each tile has a block of its own.
            stream: i64,
        }
        Parameter::optional("waves", "waves", Kind::Size(1024)) => {
            /// How many waves of tiles they share, the last one among them, which may be short.
            waves: i64,
        }
        Parameter::optional("partition", "part", Kind::Flag) => {
            /// Whether blocks whose tile lies inside of all tensors have a body of their own, without predicates.
            partition: bool,
        }
        Parameter::optional("persistent", "persistent", Kind::Flag) => {
            /// Whether the grid is as large as the device holds at once, and its blocks go on to further tiles.
            persistent: bool,
        }
        Parameter::optional("min_blocks", "min", Kind::Size(32)) => {
            /// How many blocks a multiprocessor shall hold, for `__launch_bounds__`.
            min_blocks: i64,
        }
        Parameter::optional("store", "store", Kind::Size(MOST_LANES)) => {
            /// How many neighbours a thread stores at once.
            store: i64,
        }
        Parameter::optional("stage_store", "staged", Kind::Flag) => {
            /// Whether sums are stored through shared memory, so that neighbouring threads store neighbouring vectors.
            stage_store: bool,
        }
        Parameter::optional("load", "load", Kind::Sizes(Named::Input, MOST_LANES)) => {
            /// The inputs that each thread reads into registers of its own, for a tile of the reductions at once, and by how many
            /// neighbours.
            load: BTreeMap<String, i64>,
        }
        Parameter::optional("raster", "raster", Kind::Sizes(Named::Spatial, MOST)) => {
            /// Two spatial loops: how many of their blocks lie next to each other in the order of the grid (missing: row by row).
            raster: BTreeMap<String, i64>,
        }
    }
}

word!(MatrixUnit: Half = "half", Tf32 = "tf32", Tf32x3 = "tf32x3");

impl Default for Blocked {
    fn default() -> Blocked {
        Blocked::least()
    }
}

impl Template for Blocked {
    fn tiled(&self, _: &Block) -> Result<Tiled, String> {
        Err("`blocked` is a schedule for a GPU".into())
    }

    fn blocked(&self, _: &Block) -> Result<Blocked, String> {
        Ok(self.clone())
    }
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
