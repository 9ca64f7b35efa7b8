//! A thread stores the widest vectors that divide its run of neighbours, at most those that the trace names.
//!
//! ```text
//! vectorize_store(4), 6 neighbours      →      vectorize_store(2)
//! ```
//!
//! It stands behind the binding, which says what a thread has of a row.

use dietcode_syntax::Role;

use crate::Result;
use crate::ir::{ForKind, affine};
use crate::schedule::{Loop, Schedule};

/// Narrows the vectors of the store.
///
/// # Errors
/// Those of [`Schedule::vectorize_store`].
pub(super) fn rewrite_vector_store(schedule: &mut Schedule) -> Result<()> {
    let (most, run) = (schedule.store_lanes, run(schedule));
    let lanes = [8, 4, 2].into_iter().find(|lanes| *lanes <= most && run % lanes == 0).unwrap_or(1);
    if lanes < most { schedule.vectorize_store(lanes) } else { Ok(()) }
}

/// The neighbours along the innermost loop of a thread that has any, as lowering takes them; where sums change hands, those of the
/// block.
fn run(schedule: &Schedule) -> i64 {
    if schedule.store_pad.is_some() {
        return schedule.store_tile().ok().and_then(|tile| Some(tile.runs.last()?.extent)).unwrap_or(1);
    }
    let Some(last) = schedule.block.output_index.last().and_then(|e| affine(&schedule.unsplit(e))) else { return 1 };
    let of_thread = |l: &&Loop| l.role == Role::Spatial && !matches!(l.kind, ForKind::BlockIdx | ForKind::ThreadIdx);
    let neighbours = schedule.loops.iter().rev().filter(of_thread).filter(|l| last.coefficient(&l.name) == 1);
    neighbours.filter_map(|l| l.extent.as_int()).find(|extent| *extent != 1).unwrap_or(1)
}
