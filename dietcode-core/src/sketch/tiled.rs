//! The CPU's family of micro-kernels: register tile × packed panels × cache blocks × parallel tiles.
//!
//! ```text
//! parallel for each block of the spatial loops            block_tile
//!   for each cache block of the reduction loops           block_tile
//!     pack the panels                                     pack
//!     for each register tile of the block                 order
//!       for each step of the reduction in the cache block
//!         a register tile of multiply-adds, unrolled      register_tile, vector
//!       write back, epilogue
//! ```

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// The parameters of one micro-kernel, each named by the loop variables and tensors of the user's nest.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tiled {
    /// The spatial loop whose iterations are the lanes of vectors; none: scalar code.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vector: Option<String>,
    /// Spatial loops: the tile whose accumulators stay in registers. Reduction loops: unrolled steps. Missing: 1.
    #[serde(default)]
    pub register_tile: BTreeMap<String, i64>,
    /// Spatial loops: the tile that one thread carries out alone (missing: the register tile).
    /// Reduction loops: the cache block (missing: the whole extent).
    #[serde(default)]
    pub block_tile: BTreeMap<String, i64>,
    /// The inputs that are copied into packed panels, once per block; the others are read in place.
    #[serde(default)]
    pub pack: Vec<String>,
    /// The spatial loops over register tiles inside a block, outermost first; those not named follow in source order.
    #[serde(default)]
    pub order: Vec<String>,
}
