//! The primitive `storage_align`.

use super::{Instruction, Schedule, Staging, legality};
use crate::Result;

impl Schedule {
    /// Pads the runs of a panel by `pad` unused elements or a little more, so that they do not all begin in the same set
    /// of a cache; TVM's `storage_align`. A run is what the outermost dimension of the panel counts: a micro-panel.
    ///
    /// ```text
    /// x_panel[4][256][8]      →      x_panel[4][256 + 2][8]              pad 16
    /// ```
    ///
    /// A panel of one dimension is one run, and stays as it is.
    ///
    /// Of a tile in shared memory it is what follows each row, in place of what [`Schedule::cache_read`] was told: unless it is 0, also in place
    /// of a swizzle.
    ///
    /// # Errors
    /// There is no such panel or tile, or the padding is not from 0 to 1024 elements.
    pub fn storage_align(&mut self, stage: &str, pad: i64) -> Result<()> {
        let at = legality::storage_align(self, stage, pad)?;
        let read = &mut self.cache_reads[at];
        match &mut read.staging {
            Staging::Shared(tile) => {
                tile.pad = pad;
                if pad > 0 {
                    tile.swizzle = 0;
                }
            }
            _ => read.pad = pad,
        }
        self.record(Instruction::StorageAlign { stage: stage.into(), pad: pad.into() });
        Ok(())
    }
}
