//! The family `naive`: one work item for each element of the output.

use super::parameter::{Kind, Parameter, template};
use super::roles::{elements, output_loop};
use super::{Blocked, Template, Tiled};
use crate::ir::Block;

template! {
    /// A work item computes one element, and nothing is tiled, staged or read by vectors.
    ///
    /// On a CPU it is the nest as it stands, where a cache line of outputs is one task; on a GPU a cache line of outputs is one block.
    /// Source: portBLAS, `gemm_ref.hpp`.
    Naive = "naive" {
        Parameter::required("cache_line_size", "c", Kind::SIZE) => {
            /// Bytes of a cache line: how many elements of 4 bytes are neighbours in a work group.
            cache_line_size: i64,
        }
    }
    cache_line_of_elements: cache_line_size % 4 == 0, "a cache line holds whole elements of 4 bytes";
}

impl Template for Naive {
    fn tiled(&self, block: &Block) -> Result<Tiled, String> {
        let outputs = elements(self.cache_line_size)?;
        Ok(Tiled { block_tile: [(output_loop(block)?.to_string(), outputs)].into(), ..Tiled::default() })
    }

    fn blocked(&self, block: &Block) -> Result<Blocked, String> {
        let threads = elements(self.cache_line_size)?;
        Ok(Blocked { thread: [(output_loop(block)?.to_string(), threads)].into(), ..Blocked::default() })
    }
}
