//! The primitive `rasterize`.

use super::{Instruction, Relation, Schedule, Size, legality};
use crate::Result;

impl Schedule {
    /// Lets a loop that was fused of two go through them in tiles of `tile`, one tile after the other: blocks that follow each
    /// other then read the same rows and columns, which a cache still holds. Known as rasterisation, or swizzling, of a grid.
    ///
    /// ```text
    /// for t in 0..6·4           0  1  2  3             tile [2, 2]     0  1  4  5
    ///   let i = t / 4           4  5  6  7                  →          2  3  6  7
    ///   let j = t % 4           8  9 10 11                             8  9 12 13
    ///                           …                                      …
    /// ```
    ///
    /// Tiles at the end are smaller, so every pair comes exactly once.
    ///
    /// # Errors
    /// The loop was not fused, is summed over or is rasterised already, or a tile is not from 1 to 1024 iterations wide.
    pub fn rasterize(&mut self, name: &str, tile: [i64; 2]) -> Result<()> {
        legality::rasterize(self, name, tile)?;
        for relation in &mut self.relations {
            if let Relation::Fuse { fused, raster, .. } = relation
                && **fused == *name
            {
                *raster = Some(tile);
            }
        }
        self.record(Instruction::Rasterize { name: name.into(), tile: tile.map(Size::from) });
        Ok(())
    }
}
