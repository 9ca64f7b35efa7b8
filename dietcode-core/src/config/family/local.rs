//! Generators of the family `local`.

use super::values::{required, size, two_sizes};
use crate::Result;
use crate::config::product::places;
use crate::config::reader::Object;
use crate::sketch::Local;

/// All combinations of one value from each list, the last list's changing fastest.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct LocalGenerator {
    /// Values of [`Local::cache_line_size`].
    pub cache_line_size: Vec<i64>,
    /// Rows and columns of a work item.
    pub work_item_sizes: Vec<[i64; 2]>,
    /// Rows and columns of a work group.
    pub work_group_sizes: Vec<[i64; 2]>,
    /// Rows and columns of a block, in work groups.
    pub block_level_tiles: Vec<[i64; 2]>,
    /// Values of [`Local::double_buffer`].
    pub double_buffer: Vec<bool>,
    /// Values of [`Local::no_bank_conflict_a`].
    pub no_bank_conflict_a: Vec<bool>,
    /// Values of [`Local::no_bank_conflict_b`].
    pub no_bank_conflict_b: Vec<bool>,
    /// Values of [`Local::vectorization_size`].
    pub vectorization_size: Vec<i64>,
}

pub(super) const KEYS: &[&str] = &[
    "cache_line_size",
    "work_item_sizes",
    "work_group_sizes",
    "block_level_tiles",
    "double_buffer",
    "no_bank_conflict_a",
    "no_bank_conflict_b",
    "vectorization_size",
];

impl LocalGenerator {
    pub(super) fn read(object: &Object<'_>) -> Result<LocalGenerator> {
        let flags = |key| required(object, key, |node| node.boolean());
        Ok(LocalGenerator {
            cache_line_size: required(object, "cache_line_size", size)?,
            work_item_sizes: required(object, "work_item_sizes", two_sizes)?,
            work_group_sizes: required(object, "work_group_sizes", two_sizes)?,
            block_level_tiles: required(object, "block_level_tiles", two_sizes)?,
            double_buffer: flags("double_buffer")?,
            no_bank_conflict_a: flags("no_bank_conflict_a")?,
            no_bank_conflict_b: flags("no_bank_conflict_b")?,
            vectorization_size: required(object, "vectorization_size", size)?,
        })
    }

    pub(super) fn lengths(&self) -> [usize; 8] {
        [
            self.cache_line_size.len(),
            self.work_item_sizes.len(),
            self.work_group_sizes.len(),
            self.block_level_tiles.len(),
            self.double_buffer.len(),
            self.no_bank_conflict_a.len(),
            self.no_bank_conflict_b.len(),
            self.vectorization_size.len(),
        ]
    }

    pub(super) fn get(&self, index: u128) -> Option<Local> {
        let at = places(self.lengths(), index)?;
        let [item_rows, item_cols] = self.work_item_sizes[at[1]];
        let [wg_rows, wg_cols] = self.work_group_sizes[at[2]];
        let [tile_rows, tile_cols] = self.block_level_tiles[at[3]];
        Some(Local {
            cache_line_size: self.cache_line_size[at[0]],
            item_rows,
            item_cols,
            wg_rows,
            wg_cols,
            tile_rows,
            tile_cols,
            vectorization_size: self.vectorization_size[at[7]],
            double_buffer: self.double_buffer[at[4]],
            no_bank_conflict_a: self.no_bank_conflict_a[at[5]],
            no_bank_conflict_b: self.no_bank_conflict_b[at[6]],
        })
    }
}
