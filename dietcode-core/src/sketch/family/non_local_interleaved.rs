//! The family `non_local_interleaved`: batches whose matrices lie element by element, with vectors along the batch.

use serde::{Deserialize, Serialize};

use super::condition::{Condition, conditions, parameters};

/// A work item computes `item_rows · item_cols` elements of each of `item_batches` matrices.
///
/// Rows and columns as in [`Local`](super::Local); the batch is the loop that moves both operands. Source: portBLAS,
/// `gemm_interleaved.hpp`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NonLocalInterleaved {
    /// Bytes of a cache line.
    pub cache_line_size: i64,
    /// Rows of a work item.
    pub item_rows: i64,
    /// Columns of a work item.
    pub item_cols: i64,
    /// Matrices of a work item.
    pub item_batches: i64,
    /// Work items of a work group along the rows.
    pub wg_rows: i64,
    /// Work items of a work group along the columns.
    pub wg_cols: i64,
    /// Work items of a work group along the batch.
    pub wg_batches: i64,
    /// How many matrices are read at once.
    pub vectorization_size: i64,
}

impl NonLocalInterleaved {
    pub(super) fn parameters(&self) -> Vec<(&'static str, i64)> {
        parameters!(self: cache_line_size, item_rows, item_cols, item_batches, wg_rows, wg_cols, wg_batches,
            vectorization_size)
    }

    /// The square in `work_group_small` is portBLAS's, and how many configurations its files stand for depends on it; how
    /// large a work group may be is what `work_group_fits` says.
    pub(super) fn conditions(&self) -> Vec<Condition> {
        conditions!(self: cache_line_size, item_rows, item_cols, item_batches, wg_rows, wg_cols, wg_batches,
            vectorization_size;
            batch_of_vectors: item_batches % vectorization_size == 0,
                "the matrices of a work item are read as whole vectors";
            work_group_small: wg_batches * wg_rows * wg_rows <= 256,
                "a work group with as many columns as rows has at most 256 work items";
            work_group_fits: wg_batches * wg_rows * wg_cols <= 1024,
                "no device has room for more than 1024 work items in a work group";
            rows_of_vectors: item_rows % vectorization_size == 0,
                "the rows of a work item are whole vectors";
            cols_of_vectors: item_cols % vectorization_size == 0,
                "the columns of a work item are whole vectors";
        )
    }

    /// | part       | stands for                                |
    /// |------------|-------------------------------------------|
    /// | `_c64`     | the cache line                            |
    /// | `_i4x4x8`  | a work item's rows, columns and matrices  |
    /// | `_w4x4x2`  | a work group's rows, columns and matrices |
    /// | `_v4`      | the vectorization                         |
    pub(super) fn plain_name(&self) -> String {
        let NonLocalInterleaved { cache_line_size, item_rows, item_cols, item_batches, .. } = self;
        let NonLocalInterleaved { wg_rows, wg_cols, wg_batches, vectorization_size, .. } = self;
        format!(
            "non_local_interleaved_c{cache_line_size}_i{item_rows}x{item_cols}x{item_batches}\
             _w{wg_rows}x{wg_cols}x{wg_batches}_v{vectorization_size}"
        )
    }

    pub(super) fn generator(&self) -> serde_json::Value {
        serde_json::json!({
            "cache_line_size": [self.cache_line_size],
            "work_item_sizes": [[self.item_rows, self.item_cols]],
            "work_group_sizes": [[self.wg_rows, self.wg_cols]],
            "batch_level_tiles": [[self.item_batches, self.wg_batches]],
            "vectorization_size": [self.vectorization_size],
        })
    }
}
