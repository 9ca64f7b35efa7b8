//! The primitive `vectorize_store`.

use super::{Instruction, Schedule};
use crate::{Error, Result};

impl Schedule {
    /// Writes the tile back by vectors of neighbours; where the address or the edge of the tensor does not allow it, one
    /// by one.
    ///
    /// ```text
    /// for j in 0..8: y[j] = tile[j]      →      for j_0 in 0..2: y[4·j_0 ..+ 4] = tile[4·j_0 ..+ 4]
    /// ```
    ///
    /// # Errors
    /// Not 1, 2, 4 or 8 lanes.
    pub fn vectorize_store(&mut self, lanes: i64) -> Result<()> {
        if ![1, 2, 4, 8].contains(&lanes) {
            return Err(Error::input(format!("vectorize_store: {lanes} lanes; expected 1, 2, 4 or 8")));
        }
        self.store_lanes = lanes;
        self.record(Instruction::VectorizeStore(lanes.into()));
        Ok(())
    }
}
