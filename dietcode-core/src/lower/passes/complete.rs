//! What must hold of a schedule as a whole, whatever the order of its primitives: each of them is legal by itself, but
//! together they would write wrong results.
//!
//! It stands before everything else, because the later passes rely on it.

use dietcode_syntax::Role;

use crate::ir::{ForKind, Name};
use crate::schedule::{Combine, Loop, Pipeline, Prefetch, Schedule, Staging};
use crate::{Error, Result};

/// Refuses a schedule whose parts do not fit together.
///
/// # Errors
/// A sentence that names the loop or the copy, and the primitive that is missing or too much.
pub(super) fn check(schedule: &Schedule) -> Result<()> {
    let checks = [
        parts_of_sums(schedule),
        shares_of_tiles(schedule),
        sums_of_threads(schedule),
        threads(schedule),
        sums_of_lanes(schedule),
        prefetches(schedule),
        staged_store(schedule),
    ];
    match checks.into_iter().flatten().next() {
        Some(why) => Err(Error::input(format!("schedule of `{}`: {why}", schedule.block.name))),
        None => Ok(()),
    }
}

/// Blocks that share a sum must not each write the output, nor write their part before it is complete.
fn parts_of_sums(schedule: &Schedule) -> Option<String> {
    let loops = &schedule.loops;
    let shared = loops.iter().find(|l| l.is_shared_sum());
    let around = loops[..schedule.tile_depth().min(loops.len())].iter().find(|l| l.is_step());
    match (shared, schedule.rfactor, around) {
        (Some(l), None, _) => {
            Some(format!("blocks share the sum over `{}`, but no rfactor says how its parts meet", l.name))
        }
        (None, Some(_), _) => Some("rfactor: no reduction is bound to the grid any more".into()),
        (Some(_), Some(_), Some(l)) => {
            Some(format!("rfactor: the tile stands inside of the reduction `{}`, which a part must hold whole", l.name))
        }
        _ => None,
    }
}

/// What a block has of a tile is accumulated for itself, and in one go.
fn shares_of_tiles(schedule: &Schedule) -> Option<String> {
    let stream = schedule.stream().filter(|stream| !stream.meets())?;
    let at = schedule.loops.iter().position(|l| Some(&l.name) == stream.innermost(&stream.tile));
    let stands = at.is_some_and(|at| schedule.tile_depth() == at + 1);
    let tile = &stream.tile;
    (!stands)
        .then(|| format!("stream_k: sums of a tile `{tile}` stand elsewhere than in the loop over those of a block"))
}

/// Threads that share a sum meet at barriers, to which all of them come once: with the whole of their parts, and in no loop
/// that others may leave earlier.
fn sums_of_threads(schedule: &Schedule) -> Option<String> {
    let shared = schedule.thread_loops().find(|l| l.role == Role::Reduce)?;
    let sum = format!("threads share the sum over `{}`", shared.name);
    let (around, inside) = schedule.loops.split_at(schedule.tile_depth().min(schedule.loops.len()));
    if let Some(l) = inside.iter().find(|l| l.kind == ForKind::ThreadIdx) {
        return Some(format!("{sum}, but the tile of each stands outside of the loop over threads `{}`", l.name));
    }
    if let Some(l) = around.iter().find(|l| !l.is_bound()) {
        return Some(format!(
            "{sum}, but the tile of each stands inside of `{}`, which is not bound to the grid",
            l.name
        ));
    }
    let unit = schedule.matrix_unit.is_some();
    unit.then(|| format!("{sum}, but a matrix unit sums for whole warps; do without the one or the other"))
}

/// A GPU's kernel reads through tiles in shared memory and registers, and a CPU's through panels and views; vectors of a GPU are those
/// of copies and stores.
fn threads(schedule: &Schedule) -> Option<String> {
    let gpu = schedule.is_gpu();
    if let Some(parameter) = schedule.parameters.first().filter(|_| gpu) {
        return Some(format!(
            "parameter: `{}` is one of a CPU's code; the sizes of a GPU's are constants",
            parameter.name
        ));
    }
    let of_threads = |staging: Staging| matches!(staging, Staging::Shared(_) | Staging::Registers(_));
    let alien = schedule.cache_reads.iter().find(|read| of_threads(read.staging) != gpu);
    if let Some(read) = alien {
        return Some(match gpu {
            true => format!("cache_read: `{}` is not shared by the block's threads, nor held by one", read.name),
            false => format!("cache_read: `{}` is of threads, but no loop is bound to them any more", read.name),
        });
    }
    if schedule.pipeline.is_some_and(|pipeline| (pipeline == Pipeline::Panels) == gpu) {
        return Some(match gpu {
            true => "pipeline: panels are those of a CPU".into(),
            false => "pipeline: there is no shared memory, as no loop is bound to threads any more".into(),
        });
    }
    let l = schedule.loops.iter().find(|l| match l.kind {
        ForKind::Vectorized => gpu,
        ForKind::BlockIdx | ForKind::VThread => !gpu,
        _ => false,
    })?;
    Some(match gpu {
        true => format!("vectorize: `{}` is a thread's; vectorize_store makes vectors of a GPU's stores", l.name),
        false => format!("`{}` is {:?}, but no loop is bound to threads", l.name, l.kind),
    })
}

/// Lanes that share a sum are those of the innermost loop, and have an accumulator each.
fn sums_of_lanes(schedule: &Schedule) -> Option<String> {
    let at = schedule.loops.iter().position(|l| l.kind == ForKind::Vectorized && l.role == Role::Reduce)?;
    let sum = format!("lanes share the sum over `{}`", schedule.loops[at].name);
    if at + 1 != schedule.loops.len() {
        return Some(format!("{sum}, which is not the innermost loop any more"));
    }
    (schedule.tile_depth() > at).then(|| format!("{sum}, but the tile stands inside of it"))
}

/// Iterations that ask for what later ones read are carried out one after the other, or are tasks.
fn prefetches(schedule: &Schedule) -> Option<String> {
    let is_serial = |l: &Loop| l.kind == ForKind::Serial && !schedule.is_gpu();
    let stands = |at: &Name| schedule.loops.iter().any(|l| l.name == *at && is_serial(l));
    let has_slices = |asked: &Prefetch| schedule.slices(&asked.buffer, &asked.at).is_some();
    let alien = schedule.prefetches.iter().find(|asked| !stands(&asked.at) && !has_slices(asked))?;
    let why = "is neither a serial loop of a CPU any more, nor an axis of tasks with slices of it";
    Some(format!("prefetch of `{}`: `{}` {why}", alien.buffer, alien.at))
}

/// Sums change hands on their way to the output where all threads of a block come to barriers with whole sums of their own.
fn staged_store(schedule: &Schedule) -> Option<String> {
    schedule.store_pad?;
    let tiles = schedule.stream().and_then(|stream| stream.innermost(&stream.tile));
    let mut around = schedule.loops[..schedule.tile_depth().min(schedule.loops.len())].iter();
    let around = around.find(|l| !l.is_bound() && Some(&l.name) != tiles);
    let why = match (schedule.rfactor, around) {
        _ if schedule.block.reduction.is_none() => "there are no sums to store".to_owned(),
        (Some(Combine::Atomic), _) => "parts of sums are added to the output by the threads that have them".to_owned(),
        _ if schedule.thread_loops().any(|l| l.role == Role::Reduce) => "threads share sums".to_owned(),
        (_, Some(l)) => format!("the tile stands inside of `{}`, which is not bound to the grid", l.name),
        _ => return None,
    };
    Some(format!("stage_store: {why}"))
}
