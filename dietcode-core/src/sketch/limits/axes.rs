//! What follows from the extents of axes: where tiles end, how many blocks there are.

use std::collections::BTreeMap;

use dietcode_syntax::Role;

use super::Kernel;
use crate::ir::Name;
use crate::schedule::{Axis, Instruction, Level, Loop, Relation, Schedule};
use crate::sketch::footprint::{Assignment, Product, SampledAxis};

/// How far a kernel may count behind the end of a loop: the device's side of a call leaves as much room below 2³¹.
pub(super) const MOST_OVERHANG: i64 = 1 << 20;

/// How far behind the longest extent the last piece of a tile begins: a vector, what a matrix instruction takes.
pub(super) fn bound_of_tile(assignment: &Assignment<'_>) -> i64 {
    let (vars, values) = (&assignment.footprint.vars, assignment.values);
    let of = |axis: &SampledAxis| {
        let (mut pieces, mut piece) = (1i64, axis.grain.value(values));
        for var in &axis.vars {
            let part = if vars[*var].level() == Some(Level::Lanes) { &mut piece } else { &mut pieces };
            *part = part.saturating_mul(values[*var]);
        }
        (pieces - 1).saturating_mul(piece) - (axis.most - 1)
    };
    assignment.footprint.axes.iter().map(of).max().unwrap_or(0)
}

/// The same of the splits that were lowered, along the axes whose tiles were sampled.
pub(super) fn tile(kernel: &Kernel<'_>) -> i64 {
    let Some(trace) = kernel.trace else { return 0 };
    let axes = trace.instructions.iter().flat_map(|instruction| match instruction {
        Instruction::SampleTiles(axes) => &axes[..],
        _ => &[],
    });
    let behind = |axis: &Axis| {
        let factors = axis.factors.iter().filter(|factor| factor.level != Level::Lanes);
        let mut pieces = factors.map(|factor| trace.decisions.get(&factor.var).copied());
        let pieces = pieces.try_fold(1i64, |all, factor| Some(all.saturating_mul(factor?)))?;
        let (whole, most) = (below_outermost(kernel.schedule, &axis.name), kernel.extents.get(&axis.name)?.last()?);
        Some(whole - (whole / pieces.max(1)).max(1) - (most - 1))
    };
    axes.filter_map(behind).max().unwrap_or(0)
}

/// Elements of an axis in one iteration of the outermost of its loops.
fn below_outermost(schedule: &Schedule, axis: &Name) -> i64 {
    let below = schedule.relations.iter().fold((axis, 1i64), |(whole, elements), relation| match relation {
        Relation::Split { parent, outer, factor, .. } if parent == whole => {
            (outer, elements.saturating_mul(factor.as_int().unwrap_or(1)))
        }
        _ => (whole, elements),
    });
    below.1
}

/// The elements of the longest tile.
pub(super) fn bound_of_overhang(assignment: &Assignment<'_>) -> i64 {
    let elements = |axis: &SampledAxis| {
        let factors = axis.vars.iter().map(|var| assignment.values[*var]);
        factors.fold(assignment.size(&axis.grain), i64::saturating_mul)
    };
    assignment.footprint.axes.iter().map(elements).max().unwrap_or(0)
}

/// Behind the end of a sum that blocks share come the rest of a tile and of the parts.
pub(super) fn overhang(kernel: &Kernel<'_>) -> i64 {
    let schedule = kernel.schedule;
    let behind = |l: &Loop| {
        let roots = schedule.roots(&l.name);
        let padded = schedule.relations.iter().filter_map(|relation| match relation {
            Relation::Split { parent, outer, factor, guard: true, .. } if schedule.roots(parent) == roots => {
                ranges(schedule, outer).or_else(|| factor.as_int())
            }
            _ => None,
        });
        padded.fold(1, i64::saturating_mul)
    };
    parts_of_sums(schedule).map(behind).max().unwrap_or(0)
}

/// How many ranges a loop is over, if it is: each may have an iteration that is not there.
fn ranges(schedule: &Schedule, outer: &Name) -> Option<i64> {
    schedule.trace().iter().find_map(|instruction| match instruction {
        Instruction::SplitInto { ranges, into: [range, _], .. } if range == outer => {
            ranges.value(&BTreeMap::new()).ok()
        }
        _ => None,
    })
}

/// Tasks of a CPU's core, at the most, that share a sum: each core has its share of them, also if it is late.
pub(super) const PARTS_OF_CORE: i64 = 8;

/// Tiles of the grid that share a sum.
pub(super) fn bound_of_parts(assignment: &Assignment<'_>) -> i64 {
    let parts = assignment.footprint.of_level(Level::Split);
    parts.fold(1, |all, var| all.saturating_mul(assignment.values[var]))
}

/// The same.
pub(super) fn parts(kernel: &Kernel<'_>) -> i64 {
    parts_of_sums(kernel.schedule).filter_map(|l| l.extent.as_int()).fold(1, i64::saturating_mul)
}

fn parts_of_sums(schedule: &Schedule) -> impl Iterator<Item = &Loop> {
    schedule.loops.iter().filter(|l| l.is_shared_sum())
}

/// The blocks where all axes are as long as they become: the fewer, the larger tiles are.
pub(super) fn bound_of_grid(assignment: &Assignment<'_>) -> i64 {
    let along = |(most, tile): &(i64, Product)| blocks(*most, assignment.size(tile));
    assignment.footprint.grid.iter().map(along).fold(bound_of_parts(assignment), i64::saturating_mul)
}

/// The same of the splits that were lowered.
pub(super) fn grid(kernel: &Kernel<'_>) -> i64 {
    let along = |axis: &Name| {
        let most = kernel.extents.get(axis).and_then(|extents| extents.last()).copied().unwrap_or(1);
        let tile = kernel.schedule.relations.iter().find_map(|relation| match relation {
            // One that is known at run time only is 1 at least.
            Relation::Split { parent, factor, .. } if parent == axis => Some(factor.as_int().unwrap_or(1)),
            _ => None,
        });
        blocks(most, tile.unwrap_or(1))
    };
    let axes = kernel.schedule.block.iters_of(Role::Spatial).map(|iter| along(&iter.name));
    axes.fold(parts(kernel), i64::saturating_mul)
}

fn blocks(most: i64, tile: i64) -> i64 {
    most / tile + i64::from(most % tile != 0)
}
