//! The CPU's family of micro-kernels: register tile × packed panels × cache blocks × parallel tiles.
//!
//! ```text
//! parallel for each block of the spatial loops            block_tile, raster
//!   for each cache block of the reduction loops           block_tile
//!     pack the panels                                     pack, pad, double_buffer
//!     for each register tile of the block                 order
//!       ask for what the next one reads                   prefetch
//!       ask for a share of what the next batch touches    ahead
//!       for each step of the reduction in the cache block
//!         copy what the steps need                        load
//!         a register tile of multiply-adds, unrolled      register_tile, vector, lanes, tensorize
//!       write back, epilogue
//! ```

mod apply;
mod default;
mod starts;

use std::collections::BTreeMap;

use super::parameter::{FromValues, Kind, Named, Parameter, template};
use super::{Blocked, Template};
use crate::ir::Block;
use crate::sketch::MAX_EXTENT;

template! {
    /// The parameters of one micro-kernel, each named by the loop variables and tensors of the user's nest.
    #[serde(default)]
    Tiled = "tiled" {
        Parameter::optional("vector", "v", Kind::Loop) => {
            /// The loop whose iterations are the lanes of vectors; none: scalar code. The lanes of a reduction loop share the sum.
            vector: Option<String>,
        }
        Parameter::optional("register_tile", "r", Kind::Sizes(Named::Loop, MAX_EXTENT)) => {
            /// Spatial loops: the tile whose accumulators stay in registers. Reduction loops: unrolled steps. Missing: 1.
            register_tile: BTreeMap<String, i64>,
        }
        Parameter::optional("block_tile", "b", Kind::Sizes(Named::Loop, MAX_EXTENT)) => {
            /// Spatial loops: the tile that one thread carries out alone (missing: the register tile).
            /// Reduction loops: the cache block (missing: the whole extent, which must be a literal if an input that moves along
            /// the loop is packed or copied at the edge: the copy has a constant size).
            block_tile: BTreeMap<String, i64>,
        }
        Parameter::optional("pack", "p", Kind::Names(Named::Input)) => {
            /// The inputs that are copied into packed panels, once per block; the others are read in place.
            pack: Vec<String>,
        }
        Parameter::optional("order", "o", Kind::Names(Named::Spatial)) => {
            /// The spatial loops over register tiles inside a block, outermost first; those not named follow in source order.
            order: Vec<String>,
        }
        Parameter::optional("lanes", "lanes", Kind::Lanes) => {
            /// Lanes of the vectors: 2, 4, 8 or 16. Missing: as many as the CPU's registers hold and divide the tile, whose
            /// accumulators then must fit into them. With a number of lanes the compiler maps vectors to registers, and spills what
            /// has no room.
            lanes: Option<i64>,
        }
        Parameter::optional("load", "load", Kind::Names(Named::Input)) => {
            /// The inputs of which each register tile copies what its unrolled steps need, right before them. One that is
            /// contiguous along the reduction, where vectors are not, is transposed in registers by that.
            load: Vec<String>,
        }
        Parameter::optional("pad", "pad", Kind::Sizes(Named::Input, MOST_PAD)) => {
            /// Packed inputs: unused elements between the micro-panels, so that these begin in different sets of the cache
            /// (missing: 0).
            pad: BTreeMap<String, i64>,
        }
        Parameter::optional("double_buffer", "double", Kind::Flag) => {
            /// Whether there are two of each panel, and the next is packed before the current is computed with.
            double_buffer: bool,
        }
        Parameter::optional("partition", "part", Kind::Names(Named::Spatial)) => {
            /// The spatial loops along which a register tile at an edge computes about as many iterations as are left, rather than all.
            partition: Vec<String>,
        }
        Parameter::optional("prefetch", "pre", Kind::Names(Named::Input)) => {
            /// The inputs of which each register tile asks for what the next one reads: those that are read in place, and come from memory.
            prefetch: Vec<String>,
        }
        Parameter::optional("ahead", "ahead", Kind::Loop) => {
            /// The spatial loop, such as that of a batch, of which blocks ask for what those of its next iteration read and write (missing:
            /// none does). It is not tiled.
            ahead: Option<String>,
        }
        Parameter::optional("tensorize", "dot", Kind::Loop) => {
            /// The reduction loop of which an instruction of the CPU takes some steps at once, as `vdpbf16ps` does of two factors of
            /// `bf16` (missing: none does). Vectors then have its lanes, and the input that moves along them is packed.
            tensorize: Option<String>,
        }
        Parameter::optional("raster", "raster", Kind::Sizes(Named::Spatial, 1 << 16)) => {
            /// Two spatial loops: how many of their blocks lie next to each other in the order of the blocks. Missing: row by row.
            raster: BTreeMap<String, i64>,
        }
    }
}

/// The most elements between micro-panels: a page of f32.
const MOST_PAD: i64 = 1024;

impl Default for Tiled {
    fn default() -> Tiled {
        Tiled::least()
    }
}

impl Template for Tiled {
    fn tiled(&self, _: &Block) -> Result<Tiled, String> {
        Ok(self.clone())
    }

    fn blocked(&self, _: &Block) -> Result<Blocked, String> {
        Err("`tiled` is a schedule for a CPU".into())
    }
}
