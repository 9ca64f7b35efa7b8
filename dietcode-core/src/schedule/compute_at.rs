//! The primitive `compute_at`.

use super::{Instruction, Place, Schedule, legality};
use crate::Result;

impl Schedule {
    /// Places a stage inside of a loop, before what the loop holds (none: outside of all loops); TVM's and Halide's
    /// `compute_at`. `stage` is a name that `cache_read` or `cache_write` returned.
    ///
    /// ```text
    /// for k_0                  for k_0
    ///   for i           →        fill x_panel
    ///     … x[…] …               for i: … x_panel[…] …
    /// ```
    ///
    /// # Errors
    /// An unknown stage or loop, or a place inside of which the stage's extents are not constants.
    pub fn compute_at(&mut self, stage: &str, at: Option<&str>) -> Result<()> {
        let depth = match at {
            Some(name) => self.find(name)? + 1,
            None => 0,
        };
        if self.cache_write.as_ref().is_some_and(|tile| &*tile.name == stage) {
            legality::tile_at(self, depth)?;
            self.cache_write.iter_mut().for_each(|tile| tile.depth = Some(depth));
        } else if let Some(n) = self.cache_reads.iter().position(|read| &*read.name == stage) {
            let index: Vec<_> = self.cache_reads[n].index.iter().map(|e| self.in_loops(e)).collect();
            legality::stage_at(self, depth, |name| index.iter().any(|e| e.uses(name)), stage)?;
            self.cache_reads[n].depth = Some(depth);
        } else {
            return Err(crate::Error::input(format!("compute_at: there is no stage `{stage}`")));
        }
        self.record(Instruction::ComputeAt {
            stage: stage.into(),
            at: at.map_or(Place::Root, |at| Place::Loop(at.into())),
        });
        Ok(())
    }
}
