//! The marker `enter_postproc`.

use super::{Instruction, Schedule};

impl Schedule {
    /// Says that what follows was made by postprocessors and needs no decision; TVM's `EnterPostproc`. A trace with it is
    /// final: nothing is added when it is replayed. A mutation cuts it off there.
    pub fn enter_postproc(&mut self) {
        self.record(Instruction::EnterPostproc);
    }
}
