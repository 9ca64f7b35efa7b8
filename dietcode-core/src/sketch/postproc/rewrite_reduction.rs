//! A sum is initialised in loops of its own, so that its steps have no condition.
//!
//! ```text
//! for k                                  for i: tile[i] = 0
//!   for i                                for k
//!     if k == 0: tile[i] = 0       →       for i: tile[i] += …
//!     tile[i] += …
//! ```
//!
//! MetaSchedule: `RewriteReductionBlock`.

use crate::Result;
use crate::schedule::Schedule;

/// Decomposes the reduction, if there is one and no instruction did so.
///
/// # Errors
/// Those of [`Schedule::decompose_reduction`].
pub(in crate::sketch) fn rewrite_reduction(schedule: &mut Schedule) -> Result<()> {
    if schedule.block.reduction.is_none() || schedule.decomposed {
        return Ok(());
    }
    schedule.decompose_reduction()
}
