//! From a trace to the schedules that are lowered: what follows from decisions and target, and needs no decision of its own.

use super::{Hardware, Traced};
use crate::Result;
use crate::ir::Program;
use crate::schedule::Schedule;

impl Traced {
    /// The schedules of its kernels, in the order of their launches; on a CPU there is one.
    ///
    /// # Errors
    /// An instruction that does not hold, or a limit of the target.
    pub fn schedules(&self, program: &Program, _hardware: &Hardware) -> Result<Vec<Schedule>> {
        let schedule = self.trace.replay(program, &program.blocks[0])?;
        Ok(vec![schedule])
    }
}
