//! The family `local`: both operands are staged, in shared memory on a GPU, in packed panels on a CPU.

use serde::{Deserialize, Serialize};

use super::condition::{Condition, conditions, parameters};

/// A work group computes `tile_rows · wg_rows · item_rows` rows and as many columns, from copies of both operands that hold
/// a cache line of the sum's steps.
///
/// Sizes are elements, if nothing else is said; rows are the loops that move the first operand only, columns those that
/// move the second only. Source: portBLAS, `gemm_local.hpp`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Local {
    /// Bytes of a cache line: a fourth of it is how many steps of the sum are staged at once.
    pub cache_line_size: i64,
    /// Rows of a work item.
    pub item_rows: i64,
    /// Columns of a work item.
    pub item_cols: i64,
    /// Work items of a work group along the rows.
    pub wg_rows: i64,
    /// Work items of a work group along the columns.
    pub wg_cols: i64,
    /// Work groups of a block along the rows.
    pub tile_rows: i64,
    /// Work groups of a block along the columns.
    pub tile_cols: i64,
    /// How many neighbours are read at once.
    pub vectorization_size: i64,
    /// Whether the next copies are filled while the present ones are read.
    pub double_buffer: bool,
    /// Whether rows of the first operand's copy are set apart, so that they lie in different banks.
    pub no_bank_conflict_a: bool,
    /// The same for the second operand.
    pub no_bank_conflict_b: bool,
}

impl Local {
    pub(super) fn parameters(&self) -> Vec<(&'static str, i64)> {
        parameters!(self: cache_line_size, item_rows, item_cols, wg_rows, wg_cols, tile_rows, tile_cols,
            vectorization_size, double_buffer, no_bank_conflict_a, no_bank_conflict_b)
    }

    pub(super) fn conditions(&self) -> Vec<Condition> {
        conditions!(self: cache_line_size, item_rows, item_cols, wg_rows, wg_cols, tile_rows, tile_cols, vectorization_size;
            cache_line_of_elements: cache_line_size % 4 == 0,
                "a cache line holds whole elements of 4 bytes";
            wg_rows_divided: wg_rows % item_cols == 0,
                "the work items along the rows share the columns of a copy among them evenly";
            wg_cols_divided: wg_cols % item_rows == 0,
                "the work items along the columns share the rows of a copy among them evenly";
            cache_lines_filled: wg_rows * wg_cols * 4 % cache_line_size == 0,
                "the work group, an element of 4 bytes each, fills whole cache lines";
        )
    }

    /// | part        | stands for                          |
    /// |-------------|-------------------------------------|
    /// | `_c64`      | the cache line                      |
    /// | `_i4x8`     | a work item's rows and columns      |
    /// | `_w8x16`    | a work group's rows and columns     |
    /// | `_t1x1`     | a block's rows and columns          |
    /// | `_v4`       | the vectorization                   |
    /// | `_double`   | double buffering                    |
    /// | `_pada`     | the first operand's rows set apart  |
    /// | `_padb`     | the second operand's rows set apart |
    pub(super) fn plain_name(&self) -> String {
        let Local { cache_line_size, item_rows, item_cols, wg_rows, wg_cols, tile_rows, tile_cols, .. } = self;
        let mut name = format!(
            "local_c{cache_line_size}_i{item_rows}x{item_cols}_w{wg_rows}x{wg_cols}_t{tile_rows}x{tile_cols}_v{}",
            self.vectorization_size
        );
        name.extend(self.double_buffer.then_some("_double"));
        name.extend(self.no_bank_conflict_a.then_some("_pada"));
        name.extend(self.no_bank_conflict_b.then_some("_padb"));
        name
    }

    pub(super) fn generator(&self) -> serde_json::Value {
        serde_json::json!({
            "cache_line_size": [self.cache_line_size],
            "work_item_sizes": [[self.item_rows, self.item_cols]],
            "work_group_sizes": [[self.wg_rows, self.wg_cols]],
            "block_level_tiles": [[self.tile_rows, self.tile_cols]],
            "double_buffer": [self.double_buffer],
            "no_bank_conflict_a": [self.no_bank_conflict_a],
            "no_bank_conflict_b": [self.no_bank_conflict_b],
            "vectorization_size": [self.vectorization_size],
        })
    }
}
