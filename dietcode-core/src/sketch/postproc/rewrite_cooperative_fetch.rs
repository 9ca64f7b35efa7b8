//! Tiles in shared memory are filled by the widest vectors that their rows and the element type allow, at most those that the
//! trace names, and not so wide that threads are left without one.
//!
//! ```text
//! x_shared[64][12] of f32, 256 threads, cache_read(x, shared, vector 4)
//!                                            →      vector 2: of 192 vectors of 4, a quarter of the threads has none
//! w_shared[64][15] of f32, 64 threads, cache_read(w, shared, vector 4)
//!                                            →      vector 1: none else divides the row
//! ```
//!
//! It stands behind the decisions, which say how long a row is. MetaSchedule: `RewriteCooperativeFetch`.

use crate::Result;
use crate::lower::widest_fetch;
use crate::schedule::{Schedule, Staging};

/// Bytes of the widest access of a thread.
const WIDEST: i64 = 16;

/// Narrows the vectors of the copies into shared memory.
///
/// # Errors
/// A tile whose extents are no constants.
pub(super) fn rewrite_cooperative_fetch(schedule: &mut Schedule) -> Result<()> {
    for at in 0..schedule.cache_reads.len() {
        let read = &schedule.cache_reads[at];
        let Staging::Shared(tile) = read.staging else { continue };
        let source = schedule.program.params.iter().find(|param| param.name == read.buffer);
        let most = source.map_or(1, |source| WIDEST / source.dtype.bytes()).min(tile.vector);
        let vector = widest_fetch(schedule, read, most)?;
        if vector != tile.vector {
            let stage = read.name.clone();
            schedule.vectorize_fetch(&stage, vector)?;
        }
    }
    Ok(())
}
