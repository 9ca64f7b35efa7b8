//! When a primitive may be applied. Each function is the whole condition of one primitive; none rewrites anything.

use dietcode_syntax::Role;

use super::{Relation, Schedule, Tail};
use crate::ir::{ForKind, Scope};
use crate::{Error, Result};

/// Copies of the innermost statement that unrolling may make; a C compiler takes minutes over much more.
pub(crate) const MOST_COPIES: i64 = 1024;

/// A refusal that names the block.
fn refuse<T>(schedule: &Schedule, why: impl AsRef<str>) -> Result<T> {
    Err(Error::input(format!("schedule of `{}`: {}", schedule.block.name, why.as_ref())))
}

/// A split needs a positive factor, two fresh names, and a loop that is still serial. A fused loop is not padded: what
/// hangs over the edge of two variables at once is not a box that a staged copy could fill.
pub(super) fn split(schedule: &Schedule, at: usize, factor: i64, tail: Tail, into: [&str; 2]) -> Result<()> {
    let l = &schedule.loops[at];
    if !(1..=1 << 31).contains(&factor) {
        return refuse(schedule, format!("split of `{}` by {factor}: the factor must be from 1 to 2^31", l.name));
    }
    if into[0] == into[1] {
        return refuse(schedule, format!("split of `{}`: both new loops are called `{}`", l.name, into[0]));
    }
    for name in into {
        fresh(schedule, name)?;
    }
    if l.kind != ForKind::Serial {
        return refuse(schedule, format!("split of `{}`: it is {:?} already", l.name, l.kind));
    }
    if tail == Tail::Pad && schedule.roots(&l.name).len() > 1 {
        return refuse(schedule, format!("split of `{}`: a fused loop can only be clipped", l.name));
    }
    loops_are_free(schedule)
}

/// A new order names each loop at most once, and keeps a loop that another's extent depends on outside of that one.
pub(super) fn reorder(schedule: &Schedule, order: &[usize]) -> Result<()> {
    for (place, &outer) in order.iter().enumerate() {
        for &inner in &order[..place] {
            if schedule.in_loops(&schedule.loops[inner].extent).uses(&schedule.loops[outer].name) {
                let (outer, inner) = (&schedule.loops[outer].name, &schedule.loops[inner].name);
                return refuse(schedule, format!("reorder: the extent of `{inner}` depends on `{outer}`"));
            }
        }
    }
    loops_are_free(schedule)
}

/// Only neighbours of one role fuse, both serial, and the inner extent must not depend on the outer loop.
pub(super) fn fuse(schedule: &Schedule, outer: usize, inner: usize, into: &str) -> Result<()> {
    let (a, b) = (&schedule.loops[outer], &schedule.loops[inner]);
    if inner != outer + 1 {
        return refuse(schedule, format!("fuse: `{}` does not stand directly in `{}`", b.name, a.name));
    }
    if schedule.in_loops(&b.extent).uses(&a.name) {
        return refuse(schedule, format!("fuse: the extent of `{}` depends on `{}`", b.name, a.name));
    }
    if a.role != b.role || a.kind != ForKind::Serial || b.kind != ForKind::Serial {
        return refuse(schedule, format!("fuse: `{}` and `{}` differ in role or are no longer serial", a.name, b.name));
    }
    fresh(schedule, into)?;
    if schedule
        .relations
        .iter()
        .any(|r| matches!(r, Relation::Split { guard: true, inner, .. } if [&a.name, &b.name].contains(&inner)))
    {
        return refuse(schedule, format!("fuse: `{}` or `{}` hangs over the edge", a.name, b.name));
    }
    loops_are_free(schedule)
}

/// Parallel: the outermost loop, spatial. Vectorized: the innermost, spatial, of constant extent. Unrolled: constant,
/// and not too many copies in all.
pub(super) fn kind(schedule: &Schedule, at: usize, kind: ForKind) -> Result<()> {
    let l = &schedule.loops[at];
    let constant = l.extent.as_int();
    match kind {
        ForKind::Serial => Ok(()),
        ForKind::Parallel if at != 0 => refuse(schedule, format!("parallel: `{}` is not the outermost loop", l.name)),
        ForKind::Parallel | ForKind::Vectorized if l.role != Role::Spatial => {
            refuse(schedule, format!("`{}` is summed over: its iterations depend on each other", l.name))
        }
        ForKind::Parallel => Ok(()),
        ForKind::Vectorized if at + 1 != schedule.loops.len() => {
            refuse(schedule, format!("vectorize: `{}` is not the innermost loop", l.name))
        }
        ForKind::Vectorized if !constant.is_some_and(|lanes| matches!(lanes, 2 | 4 | 8 | 16)) => {
            refuse(schedule, format!("vectorize: `{}` has {} iterations; vectors have 2, 4, 8 or 16", l.name, l.extent))
        }
        ForKind::Unrolled => {
            let unrolled = schedule.loops.iter().filter(|l| l.kind == ForKind::Unrolled);
            let others = unrolled.filter_map(|l| l.extent.as_int()).fold(1, i64::saturating_mul);
            match constant.map(|extent| extent.saturating_mul(others)) {
                Some(copies) if copies <= MOST_COPIES => Ok(()),
                Some(copies) => refuse(
                    schedule,
                    format!("unroll: with `{}` there would be {copies} copies, more than {MOST_COPIES}", l.name),
                ),
                None => {
                    refuse(schedule, format!("unroll: the extent of `{}` is `{}`, not a constant", l.name, l.extent))
                }
            }
        }
        ForKind::Vectorized => Ok(()),
    }
}

/// A cache read needs an input that the accumulating part reads.
pub(super) fn cache_read(schedule: &Schedule, buffer: &str) -> Result<()> {
    let reads = schedule.block.update_reads();
    if !reads.iter().any(|(read, _)| &*read.name == buffer && read.scope == Scope::Global) {
        return refuse(schedule, format!("cache_read: the reduction does not read `{buffer}`"));
    }
    if schedule.cache_reads.iter().any(|stage| &*stage.buffer == buffer) {
        return refuse(schedule, format!("cache_read: `{buffer}` is staged already"));
    }
    Ok(())
}

/// A panel needs constant extents: every loop inside of it, over which the read moves, has a constant limit.
pub(super) fn stage_at(schedule: &Schedule, depth: usize, moves: impl Fn(&str) -> bool, what: &str) -> Result<()> {
    match schedule.loops[depth..].iter().find(|l| l.limit.is_none() && moves(&l.name)) {
        None => Ok(()),
        Some(l) => refuse(
            schedule,
            format!(
                "compute_at: the extent of `{what}` along `{}` is `{}`, not a constant; split the loop",
                l.name, l.extent
            ),
        ),
    }
}

/// The accumulators' tile: inside of it, loops over spatial variables have constant extents.
pub(super) fn tile_at(schedule: &Schedule, depth: usize) -> Result<()> {
    match schedule.loops[depth..].iter().find(|l| l.role == Role::Spatial && l.extent.as_int().is_none()) {
        None => Ok(()),
        Some(l) => refuse(
            schedule,
            format!(
                "compute_at: the tile's extent along `{}` is `{}`, not a constant; split the loop",
                l.name, l.extent
            ),
        ),
    }
}

/// Stages remember how many loops stand around them, so loops are transformed first and stages placed after.
fn loops_are_free(schedule: &Schedule) -> Result<()> {
    let placed = schedule.cache_reads.iter().any(|stage| stage.depth.is_some());
    if placed || schedule.cache_write.as_ref().is_some_and(|tile| tile.depth.is_some()) {
        return refuse(schedule, "loops are transformed before stages are placed by compute_at");
    }
    Ok(())
}

/// A name that nothing has yet.
pub(super) fn fresh(schedule: &Schedule, name: &str) -> Result<()> {
    if schedule.is_taken(name) {
        return refuse(schedule, format!("the name `{name}` is taken"));
    }
    Ok(())
}
