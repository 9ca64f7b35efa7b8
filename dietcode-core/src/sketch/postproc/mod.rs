//! From a trace to the schedules that are lowered: what follows from decisions and target, and needs no decision of its own.
//!
//! Each pass is one file, and shows before → after. What a kernel may take of its target is verified behind lowering, by `limits`.
//!
//! Source: `Postproc` of TVM's MetaSchedule (`src/meta_schedule/postproc`).

mod rewrite_cooperative_fetch;
mod rewrite_reduction;
mod rewrite_tensorize;
mod rewrite_unbound_block;
mod rewrite_vector_store;

pub(super) use rewrite_reduction::rewrite_reduction;
pub(super) use rewrite_unbound_block::rewrite_unbound_block;

use crate::Result;
use crate::machine::Target;
use crate::schedule::Schedule;

/// Adds to a schedule what follows from its decisions and its target.
///
/// # Errors
/// What the primitives refuse.
pub(super) fn rewrite(schedule: &mut Schedule, target: &Target) -> Result<()> {
    if matches!(target, Target::Cuda(_)) {
        rewrite_unbound_block::rewrite_unbound_block(schedule)?;
        rewrite_tensorize::rewrite_tensorize(schedule)?;
        rewrite_cooperative_fetch::rewrite_cooperative_fetch(schedule)?;
        rewrite_vector_store::rewrite_vector_store(schedule)?;
    }
    rewrite_reduction::rewrite_reduction(schedule)
}
