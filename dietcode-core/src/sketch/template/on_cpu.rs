//! What work items and work groups are on a CPU, as parameters of `tiled`.
//!
//! A work item is a register tile, a work group the block that one thread carries out. Vectors go along the loop along which
//! the output is contiguous. Where that is the batches' and a family has no size for them, a work item computes the columns of
//! one vector less, and each of them for a vector of batches: as many sums, and no scalar code.

use super::Tiled;
use super::roles::{Roles, lanes};
use crate::ir::Name;

/// Elements of 64 bytes, a cache line of every CPU here: how far micro-panels are padded.
pub(super) const PAD: i64 = 16;

/// Steps of the sum between which the tile's sums wait, where no parameter says so: what hangs over the edge of a tensor is
/// copied for as many.
pub(super) const STEPS: i64 = 512;

/// A loop with the size of its register tile, and how many of these make a block.
type TileAxis<'n> = (&'n Name, i64, i64);

/// Register tiles and blocks, vectors along the output's contiguous loop.
pub(super) fn tiles(roles: &Roles, axes: &[TileAxis<'_>], vectorization_size: i64) -> Tiled {
    let size = |along: &Name| axes.iter().find(|(name, ..)| *name == along).map_or(1, |(_, item, _)| *item);
    Tiled {
        vector: Some(roles.contiguous.to_string()),
        lanes: Some(lanes(vectorization_size, size(&roles.contiguous))),
        register_tile: axes.iter().map(|(name, item, _)| (name.to_string(), *item)).collect(),
        block_tile: axes.iter().map(|(name, item, group)| (name.to_string(), item * group)).collect(),
        ..Tiled::default()
    }
}

/// Rows and columns of a work item, and how many of these make a work group along each; with the batches, where vectors go
/// along them. Their panels hold a vector for each element, so that a work group has that many rows fewer.
pub(super) fn axes<'r>(
    roles: &'r Roles,
    item: [i64; 2],
    group: [i64; 2],
    vectorization_size: i64,
) -> Vec<TileAxis<'r>> {
    let ([rows, columns], [row_items, column_items]) = (item, group);
    match roles.batches.as_ref().filter(|batches| **batches == roles.contiguous) {
        None => vec![(&roles.rows, rows, row_items), (&roles.columns, columns, column_items)],
        Some(batches) => {
            let lanes = lanes(vectorization_size, columns);
            let row_items = (row_items / lanes).max(1);
            vec![(&roles.rows, rows, row_items), (&roles.columns, columns / lanes, column_items), (batches, lanes, 1)]
        }
    }
}

/// Blocks of the sum: so many steps of its innermost loop, one of each other.
pub(super) fn blocks_of_sum(roles: &Roles, steps: i64) -> impl Iterator<Item = (String, i64)> {
    let others = roles.other_steps.iter().map(|name| (name.to_string(), 1));
    others.chain([(roles.step.to_string(), steps)])
}

#[cfg(test)]
mod tests;
