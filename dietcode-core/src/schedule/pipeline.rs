//! The primitive `pipeline`.

use super::{Instruction, Schedule, legality};
use crate::Result;

/// How the copies into shared memory, or into panels, overlap with the computation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Pipeline {
    /// Two tiles: while one is read, the next is on its way to registers, and is stored after that.
    Registers,
    /// Two panels of each packed input of a CPU: the next is packed before the current is computed with.
    Panels,
    /// So many tiles, filled by asynchronous copies (`cp.async`, compute capability 8.0 on).
    Async(i64),
}

impl Schedule {
    /// Fills the tiles in shared memory, or packs the panels, ahead of their use; TVM's `software_pipeline`, known as double buffering.
    ///
    /// ```text
    /// for k_0                          fill x[0]
    ///   fill x                         for k_0
    ///   sync                    →        wait, sync
    ///   … x …                            fill x[(k_0 + 1) % 2] for k_0 + 1
    ///   sync                             … x[k_0 % 2] …
    /// ```
    ///
    /// # Errors
    /// Nothing is staged in shared memory or, for [`Pipeline::Panels`], packed; or the number of stages is not from 2 to 8.
    pub fn pipeline(&mut self, pipeline: Pipeline) -> Result<()> {
        legality::pipeline(self, pipeline)?;
        self.pipeline = Some(pipeline);
        self.record(Instruction::Pipeline(pipeline));
        Ok(())
    }
}
