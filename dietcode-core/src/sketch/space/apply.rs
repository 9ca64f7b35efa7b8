//! A trace carried out: replayed, rewritten for its target, lowered, checked against the limits, hashed.

use super::{Applied, Space};
use crate::Result;
use crate::lower::{LoopNest, lower};
use crate::schedule::Trace;
use crate::sketch::{Traced, verify_limits};

impl Space {
    /// Carries a trace out on the space's program.
    ///
    /// # Errors
    /// A decision that is open, an instruction that does not hold, what lowering refuses, a limit of the target.
    pub fn apply(&self, trace: &Trace) -> Result<Applied> {
        let traced = Traced { trace: trace.clone() };
        let schedules = traced.schedules(&self.program, &self.bounds.hardware)?;
        let nests = schedules.iter().map(lower).collect::<Result<Vec<LoopNest>>>()?;
        for (schedule, nest) in schedules.iter().zip(&nests) {
            verify_limits(schedule, nest, &self.bounds.hardware)?;
        }
        let hash = super::structure::hash(&nests);
        Ok(Applied { trace: traced.trace, schedules, nests, hash })
    }
}
