//! What no rule has bound gets a grid and threads: elementwise kernels, and those beside a shared sum.
//!
//! It stands first, because the passes behind it ask which loops are threads.
//!
//! ```text
//! for i in 0..M                          for block in 0..M·⌈N/128⌉ bound to the grid
//!   for j in 0..N                  →       let i = …, j_b = …
//!     y[i][j] = …                          for j_t in 0..128 bound to threads
//!                                            if 128·j_b + j_t < N: y[i][j] = …
//! ```
//!
//! MetaSchedule: `RewriteUnboundBlock`.

use dietcode_syntax::Role;

use crate::ir::{Expr, ForKind, Name};
use crate::schedule::{Loop, Schedule, Tail};
use crate::sketch::grid;
use crate::{Error, Result};

/// Threads that compute one element each.
const THREADS: i64 = 128;

/// Binds the spatial loops of a schedule without threads: neighbours of the output to neighbours of a block.
///
/// # Errors
/// There is no spatial loop, or stages are placed already.
pub(in crate::sketch) fn rewrite_unbound_block(schedule: &mut Schedule) -> Result<()> {
    if schedule.is_gpu() {
        return Ok(());
    }
    let free: Vec<Name> = schedule.loops.iter().filter(|l| is_free(l)).map(|l| l.name.clone()).collect();
    let contiguous = match schedule.block.output_index.last() {
        Some(Expr::Var(name)) if free.contains(name) => Some(name),
        _ => free.last(),
    };
    let Some(contiguous) = contiguous.cloned() else {
        let name = &schedule.block.name;
        return Err(Error::input(format!("`{name}` has no loop that blocks and threads could share")));
    };
    let [outer, thread] = ["b", "t"].map(|level| schedule.fresh_name(&format!("{contiguous}_{level}")));
    schedule.split(&contiguous, THREADS, Tail::Pad, [&outer, &thread])?;
    let between: Vec<Name> = free.into_iter().filter(|name| *name != contiguous).chain([outer]).collect();
    let inside = schedule.loop_names().into_iter().filter(|name| *name != thread && !between.contains(name));
    let order: Vec<Name> = between.iter().chain([&thread]).cloned().chain(inside).collect();
    schedule.reorder(&order.iter().map(|name| &**name).collect::<Vec<&str>>())?;
    let block = grid::fuse_all(schedule, &between, "block")?;
    block.iter().try_for_each(|name| schedule.bind_block(name))?;
    schedule.bind_thread(&thread)?;
    if schedule.block.reduction.is_some() && schedule.cache_write.is_none() {
        let tile = schedule.cache_write()?;
        schedule.compute_at(&tile, Some(&thread))?;
    }
    Ok(())
}

fn is_free(l: &Loop) -> bool {
    l.role == Role::Spatial && l.kind == ForKind::Serial
}
