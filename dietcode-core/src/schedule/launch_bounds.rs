//! The primitives that say how a GPU's kernel is launched.

use super::{Instruction, Schedule};
use crate::{Error, Result};

/// The most blocks that any multiprocessor holds.
const MOST_BLOCKS: i64 = 32;

impl Schedule {
    /// Makes the grid as large as the device holds at once, if it is to be; its blocks go on to further tiles.
    ///
    /// ```text
    /// tile = blockIdx.x      →      for tile in blockIdx.x, blockIdx.x + gridDim.x, …
    /// ```
    ///
    /// # Errors
    /// No loop is bound to threads.
    pub fn persistent(&mut self, is: bool) -> Result<()> {
        self.of_gpu("persistent")?;
        self.persistent = is;
        self.record(Instruction::Persistent(i64::from(is).into()));
        Ok(())
    }

    /// Lets a multiprocessor hold at least so many blocks, which bounds the registers of a thread: `__launch_bounds__`.
    ///
    /// # Errors
    /// No loop is bound to threads, or not 1 to 32 blocks.
    pub fn min_blocks(&mut self, blocks: i64) -> Result<()> {
        self.of_gpu("min_blocks")?;
        if !(1..=MOST_BLOCKS).contains(&blocks) {
            return Err(Error::input(format!("min_blocks: it is {blocks}, expected 1 to {MOST_BLOCKS}")));
        }
        self.min_blocks = blocks;
        self.record(Instruction::MinBlocks(blocks.into()));
        Ok(())
    }

    fn of_gpu(&self, what: &str) -> Result<()> {
        match self.is_gpu() {
            true => Ok(()),
            false => Err(Error::input(format!("{what}: no loop of `{}` is bound to threads", self.block.name))),
        }
    }
}
