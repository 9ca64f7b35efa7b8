//! From a trace to the schedules that are lowered: what follows from decisions and target, and needs no decision of its own.
//!
//! Each pass is one file, and shows before → after. [`verify_limits`] is apart, since it reads the lowered loops.
//!
//! Source: `Postproc` of TVM's MetaSchedule (`src/meta_schedule/postproc`).

mod rewrite_cooperative_fetch;
mod rewrite_reduction;
mod rewrite_tensorize;
mod rewrite_unbound_block;
mod rewrite_vector_store;
pub(super) mod verify_limits;

pub(super) use rewrite_reduction::rewrite_reduction;
pub(super) use rewrite_unbound_block::rewrite_unbound_block;
pub use verify_limits::{Limit, verify_limits};

use super::{Traced, finish};
use crate::Result;
use crate::ir::Program;
use crate::lower::{LoopNest, lower};
use crate::machine::Target;
use crate::schedule::Schedule;

impl Traced {
    /// The schedules of its kernels, in the order of their launches; on a CPU there is one.
    ///
    /// # Errors
    /// An instruction that does not hold, or a nest that the target cannot share out.
    pub fn schedules(&self, program: &Program, target: &Target) -> Result<Vec<Schedule>> {
        let mut schedule = self.trace.replay(program, &program.blocks[0])?.made_for(target.clone());
        if matches!(target, Target::Cuda(_)) {
            rewrite_unbound_block::rewrite_unbound_block(&mut schedule)?;
            rewrite_tensorize::rewrite_tensorize(&mut schedule)?;
            rewrite_cooperative_fetch::rewrite_cooperative_fetch(&mut schedule)?;
            rewrite_vector_store::rewrite_vector_store(&mut schedule);
        }
        rewrite_reduction::rewrite_reduction(&mut schedule)?;
        finish::launches(schedule)
    }

    /// The schedules with the loops that they are lowered to, none of them over a limit.
    ///
    /// # Errors
    /// As [`Traced::schedules`]; what lowering refuses; a limit of the target, with what was found and what is allowed.
    pub fn lowered(&self, program: &Program, target: &Target) -> Result<Vec<(Schedule, LoopNest)>> {
        let lowered = |schedule: Schedule| {
            let nest = lower(&schedule)?;
            verify_limits(&schedule, &nest, target)?;
            Ok((schedule, nest))
        };
        self.schedules(program, target)?.into_iter().map(lowered).collect()
    }
}
