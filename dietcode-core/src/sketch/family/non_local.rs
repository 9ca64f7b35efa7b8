//! The family `non_local`: operands go from the tensors to registers, by vectors or not, and nothing is staged.

use serde::{Deserialize, Serialize};

use super::condition::{Condition, conditions, parameters};

/// A work item computes `item_rows · item_cols` elements from what it reads itself.
///
/// Rows and columns as in [`Local`](super::Local). Source: portBLAS, `gemm_no_local_partial_vec.hpp` and
/// `gemm_no_local_full_vec.hpp`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NonLocal {
    /// Rows of a work item.
    pub item_rows: i64,
    /// Columns of a work item.
    pub item_cols: i64,
    /// Work items of a work group along the rows.
    pub wg_rows: i64,
    /// Work items of a work group along the columns.
    pub wg_cols: i64,
    /// How many neighbours are read at once.
    pub vectorization_size: i64,
    /// What is read so.
    pub vectorization: Vectorization,
}

/// How much of what a work item touches is read and written by vectors.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Vectorization {
    /// The operands, several vectors to a work item's tile.
    Partial,
    /// The operands and the output, one vector to a row of the tile.
    Full,
}

impl Vectorization {
    /// As a config writes it.
    pub fn as_str(self) -> &'static str {
        match self {
            Vectorization::Partial => "partial",
            Vectorization::Full => "full",
        }
    }
}

/// The place in the order: 0 for partial, 1 for full.
impl From<Vectorization> for i64 {
    fn from(vectorization: Vectorization) -> i64 {
        vectorization as i64
    }
}

impl NonLocal {
    pub(super) fn parameters(&self) -> Vec<(&'static str, i64)> {
        parameters!(self: item_rows, item_cols, wg_rows, wg_cols, vectorization_size, vectorization)
    }

    pub(super) fn conditions(&self) -> Vec<Condition> {
        let mut conditions = conditions!(self: item_rows, item_cols, wg_rows, wg_cols, vectorization_size;
            block_square: wg_cols * item_cols == wg_rows * item_rows,
                "the block of a work group has as many rows as columns";
        );
        conditions.extend(match self.vectorization {
            Vectorization::Partial => conditions!(self: item_rows, item_cols, vectorization_size;
                rows_of_vectors: item_rows % vectorization_size == 0,
                    "the rows of a work item are read as whole vectors";
                cols_of_vectors: item_cols % vectorization_size == 0,
                    "the columns of a work item are read as whole vectors";
            ),
            Vectorization::Full => conditions!(self: item_rows, item_cols, vectorization_size;
                rows_one_vector: item_rows == vectorization_size,
                    "the rows of a work item are one vector";
                cols_one_vector: item_cols == vectorization_size,
                    "the columns of a work item are one vector";
            ),
        });
        conditions
    }

    /// | part       | stands for                      |
    /// |------------|---------------------------------|
    /// | `_i4x8`    | a work item's rows and columns  |
    /// | `_w8x4`    | a work group's rows and columns |
    /// | `_v4`      | the vectorization               |
    /// | `_partial` | or `_full`: how much            |
    pub(super) fn plain_name(&self) -> String {
        let NonLocal { item_rows, item_cols, wg_rows, wg_cols, vectorization_size, vectorization } = self;
        format!(
            "non_local_i{item_rows}x{item_cols}_w{wg_rows}x{wg_cols}_v{vectorization_size}_{}",
            vectorization.as_str()
        )
    }

    pub(super) fn generator(&self) -> serde_json::Value {
        serde_json::json!({
            "work_item_sizes": [[self.item_rows, self.item_cols]],
            "work_group_sizes": [[self.wg_rows, self.wg_cols]],
            "vectorization_size": [self.vectorization_size],
            "vectorization": [self.vectorization],
        })
    }
}
