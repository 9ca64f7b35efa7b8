//! Generators of the family `non_local_interleaved`.

use super::values::{optional, required, size, two_sizes};
use crate::Result;
use crate::config::product::places;
use crate::config::reader::Object;
use crate::sketch::NonLocalInterleaved;

/// All combinations of one value from each list, the last list's changing fastest.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct NonLocalInterleavedGenerator {
    /// Values of [`NonLocalInterleaved::cache_line_size`]; 64 where a file says nothing, as some of portBLAS's.
    pub cache_line_size: Vec<i64>,
    /// Rows and columns of a work item.
    pub work_item_sizes: Vec<[i64; 2]>,
    /// Rows and columns of a work group.
    pub work_group_sizes: Vec<[i64; 2]>,
    /// Matrices of a work item, and work items of a work group along the batch.
    pub batch_level_tiles: Vec<[i64; 2]>,
    /// Values of [`NonLocalInterleaved::vectorization_size`].
    pub vectorization_size: Vec<i64>,
}

pub(super) const KEYS: &[&str] =
    &["cache_line_size", "work_item_sizes", "work_group_sizes", "batch_level_tiles", "vectorization_size"];

impl NonLocalInterleavedGenerator {
    pub(super) fn read(object: &Object<'_>) -> Result<NonLocalInterleavedGenerator> {
        Ok(NonLocalInterleavedGenerator {
            cache_line_size: optional(object, "cache_line_size", vec![64], size)?,
            work_item_sizes: required(object, "work_item_sizes", two_sizes)?,
            work_group_sizes: required(object, "work_group_sizes", two_sizes)?,
            batch_level_tiles: required(object, "batch_level_tiles", two_sizes)?,
            vectorization_size: required(object, "vectorization_size", size)?,
        })
    }

    pub(super) fn lengths(&self) -> [usize; 5] {
        [
            self.cache_line_size.len(),
            self.work_item_sizes.len(),
            self.work_group_sizes.len(),
            self.batch_level_tiles.len(),
            self.vectorization_size.len(),
        ]
    }

    pub(super) fn get(&self, index: u128) -> Option<NonLocalInterleaved> {
        let at = places(self.lengths(), index)?;
        let [item_rows, item_cols] = self.work_item_sizes[at[1]];
        let [wg_rows, wg_cols] = self.work_group_sizes[at[2]];
        let [item_batches, wg_batches] = self.batch_level_tiles[at[3]];
        Some(NonLocalInterleaved {
            cache_line_size: self.cache_line_size[at[0]],
            item_rows,
            item_cols,
            item_batches,
            wg_rows,
            wg_cols,
            wg_batches,
            vectorization_size: self.vectorization_size[at[4]],
        })
    }
}
