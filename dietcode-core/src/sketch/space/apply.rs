//! A trace carried out: replayed, rewritten for its target, lowered, checked against the limits, hashed.

use super::{Applied, Space};
use crate::Result;
use crate::lower::{LoopNest, structure_hash};
use crate::schedule::{Schedule, Trace};
use crate::sketch::Traced;
use crate::sketch::postproc::verify_limits::verify_grid;

impl Space {
    /// Carries a trace out on the space's program.
    ///
    /// # Errors
    /// A decision that is open, an instruction that does not hold, what lowering refuses, a limit of the target.
    pub fn apply(&self, trace: &Trace) -> Result<Applied> {
        let traced = Traced { trace: trace.clone() };
        let (schedules, nests): (Vec<Schedule>, Vec<LoopNest>) =
            traced.lowered(&self.program, &self.bounds.target)?.into_iter().unzip();
        schedules.iter().try_for_each(|schedule| verify_grid(schedule, &self.bounds))?;
        let hash = structure_hash(&nests);
        Ok(Applied { trace: traced.trace, schedules, nests, hash })
    }
}
