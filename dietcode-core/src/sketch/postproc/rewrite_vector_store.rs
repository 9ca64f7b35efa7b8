//! A thread stores the widest vectors that divide its run of neighbours, at most those that the trace names.
//!
//! ```text
//! vectorize_store(4), 6 neighbours      →      vectorize_store(2)
//! ```
//!
//! It stands behind the binding, which says what a thread has of a row.

use dietcode_syntax::Role;

use crate::ir::ForKind;
use crate::schedule::Schedule;

/// Narrows the vectors of the store.
pub(super) fn rewrite_vector_store(schedule: &mut Schedule) {
    let Some(last) = schedule.block.output_index.last().map(|e| schedule.unsplit(e)) else { return };
    let of_thread = |l: &&crate::schedule::Loop| {
        l.role == Role::Spatial && !matches!(l.kind, ForKind::BlockIdx | ForKind::ThreadIdx) && last.uses(&l.name)
    };
    let run = schedule.loops.iter().rfind(of_thread).and_then(|l| l.extent.as_int()).unwrap_or(1);
    let most = schedule.store_lanes;
    schedule.narrow_store([8, 4, 2].into_iter().find(|lanes| *lanes <= most && run % lanes == 0).unwrap_or(1));
}
