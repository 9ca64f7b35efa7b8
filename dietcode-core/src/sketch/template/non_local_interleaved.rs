//! The family `non_local_interleaved`: batches whose matrices lie element by element, with vectors along the batch.

use super::parameter::{Absent, Kind, Parameter, template};
use super::roles::{Roles, elements};
use super::{Blocked, Template, Tiled, on_cpu, on_gpu};
use crate::ir::{Block, Name};

template! {
    /// A work item computes `item_rows · item_cols` elements of each of `item_batches` matrices.
    ///
    /// Rows and columns as in [`Local`](super::Local); the batch is the loop that moves both operands. The square in
    /// `work_group_small` is portBLAS's, and how many configurations its files stand for depends on it; how large a work group may
    /// be is what `work_group_fits` says. Source: portBLAS, `gemm_interleaved.hpp`.
    NonLocalInterleaved = "non_local_interleaved" {
        Parameter::optional("cache_line_size", "c", Kind::SIZE).or(Absent::Size(64)) => {
            /// Bytes of a cache line.
            cache_line_size: i64,
        }
        Parameter::required("work_item_sizes", "i", Kind::Pair) => {
            /// Rows of a work item.
            item_rows: i64,
            /// Columns of a work item.
            item_cols: i64,
        }
        Parameter::required("work_group_sizes", "w", Kind::Pair) => {
            /// Work items of a work group along the rows.
            wg_rows: i64,
            /// Work items of a work group along the columns.
            wg_cols: i64,
        }
        Parameter::required("batch_level_tiles", "b", Kind::Pair) => {
            /// Matrices of a work item.
            item_batches: i64,
            /// Work items of a work group along the batch.
            wg_batches: i64,
        }
        Parameter::required("vectorization_size", "v", Kind::SIZE) => {
            /// How many matrices are read at once.
            vectorization_size: i64,
        }
    }
    batch_of_vectors: item_batches % vectorization_size == 0,
        "the matrices of a work item are read as whole vectors";
    work_group_small: wg_batches * wg_rows * wg_rows <= 256,
        "a work group with as many columns as rows has at most 256 work items";
    work_group_fits: wg_batches * wg_rows * wg_cols <= 1024,
        "no device has room for more than 1024 work items in a work group";
    rows_of_vectors: item_rows % vectorization_size == 0, "the rows of a work item are whole vectors";
    cols_of_vectors: item_cols % vectorization_size == 0, "the columns of a work item are whole vectors";
}

impl Template for NonLocalInterleaved {
    /// Operands in place, a cache line of the sum's steps at a time.
    fn tiled(&self, block: &Block) -> Result<Tiled, String> {
        let roles = Roles::of(block)?;
        let axes = self.axes(&roles, roles.interleaved(&block.output)?);
        let mut tiled = on_cpu::tiles(&roles, &axes, self.vectorization_size);
        tiled.block_tile.extend(on_cpu::blocks_of_sum(&roles, elements(self.cache_line_size)?));
        Ok(tiled)
    }

    /// Each thread reads its operands into registers, by vectors along the batches, step by step. Caches need no telling of how long
    /// their lines are.
    fn blocked(&self, block: &Block) -> Result<Blocked, String> {
        let roles = Roles::of(block)?;
        let axes = self.axes(&roles, roles.interleaved(&block.output)?);
        let mut blocked = on_gpu::tiles(&roles, &axes, 1);
        blocked.load = on_gpu::in_registers(&roles, &blocked, self.vectorization_size);
        blocked.store = on_gpu::store(&roles, &blocked, self.vectorization_size);
        Ok(blocked)
    }
}

impl NonLocalInterleaved {
    /// Each loop with what a work item has of it, and how many work items a group has along it.
    fn axes<'r>(&self, roles: &'r Roles, batches: &'r Name) -> [(&'r Name, i64, i64); 3] {
        [
            (&roles.rows, self.item_rows, self.wg_rows),
            (&roles.columns, self.item_cols, self.wg_cols),
            (batches, self.item_batches, self.wg_batches),
        ]
    }
}
