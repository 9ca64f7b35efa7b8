//! What no rule has bound gets a grid and threads: elementwise kernels, and those beside a shared sum.
//!
//! It stands first, because the passes behind it depend on which loops are threads.
//!
//! ```text
//! for i in 0..M                          for block in 0..M·⌈N/128⌉ bound to the grid
//!   for j in 0..N                  →       let i = …, j_b = …
//!     y[i][j] = …                          for j_t in 0..128 bound to threads
//!                                            if 128·j_b + j_t < N: y[i][j] = …
//! ```
//!
//! What has no spatial loop is computed by one thread of one block.
//!
//! MetaSchedule: `RewriteUnboundBlock`.

use dietcode_syntax::Role;

use crate::Result;
use crate::ir::{ForKind, Name};
use crate::schedule::{Loop, Schedule, Tail};
use crate::sketch::grid;

/// Threads that compute one element each.
const THREADS: i64 = 128;

/// Binds the spatial loops of a schedule without threads: neighbours of the output to neighbours of a block.
///
/// # Errors
/// Stages are placed already.
pub(in crate::sketch) fn rewrite_unbound_block(schedule: &mut Schedule) -> Result<()> {
    if schedule.is_gpu() {
        return Ok(());
    }
    let free: Vec<Name> = schedule.loops.iter().filter(|l| is_free(l)).map(|l| l.name.clone()).collect();
    let contiguous = schedule.block.contiguous().filter(|name| free.contains(name)).or_else(|| free.last());
    let thread = match contiguous.cloned() {
        Some(contiguous) => bind(schedule, &free, &contiguous)?,
        None => bind_one(schedule)?,
    };
    if schedule.block.reduction.is_some() && schedule.cache_write.is_none() {
        let tile = schedule.cache_write()?;
        schedule.compute_at(&tile, Some(&thread))?;
    }
    Ok(())
}

/// Binds the free loops; returns the one over threads.
fn bind(schedule: &mut Schedule, free: &[Name], contiguous: &Name) -> Result<Name> {
    let [outer, thread] = ["b", "t"].map(|level| schedule.fresh_name(&format!("{contiguous}_{level}")));
    schedule.split(contiguous, THREADS, Tail::Pad, [&outer, &thread])?;
    let between: Vec<Name> = free.iter().filter(|name| *name != contiguous).cloned().chain([outer]).collect();
    let inside = schedule.loop_names().into_iter().filter(|name| *name != thread && !between.contains(name));
    let order: Vec<Name> = between.iter().chain([&thread]).cloned().chain(inside).collect();
    schedule.reorder(&order.iter().map(|name| &**name).collect::<Vec<&str>>())?;
    let block = grid::fuse_all(schedule, &between, "block")?;
    block.iter().try_for_each(|name| schedule.bind_block(name))?;
    schedule.bind_thread(&thread)?;
    Ok(thread)
}

/// A loop for the thread that computes everything.
fn bind_one(schedule: &mut Schedule) -> Result<Name> {
    let thread = schedule.fresh_name("thread");
    schedule.add_unit_loop(&thread)?;
    schedule.bind_thread(&thread)?;
    Ok(thread)
}

fn is_free(l: &Loop) -> bool {
    l.role == Role::Spatial && l.kind == ForKind::Serial
}
