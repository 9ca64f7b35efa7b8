//! When a primitive may be applied. Each function is the whole condition of one primitive; none rewrites anything.

use dietcode_syntax::Role;

use super::tensorize::factors;
use super::{Combine, Loop, MatrixUnit, Parameter, Pipeline, Relation, Schedule, SharedTile, Size, Staging, Tail};
use crate::abi::MOST_PARAMETERS;
use crate::ir::{DotRow, Expr, ForKind, Name, ReduceOp, Scope};
use crate::{Error, Result};

/// Copies of the innermost statement that unrolling may make; a C compiler takes minutes over much more.
pub(crate) const MOST_COPIES: i64 = 1024;

/// The largest factor of a split.
const MOST_FACTOR: i64 = 1 << 31;

/// A refusal that names the block.
macro_rules! refuse {
    ($schedule:expr, $($why:tt)+) => {
        Err(Error::input(format!("schedule of `{}`: {}", $schedule.block.name, format_args!($($why)+))))
    };
}

/// A split needs a positive factor, two fresh names, and a loop that is still serial. A fused loop is not padded: what
/// hangs over the edge of two variables at once is not a box that a staged copy could fill.
///
/// Returns the factor.
pub(super) fn split(schedule: &Schedule, at: usize, factor: &Size, tail: Tail, into: [&str; 2]) -> Result<Expr> {
    let l = &schedule.loops[at];
    let known = |name: &Name| schedule.parameters.iter().any(|known| known.name == *name);
    let size = match factor.expression(known) {
        Ok(size) => size,
        Err(why) => return refuse!(schedule, "split of `{}`: {why}", l.name),
    };
    if !(1..=MOST_FACTOR).contains(&schedule.value(&size)) {
        return refuse!(schedule, "split of `{}` by {factor}: the factor must be from 1 to 2^31", l.name);
    }
    if tail == Tail::Pad && size.as_int().is_none() {
        return refuse!(schedule, "split of `{}` by {factor}: only a constant can be padded", l.name);
    }
    into_two(schedule, "split", l, into)?;
    if tail == Tail::Pad && schedule.roots(&l.name).len() > 1 {
        return refuse!(schedule, "split of `{}`: a fused loop can only be clipped", l.name);
    }
    loops_are_free(schedule)?;
    Ok(size)
}

/// Ranges of a loop need fresh names, and a serial loop that is as long in all iterations of the others, of one variable.
pub(super) fn split_into(schedule: &Schedule, at: usize, ranges: i64, into: [&str; 2]) -> Result<()> {
    let l = &schedule.loops[at];
    if !(1..=MOST_RANGES).contains(&ranges) {
        return refuse!(schedule, "split_into of `{}`: {ranges} ranges; expected 1 to {MOST_RANGES}", l.name);
    }
    into_two(schedule, "split_into", l, into)?;
    if schedule.roots(&l.name).len() > 1 {
        return refuse!(schedule, "split_into of `{}`: it is a fused loop, of which no range could be padded", l.name);
    }
    let extent = schedule.in_loops(&l.extent);
    if let Some(other) = schedule.loops.iter().find(|other| extent.uses(&other.name)) {
        return refuse!(schedule, "split_into of `{}`: its extent depends on `{}`", l.name, other.name);
    }
    loops_are_free(schedule)
}

/// Two loops in place of one need fresh names, and a serial loop.
fn into_two(schedule: &Schedule, primitive: &str, l: &Loop, into: [&str; 2]) -> Result<()> {
    if into[0] == into[1] {
        return refuse!(schedule, "{primitive} of `{}`: both new loops are called `{}`", l.name, into[0]);
    }
    for name in into {
        fresh(schedule, name)?;
    }
    if l.kind != ForKind::Serial {
        return refuse!(schedule, "{primitive} of `{}`: it is {:?} already", l.name, l.kind);
    }
    Ok(())
}

/// The most ranges of a loop.
const MOST_RANGES: i64 = 1 << 16;

/// A parameter has a name of its own, and a value that a factor can have.
pub(super) fn parameter(schedule: &Schedule, Parameter { name, value }: &Parameter) -> Result<()> {
    if schedule.parameters.len() == MOST_PARAMETERS {
        return refuse!(schedule, "parameter `{name}`: there are {MOST_PARAMETERS} already, and no more are possible");
    }
    if !(1..=MOST_FACTOR).contains(value) {
        return refuse!(schedule, "parameter `{name}`: it is {value}; expected a value from 1 to 2^31");
    }
    fresh(schedule, name)
}

/// A new order names each loop at most once, and keeps a loop that another's extent depends on outside of that one.
pub(super) fn reorder(schedule: &Schedule, order: &[usize]) -> Result<()> {
    let extents: Vec<Expr> = order.iter().map(|&at| schedule.in_loops(&schedule.loops[at].extent)).collect();
    for (place, &outer) in order.iter().enumerate() {
        for (&inner, extent) in order[..place].iter().zip(&extents) {
            if extent.uses(&schedule.loops[outer].name) {
                let (outer, inner) = (&schedule.loops[outer].name, &schedule.loops[inner].name);
                return refuse!(schedule, "reorder: the extent of `{inner}` depends on `{outer}`");
            }
        }
    }
    loops_are_free(schedule)
}

/// A loop around all others is bound neither to the grid nor to threads, whose loops stand outermost themselves.
pub(super) fn add_unit_loop(schedule: &Schedule, name: &str) -> Result<()> {
    fresh(schedule, name)?;
    match schedule.loops.first().filter(|l| l.kind != ForKind::Serial) {
        Some(l) => refuse!(schedule, "add_unit_loop: the outermost loop `{}` is {:?} already", l.name, l.kind),
        None => loops_are_free(schedule),
    }
}

/// Only neighbours of one role fuse, both serial, and the inner extent must not depend on the outer loop.
pub(super) fn fuse(schedule: &Schedule, outer: usize, inner: usize, into: &str) -> Result<()> {
    let (a, b) = (&schedule.loops[outer], &schedule.loops[inner]);
    if inner != outer + 1 {
        return refuse!(schedule, "fuse: `{}` does not stand directly in `{}`", b.name, a.name);
    }
    if schedule.in_loops(&b.extent).uses(&a.name) {
        return refuse!(schedule, "fuse: the extent of `{}` depends on `{}`", b.name, a.name);
    }
    if a.role != b.role || a.kind != ForKind::Serial || b.kind != ForKind::Serial {
        return refuse!(schedule, "fuse: `{}` and `{}` differ in role or are no longer serial", a.name, b.name);
    }
    fresh(schedule, into)?;
    if schedule
        .relations
        .iter()
        .any(|r| matches!(r, Relation::Split { guard: true, inner, .. } if [&a.name, &b.name].contains(&inner)))
    {
        return refuse!(schedule, "fuse: `{}` or `{}` hangs over the edge", a.name, b.name);
    }
    loops_are_free(schedule)
}

/// Only a pair of spatial loops has an order that is free; a sum keeps the one of the nest.
pub(super) fn rasterize(schedule: &Schedule, name: &str, tile: [i64; 2]) -> Result<()> {
    let l = &schedule.loops[schedule.find(name)?];
    if tile.iter().any(|size| !(1..=1024).contains(size)) {
        let [rows, columns] = tile;
        return refuse!(schedule, "rasterize: tiles of {rows} x {columns}; a tile has 1 to 1024 of each");
    }
    let own = schedule.relations.iter().find_map(|relation| match relation {
        Relation::Fuse { fused, raster, .. } if **fused == *name => Some(raster),
        _ => None,
    });
    match own {
        None => refuse!(schedule, "rasterize: `{name}` was not fused of two loops"),
        Some(Some(_)) => refuse!(schedule, "rasterize: `{name}` is rasterised already"),
        Some(None) if l.role == Role::Reduce => {
            refuse!(schedule, "rasterize: `{name}` is summed over, which keeps its order")
        }
        Some(None) => Ok(()),
    }
}

/// The most threads of a block, on every GPU.
const MOST_THREADS: i64 = 1024;

/// Parallel: the outermost loop; if it is summed over, of constant extent. Vectorized: the innermost, of constant extent. Unrolled and vthread:
/// constant, and not too many copies in all. Those of a GPU's grid stand outermost.
pub(super) fn kind(schedule: &Schedule, at: usize, kind: ForKind) -> Result<()> {
    let l = &schedule.loops[at];
    let constant = l.extent.as_int();
    match kind {
        ForKind::Serial => Ok(()),
        ForKind::Parallel if at != 0 => refuse!(schedule, "parallel: `{}` is not the outermost loop", l.name),
        ForKind::Parallel | ForKind::BlockIdx if l.role == Role::Reduce && constant.is_none() => {
            refuse!(schedule, "bind: `{}` is summed over; the grid needs a constant extent of it", l.name)
        }
        ForKind::BlockIdx | ForKind::ThreadIdx if !stands_in_grid(schedule, at, kind) => {
            refuse!(schedule, "bind: `{}` stands in a loop that is not bound to the grid", l.name)
        }
        ForKind::ThreadIdx => threads(schedule, at),
        ForKind::VThread if l.role != Role::Spatial => {
            refuse!(schedule, "`{}` is summed over: its iterations depend on each other", l.name)
        }
        ForKind::Parallel | ForKind::BlockIdx => Ok(()),
        ForKind::Vectorized if at + 1 != schedule.loops.len() => {
            refuse!(schedule, "vectorize: `{}` is not the innermost loop", l.name)
        }
        ForKind::Vectorized if !constant.is_some_and(|lanes| matches!(lanes, 2 | 4 | 8 | 16)) => {
            refuse!(schedule, "vectorize: `{}` has {} iterations; vectors have 2, 4, 8 or 16", l.name, l.extent)
        }
        ForKind::Unrolled | ForKind::VThread => {
            let unrolled = schedule.loops.iter().filter(|l| [ForKind::Unrolled, ForKind::VThread].contains(&l.kind));
            let others = unrolled.filter_map(|l| l.extent.as_int()).fold(1, i64::saturating_mul);
            match constant.map(|extent| extent.saturating_mul(others)) {
                Some(copies) if copies <= MOST_COPIES => Ok(()),
                Some(copies) => refuse!(
                    schedule,
                    "unroll: with `{}` there would be {copies} copies, more than {MOST_COPIES}",
                    l.name
                ),
                None => {
                    refuse!(schedule, "unroll: the extent of `{}` is `{}`, not a constant", l.name, l.extent)
                }
            }
        }
        ForKind::Vectorized => Ok(()),
    }
}

/// Around a loop of the grid stand blocks, and around one of a block's threads also other threads.
fn stands_in_grid(schedule: &Schedule, at: usize, kind: ForKind) -> bool {
    let around = |outer: &Loop| outer.kind == ForKind::BlockIdx || outer.kind == kind;
    schedule.loops[..at].iter().all(around)
}

/// All loops over threads together are one block.
fn threads(schedule: &Schedule, at: usize) -> Result<()> {
    let l = &schedule.loops[at];
    let others = schedule.thread_loops().filter(|other| other.name != l.name).filter_map(|other| other.extent.as_int());
    let others = others.fold(1, i64::saturating_mul);
    match l.extent.as_int().map(|extent| extent.saturating_mul(others)) {
        Some(all) if all <= MOST_THREADS => Ok(()),
        Some(all) if others > 1 => {
            refuse!(schedule, "bind: a block has up to {MOST_THREADS} threads, with `{}` it would have {all}", l.name)
        }
        _ => refuse!(schedule, "bind: a block has up to {MOST_THREADS} threads, `{}` has {}", l.name, l.extent),
    }
}

/// A cache read needs an input that the accumulating part reads.
pub(super) fn cache_read(schedule: &Schedule, buffer: &str) -> Result<()> {
    let reads = schedule.block.update_reads();
    if !reads.iter().any(|(read, _)| &*read.name == buffer && read.scope == Scope::Global) {
        return refuse!(schedule, "cache_read: the reduction does not read `{buffer}`");
    }
    if schedule.is_prepared(buffer) {
        return refuse!(schedule, "cache_read: `{buffer}` is laid out before calls, and read as it lies");
    }
    if schedule.cache_reads.iter().any(|stage| &*stage.buffer == buffer) {
        return refuse!(schedule, "cache_read: `{buffer}` is staged already");
    }
    Ok(())
}

/// Copies that overlap with the computation need tiles in shared memory, and buffers to arrive in.
pub(super) fn pipeline(schedule: &Schedule, pipeline: Pipeline) -> Result<()> {
    let shared = |read: &super::CacheRead| matches!(read.staging, Staging::Shared(_));
    let packed = |read: &super::CacheRead| read.staging == Staging::Always;
    match pipeline {
        Pipeline::Panels if !schedule.cache_reads.iter().any(packed) => {
            refuse!(schedule, "pipeline: nothing is packed into panels")
        }
        Pipeline::Panels => Ok(()),
        _ if !schedule.cache_reads.iter().any(shared) => {
            refuse!(schedule, "pipeline: nothing is staged in shared memory")
        }
        Pipeline::Async(stages) if !(2..=8).contains(&stages) => {
            refuse!(schedule, "pipeline: {stages} stages; asynchronous copies need 2 to 8")
        }
        _ => Ok(()),
    }
}

/// There is one set of fragments or two; what is read ahead is that of a tile which is filled ahead.
pub(super) fn buffer_fragments(schedule: &Schedule, sets: i64) -> Result<()> {
    match schedule.pipeline {
        _ if !(1..=2).contains(&sets) => refuse!(schedule, "buffer_fragments: {sets} sets; expected 1 or 2"),
        None | Some(Pipeline::Panels) if sets > 1 => {
            refuse!(schedule, "buffer_fragments: {sets} sets, but no pipeline fills tiles in shared memory ahead")
        }
        _ => Ok(()),
    }
}

/// Only the runs of a panel can be padded: a view has the tensor's strides, and a tile in shared memory its own padding.
/// Returns the panel's place.
pub(super) fn storage_align(schedule: &Schedule, stage: &str, pad: i64) -> Result<usize> {
    if !(0..=1024).contains(&pad) {
        return refuse!(schedule, "storage_align: `{stage}` padded by {pad}; the padding is from 0 to 1024");
    }
    let has_rows =
        |read: &super::CacheRead| *read.name == *stage && matches!(read.staging, Staging::Always | Staging::Shared(_));
    match schedule.cache_reads.iter().position(has_rows) {
        Some(at) => Ok(at),
        None => refuse!(schedule, "storage_align: there is no panel and no tile in shared memory `{stage}`"),
    }
}

/// How often an extent may be halved.
const MOST_HALVINGS: i64 = 8;

/// A partitioned loop is one of the register tile of a CPU, or one over the blocks of a GPU.
///
/// Returns its position.
pub(super) fn partition(schedule: &Schedule, name: &str, halvings: i64) -> Result<usize> {
    let at = schedule.find(name)?;
    let l = &schedule.loops[at];
    let most = match (l.role, l.kind) {
        (Role::Spatial, ForKind::BlockIdx) => 1,
        (Role::Spatial, ForKind::Unrolled) if !schedule.is_gpu() => MOST_HALVINGS,
        _ => {
            let which = "neither an unrolled spatial loop of a CPU nor a spatial one over the blocks of a GPU";
            return refuse!(schedule, "partition of `{name}`: it is {which}");
        }
    };
    if !(0..=most).contains(&halvings) {
        let why = format!("partition of `{name}` by {halvings} halvings; they are from 0 to {most}");
        return refuse!(schedule, "{why}");
    }
    Ok(at)
}

/// How many iterations ahead something may be asked for.
const MOST_AHEAD: i64 = 8;

/// A prefetch asks for other elements of an input in each iteration of a serial loop of a CPU, or for slices along an axis of tasks.
pub(super) fn prefetch(schedule: &Schedule, buffer: &str, at: &str, ahead: i64) -> Result<()> {
    if !(0..=MOST_AHEAD).contains(&ahead) {
        let why = format!("prefetch of `{buffer}` {ahead} iterations ahead; they are from 0 to {MOST_AHEAD}");
        return refuse!(schedule, "{why}");
    }
    if schedule.is_prepared(buffer) {
        return refuse!(schedule, "prefetch of `{buffer}`: it is laid out before the call, in panels");
    }
    if schedule.is_of_tasks(at) {
        return match schedule.slices(buffer, at) {
            Some(_) => Ok(()),
            None => refuse!(schedule, "prefetch of `{buffer}`: it has no slice for each iteration of `{at}`"),
        };
    }
    let l = &schedule.loops[schedule.find(at)?];
    if l.kind != ForKind::Serial || schedule.is_gpu() {
        return refuse!(schedule, "prefetch of `{buffer}`: `{at}` is not a serial loop of a CPU");
    }
    let reads = schedule.block.update_reads();
    let moves = |index: &[Expr]| index.iter().any(|e| schedule.unsplit(e).uses(at));
    match reads.iter().any(|(read, index)| &*read.name == buffer && read.scope == Scope::Global && moves(index)) {
        true => Ok(()),
        false => refuse!(schedule, "prefetch of `{buffer}`: the sum reads none of it that moves with `{at}`"),
    }
}

/// Registers are those of a GPU's thread, which reads them by vectors.
pub(super) fn registers(schedule: &Schedule, buffer: &str, vector: i64) -> Result<()> {
    if !schedule.is_gpu() {
        return refuse!(schedule, "cache_read: `{buffer}` is to be held by threads, but no loop is bound to them");
    }
    if ![1, 2, 4, 8, 16].contains(&vector) {
        return refuse!(
            schedule,
            "cache_read: `{buffer}` by vectors of {vector}: a vector has 1, 2, 4, 8 or 16 elements"
        );
    }
    Ok(())
}

/// A tile in shared memory is filled by all threads of a block.
pub(super) fn shared_tile(schedule: &Schedule, buffer: &str, tile: SharedTile) -> Result<()> {
    if !schedule.is_gpu() {
        return refuse!(schedule, "cache_read: `{buffer}` is to be shared by threads, but no loop is bound to them");
    }
    if ![1, 2, 4, 8, 16].contains(&tile.vector) || !(0..=1024).contains(&tile.pad) {
        let SharedTile { vector, pad, .. } = tile;
        return refuse!(
            schedule,
            "cache_read: `{buffer}` by vectors of {vector}, padded by {pad}: a vector has 1, 2, 4, 8 or 16 elements, the padding up to 1024"
        );
    }
    Ok(())
}

/// Rows are padded or swizzled, and chunks that change places are as long as what is read at once.
pub(super) fn swizzle(schedule: &Schedule, buffer: &str, tile: SharedTile) -> Result<()> {
    let param = schedule.program.params.iter().find(|param| *param.name == *buffer);
    let bytes = tile.swizzle.saturating_mul(param.map_or(1, |param| param.dtype.bytes()));
    if ![0, 16, 32].contains(&bytes) {
        return refuse!(
            schedule,
            "cache_read: `{buffer}` swizzled by {} elements, {bytes} bytes; expected 16 or 32 bytes",
            tile.swizzle
        );
    }
    if tile.swizzle > 0 && tile.pad > 0 {
        let SharedTile { pad, swizzle, .. } = tile;
        return refuse!(
            schedule,
            "cache_read: `{buffer}` padded by {pad} and swizzled by {swizzle}: its rows are one or the other"
        );
    }
    Ok(())
}

/// The part of a reduction that a block of the grid computes must be all that meets elsewhere. Memory adds atomically, and has
/// no other operator.
pub(super) fn rfactor(schedule: &Schedule, combine: Combine) -> Result<()> {
    let split = schedule.loops.iter().any(Loop::is_shared_sum);
    match &schedule.block.reduction {
        Some(reduction) if split && combine == Combine::Atomic && reduction.op != ReduceOp::Sum => {
            let op = reduction.op.name();
            refuse!(schedule, "rfactor: parts of a {op} meet in a workspace; only those of a sum are added atomically")
        }
        Some(_) if split && combine == Combine::Atomic && !schedule.is_gpu() => {
            refuse!(schedule, "rfactor: threads of a CPU add to no memory atomically; their parts meet in a workspace")
        }
        Some(_) if split && combine == Combine::Atomic && !schedule.block.holds_sum() => {
            refuse!(
                schedule,
                "rfactor: what is added atomically must be {} and hold the sum as it is; others meet in a workspace",
                schedule.program.sums_in()
            )
        }
        Some(_) if split => Ok(()),
        _ => refuse!(schedule, "rfactor: no reduction is bound to the grid"),
    }
}

/// Tiles are those of the whole grid, and their steps are shared: all of the sum is inside of these. Returns the places of both loops.
pub(super) fn stream_k(
    schedule: &Schedule,
    [tile, step]: [&str; 2],
    [shares, waves]: [i64; 2],
    into: [&str; 3],
) -> Result<[usize; 2]> {
    let [at, inner] = [schedule.find(tile)?, schedule.find(step)?];
    if !(1..=MOST_SHARES).contains(&shares) || !(1..=MOST_WAVES).contains(&waves) {
        let expected = format!("expected 1 to {MOST_SHARES} and 1 to {MOST_WAVES}");
        return refuse!(schedule, "stream_k: {shares} shares of the last {waves} waves; {expected}");
    }
    let grid: Vec<&Loop> = schedule.loops.iter().filter(|l| l.kind.is_grid()).collect();
    if !schedule.is_gpu() || grid != [&schedule.loops[at]] || grid[0].role != Role::Spatial {
        return refuse!(schedule, "stream_k: `{tile}` is not the one loop over the tiles of a GPU's grid");
    }
    if schedule.thread_loops().any(|l| l.role == Role::Reduce) {
        return refuse!(schedule, "stream_k: threads share a sum, of whose steps blocks are to have shares");
    }
    let l = &schedule.loops[inner];
    if !l.is_step() || l.kind != ForKind::Serial || !schedule.loops[..inner].iter().all(Loop::is_bound) {
        return refuse!(
            schedule,
            "stream_k: `{step}` is not the outermost loop of a sum, directly inside of the threads"
        );
    }
    for (n, name) in into.iter().enumerate() {
        fresh(schedule, name)?;
        if into[..n].contains(name) {
            return refuse!(schedule, "stream_k: two new loops are called `{name}`");
        }
    }
    loops_are_free(schedule)?;
    Ok([at, inner])
}

/// The most blocks that share steps, and the most waves of tiles whose steps they share.
const MOST_SHARES: i64 = 1 << 16;
const MOST_WAVES: i64 = 1024;

/// A matrix unit replaces the innermost loops: rows, columns and steps of one instruction, of constant extents.
pub(super) fn tensorize(schedule: &Schedule, unit: MatrixUnit) -> Result<()> {
    let extents: Vec<Option<i64>> = schedule.loops.iter().rev().take(3).map(|l| l.extent.as_int()).collect();
    if extents == [Some(unit.steps()), Some(2), Some(2)] && schedule.is_gpu() {
        return Ok(());
    }
    let steps = unit.steps();
    refuse!(schedule, "tensorize: the innermost loops must have 2, 2 and {steps} iterations of a thread each")
}

/// An instruction of a CPU replaces the innermost loops: lanes of one spatial axis and steps of one sum's, of constant extents. Both
/// factors move along the sum, and neither is laid out before calls, which they are without neighbours along it.
///
/// Returns the place of the loop over lanes.
pub(super) fn dot(schedule: &Schedule, row: &DotRow) -> Result<usize> {
    let refused = |why: String| Error::input(format!("schedule of `{}`: tensorize: {why}", schedule.block.name));
    let DotRow { name, lanes, steps, .. } = row;
    let is =
        |l: &Loop, role, extent: i64| l.role == role && l.kind == ForKind::Serial && l.extent.as_int() == Some(extent);
    let roots = |l: &Loop| <[Name; 1]>::try_from(schedule.roots(&l.name)).ok().map(|[root]| root);
    let at = schedule.loops.len().saturating_sub(2);
    let axes = match &schedule.loops[at..] {
        [lane, step] if is(lane, Role::Spatial, *lanes) && is(step, Role::Reduce, *steps) && !schedule.is_gpu() => {
            roots(lane).zip(roots(step))
        }
        _ => None,
    };
    let Some((lane, step)) = axes else {
        return Err(refused(format!(
            "the innermost loops must be {lanes} lanes along a spatial axis and {steps} steps of a sum, both serial, for {name}"
        )));
    };
    let factors = factors(&schedule.block, schedule.program.sums_in(), row, &lane).map_err(&refused)?;
    let moves = |index: &[Expr]| index.iter().any(|e| e.uses(&step));
    match factors.iter().find(|(buffer, index)| !moves(index) || schedule.is_prepared(&buffer.name)) {
        None => Ok(at),
        Some((buffer, _)) if schedule.is_prepared(&buffer.name) => {
            Err(refused(format!("`{}` is laid out before calls, and not as {name} takes it", buffer.name)))
        }
        Some((buffer, _)) => {
            Err(refused(format!("`{}` does not move along `{step}`, of which {name} takes steps", buffer.name)))
        }
    }
}

/// A panel needs extents that are known before a call: every loop inside of it, over which the read moves, has a limit.
pub(super) fn stage_at(schedule: &Schedule, depth: usize, moves: impl Fn(&str) -> bool, what: &str) -> Result<()> {
    match schedule.loops[depth..].iter().find(|l| l.limit.is_none() && moves(&l.name)) {
        None => Ok(()),
        Some(l) => refuse!(
            schedule,
            "compute_at: the extent of `{what}` along `{}` is `{}`, not a constant; split the loop",
            l.name,
            l.extent
        ),
    }
}

/// The accumulators' tile: inside of it, loops over spatial variables have constant extents.
pub(super) fn tile_at(schedule: &Schedule, depth: usize) -> Result<()> {
    match schedule.loops[depth..].iter().find(|l| l.role == Role::Spatial && l.extent.as_int().is_none()) {
        None => Ok(()),
        Some(l) => refuse!(
            schedule,
            "compute_at: the tile's extent along `{}` is `{}`, not a constant; split the loop",
            l.name,
            l.extent
        ),
    }
}

/// Stages remember how many loops stand around them, so loops are transformed first and stages placed after.
fn loops_are_free(schedule: &Schedule) -> Result<()> {
    let placed = schedule.cache_reads.iter().any(|stage| stage.depth.is_some());
    if placed || schedule.cache_write.as_ref().is_some_and(|tile| tile.depth.is_some()) {
        return refuse!(schedule, "loops are transformed before stages are placed by compute_at");
    }
    Ok(())
}

/// A name that nothing has yet.
pub(super) fn fresh(schedule: &Schedule, name: &str) -> Result<()> {
    if schedule.is_taken(name) {
        return refuse!(schedule, "the name `{name}` is taken");
    }
    Ok(())
}
