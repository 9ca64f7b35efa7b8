//! Loops of one iteration go.
//!
//! It stands before the loops are built, since then tiles and panels have no dimension for them either. A sketch has a loop for
//! every level, also where a draw gives all of an axis to another one.
//!
//! ```text
//! for i_1 in 0..1                        for k_1 in 0..384
//!   for k_1 in 0..384            →         y_tile[…] += … x[i_0·8 + 0] …
//!     y_tile[i_1][…] += …
//! ```
//!
//! A loop that is bound, parallel, or of lanes stays. So does one in which a stage is filled, if stages are filled ahead: what
//! overlaps needs its steps, and nothing else in them. And so does a fused one, whose parts are computed from it. Where a matrix unit is
//! used, all stay: its instruction is found by them.

use crate::ir::ForKind;
use crate::schedule::{Loop, Relation, Schedule};

/// The same schedule without loops of one iteration.
pub(super) fn drop_unit_loops(schedule: &Schedule) -> Schedule {
    let fills = |at: usize| schedule.cache_reads.iter().any(|read| read.depth == Some(at + 1));
    let goes = |at: usize, l: &Loop| {
        let overlaps = schedule.pipeline.is_some() && fills(at);
        let plain = matches!(l.kind, ForKind::Serial | ForKind::Unrolled | ForKind::VThread);
        let fused = |relation: &Relation| matches!(relation, Relation::Fuse { fused, .. } if *fused == l.name);
        let plain = plain && !schedule.relations.iter().any(fused);
        l.extent.as_int() == Some(1) && plain && !overlaps && schedule.matrix_unit.is_none()
    };
    let stays: Vec<bool> = schedule.loops.iter().enumerate().map(|(at, l)| !goes(at, l)).collect();
    let depth = |depth: usize| stays[..depth].iter().filter(|stays| **stays).count();
    let mut fewer = schedule.clone();
    let (kept, dropped) =
        schedule.loops.iter().cloned().zip(&stays).partition::<Vec<(Loop, &bool)>, _>(|(_, stays)| **stays);
    fewer.loops = kept.into_iter().map(|(l, _)| l).collect();
    fewer.dropped = dropped.into_iter().map(|(l, _)| l.name).collect();
    fewer.cache_reads.iter_mut().for_each(|read| read.depth = read.depth.map(depth));
    fewer.cache_write.iter_mut().for_each(|tile| tile.depth = tile.depth.map(depth));
    fewer
}
