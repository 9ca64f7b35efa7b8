//! The primitive `pipeline`.

use super::{Instruction, Pipeline, Schedule, legality};
use crate::Result;

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
