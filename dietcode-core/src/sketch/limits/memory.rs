//! Shared memory of a GPU's block, caches of a CPU's core.

use super::Kernel;
use crate::ir::{Affine, Buffer, Expr, Name, affine};
use crate::machine::cuda::DeviceLimits;
use crate::schedule::{Pipeline, Relation, Schedule, SharedTile, Staging};
use crate::sketch::footprint::{Assignment, Read, Stage, aligned};

/// What a block that uses so many bytes of shared memory takes of a multiprocessor's.
pub(super) fn allocated(device: Option<&DeviceLimits>, bytes: i64) -> i64 {
    let of_device = |device: &DeviceLimits| i64::try_from(device.shared_allocation(bytes.unsigned_abs()));
    device.map_or(bytes, |device| of_device(device).unwrap_or(i64::MAX))
}

/// The same of the tiles.
pub(super) fn bound_of_allocated(assignment: &Assignment<'_>) -> i64 {
    allocated(assignment.footprint.device.as_ref(), bound_of_shared(assignment))
}

/// Bytes of the tiles in shared memory, as many of each as the pipeline has stages, and of sums that meet or change hands there.
pub(super) fn bound_of_shared(assignment: &Assignment<'_>) -> i64 {
    let stages = match assignment.footprint.pipeline {
        Some(Pipeline::Registers) => 2,
        Some(Pipeline::Async(stages)) => stages,
        Some(Pipeline::Panels) | None => 1,
    };
    let bytes = |stage: &Stage| match stage.staging {
        Staging::Shared(tile) => {
            let elements = assignment.shared_elements(stage, assignment.size(&stage.pad), tile.reduce_outside);
            aligned(elements.saturating_mul(stage.read.dtype.bytes()).saturating_mul(stages))
        }
        _ => 0,
    };
    let sum = |inside: bool| {
        let of_tile = |stage: &&Stage| (assignment.depth(&stage.depth) > assignment.tile_depth()) == inside;
        assignment.footprint.stages.iter().filter(of_tile).map(bytes).fold(0, i64::saturating_add)
    };
    // The tiles that are filled while a thread sums are gone when the sums are stored.
    let while_storing = aligned(assignment.staged_elements().saturating_mul(assignment.footprint.computes.bytes()));
    sum(false).saturating_add(sum(true).max(while_storing)).saturating_add(meeting_bytes(assignment))
}

/// Where threads share a sum, each has a place for its part of each accumulator.
fn meeting_bytes(assignment: &Assignment<'_>) -> i64 {
    match assignment.threads_of_a_sum() {
        1 => 0,
        _ => aligned(
            assignment
                .accumulators()
                .saturating_mul(assignment.threads())
                .saturating_mul(assignment.footprint.computes.bytes()),
        ),
    }
}

/// Elements of the next tile that a thread has loaded and not stored yet.
pub(super) fn elements_under_way(assignment: &Assignment<'_>, stage: &Stage, tile: SharedTile) -> i64 {
    let elements = assignment.shared_elements(stage, 0, tile.reduce_outside);
    let vectors = elements.saturating_add(tile.vector - 1) / tile.vector;
    let threads = assignment.threads().max(1);
    (vectors.saturating_add(threads - 1) / threads).saturating_mul(tile.vector)
}

/// What a device's second-level cache holds, so that the parts of tiles that blocks leave are there when they meet: less than that of the
/// devices from 8.0 on that centres of computing have.
pub(super) const MOST_PARTS: i64 = 32 << 20;

/// Bytes of the places for parts of tiles, each with all sums of one.
pub(super) fn bound_of_parts(assignment: &Assignment<'_>) -> i64 {
    let places = assignment.size(&assignment.footprint.places);
    let bytes = assignment.footprint.computes.bytes();
    places.saturating_mul(assignment.accumulators()).saturating_mul(assignment.threads()).saturating_mul(bytes)
}

/// The same.
pub(super) fn parts(kernel: &Kernel<'_>) -> i64 {
    let parts = kernel.schedule.stream().and(kernel.nest.workspace.as_ref());
    parts.map_or(0, |parts| parts.bytes().unwrap_or(i64::MAX))
}

/// Bytes of the copies that a CPU's thread has at the same time, and of the sums that wait.
pub(super) fn bound_of_panels(assignment: &Assignment<'_>) -> i64 {
    let bytes = |stage| assignment.panel_bytes(stage).saturating_add(assignment.bytes_for_zeros(stage));
    let copies = assignment.footprint.stages.iter().map(bytes);
    copies.fold(assignment.waiting_bytes(), i64::saturating_add)
}

/// Bytes that a register tile reads in one block of the reduction, but for the largest of its strips: that one is streamed
/// from the second-level cache once for each tile, and the others have to be there still when the next tile reads them.
pub(super) fn bound_of_strips(assignment: &Assignment<'_>) -> i64 {
    let depth = assignment.tile_depth();
    let inside = assignment.inside(depth, false);
    but_for_largest(assignment.footprint.reads.iter().map(|read| bound_of_strip(assignment, read, depth, &inside)))
}

/// One of them: as it lies in its panel, or in the tensor.
fn bound_of_strip(assignment: &Assignment<'_>, read: &Read, depth: usize, inside: &[i64]) -> i64 {
    let packed = |of: &Read| of.buffer == read.buffer && of.roots == read.roots;
    let mut panels = assignment.footprint.stages.iter().filter(|stage| stage.staging == Staging::Always);
    match panels.any(|stage| packed(&stage.read)) {
        true => assignment.spanned(read, depth).into_iter().fold(assignment.panel_element(read), i64::saturating_mul),
        false => assignment.touched_bytes(read, inside),
    }
}

/// The same of a schedule.
pub(super) fn strips(kernel: &Kernel<'_>) -> i64 {
    let reads = kernel.schedule.block.update_reads();
    but_for_largest(reads.iter().map(|(buffer, index)| strip(kernel.schedule, buffer, index)))
}

fn strip(schedule: &Schedule, buffer: &Buffer, index: &[Expr]) -> i64 {
    let depth = schedule.tile_depth();
    let mut reads = schedule.cache_reads.iter().filter(|read| read.staging == Staging::Always);
    if reads.any(|read| read.buffer == buffer.name && read.index == index) {
        let moves = |name: &Name| schedule.roots(name).iter().any(|root| index.iter().any(|e| e.uses(root)));
        let loops = schedule.loops[depth..].iter().filter(|l| moves(&l.name));
        let bytes = schedule.panel_dtype(buffer.dtype).bytes();
        return loops.map(|l| limit(schedule, l.limit.as_ref())).fold(bytes, i64::saturating_mul);
    }
    let span = |form: &Affine| {
        let steps = form.terms.iter().map(|(name, c)| c.abs().saturating_mul(inside(schedule, name, depth) - 1));
        steps.fold(1, i64::saturating_add)
    };
    let forms: Option<Vec<Affine>> = index.iter().map(affine).collect();
    forms.iter().flatten().map(span).fold(buffer.dtype.bytes(), i64::saturating_mul)
}

/// How many values a variable takes in the loops inside of a depth.
fn inside(schedule: &Schedule, name: &str, depth: usize) -> i64 {
    if let Some(at) = schedule.loops.iter().position(|l| &*l.name == name) {
        return if at < depth { 1 } else { limit(schedule, schedule.loops[at].limit.as_ref()) };
    }
    let of = |name: &str| inside(schedule, name, depth);
    let found = schedule.relations.iter().find_map(|relation| match relation {
        Relation::Split { parent, outer, inner, factor, .. } if &**parent == name => {
            Some((of(outer) - 1).saturating_mul(schedule.value(factor)).saturating_add(of(inner)))
        }
        Relation::Fuse { fused, outer, inner, limits, .. } => {
            let part = [outer, inner].iter().position(|part| &***part == name)?;
            Some(if of(fused) > 1 { limit(schedule, limits[part].as_ref()) } else { 1 })
        }
        Relation::Split { .. } | Relation::Stream(_) => None,
    });
    found.unwrap_or(1)
}

fn limit(schedule: &Schedule, limit: Option<&Expr>) -> i64 {
    limit.map_or(i64::MAX, |limit| schedule.value(limit))
}

fn but_for_largest(strips: impl Iterator<Item = i64>) -> i64 {
    let (all, largest) =
        strips.fold((0i64, 0), |(all, largest), bytes| (all.saturating_add(bytes), largest.max(bytes)));
    all - largest
}
