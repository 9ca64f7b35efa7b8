//! The primitive `vectorize_fetch`.

use super::{Instruction, Schedule, SharedTile, Staging, legality};
use crate::{Error, Result};

impl Schedule {
    /// Fills a tile in shared memory by vectors of another width than its `cache_read` said.
    ///
    /// ```text
    /// x_shared = cache_read(x, shared, vector 4)      →      filled by vectors of `lanes`
    /// ```
    ///
    /// # Errors
    /// There is no such tile, or not 1, 2, 4, 8 or 16 lanes.
    pub fn vectorize_fetch(&mut self, stage: &str, lanes: i64) -> Result<()> {
        let found = self.cache_reads.iter().position(|read| *read.name == *stage);
        let tile = found.and_then(|at| match self.cache_reads[at].staging {
            Staging::Shared(tile) => Some((at, SharedTile { vector: lanes, ..tile })),
            _ => None,
        });
        let Some((at, tile)) = tile else {
            return Err(Error::input(format!("vectorize_fetch: there is no tile `{stage}` in shared memory")));
        };
        legality::shared_tile(self, stage, tile)?;
        self.cache_reads[at].staging = Staging::Shared(tile);
        self.record(Instruction::VectorizeFetch { stage: stage.into(), lanes: lanes.into() });
        Ok(())
    }
}
