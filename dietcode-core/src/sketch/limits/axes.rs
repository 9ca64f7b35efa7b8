//! What follows from the extents of axes: where tiles end, how many blocks there are.

use dietcode_syntax::Role;

use super::Kernel;
use crate::ir::Name;
use crate::schedule::{Level, Loop, Relation, Schedule};
use crate::sketch::footprint::{Assignment, SampledAxis, Var, variables};

/// How far a kernel may count behind the end of a loop: the device's side of a call leaves as much room below 2³¹.
pub(in crate::sketch) const MOST_OVERHANG: i64 = 1 << 20;

/// How far behind the longest extent the last piece of a tile begins: a vector, what a matrix instruction takes.
pub(super) fn bound_of_tile(assignment: &Assignment<'_>) -> i64 {
    behind(&assignment.footprint.vars, &assignment.footprint.axes, assignment.values)
}

/// The same of the decisions that were lowered.
pub(super) fn tile(kernel: &Kernel<'_>) -> i64 {
    let Ok((vars, axes)) = variables(kernel.trace, kernel.extents) else { return 0 };
    let values: Option<Vec<i64>> = vars.iter().map(|var| kernel.trace.decisions.get(&var.name).copied()).collect();
    values.map_or(0, |values| behind(&vars, &axes, &values))
}

fn behind(vars: &[Var], axes: &[SampledAxis], values: &[i64]) -> i64 {
    let of = |axis: &SampledAxis| {
        let (mut pieces, mut piece) = (1i64, axis.grain.value(values));
        for var in &axis.vars {
            let part = if vars[*var].level() == Some(Level::Lanes) { &mut piece } else { &mut pieces };
            *part = part.saturating_mul(values[*var]);
        }
        (pieces - 1).saturating_mul(piece) - (axis.most - 1)
    };
    axes.iter().map(of).max().unwrap_or(0)
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
            Relation::Split { parent, factor, guard: true, .. } if schedule.roots(parent) == roots => factor.as_int(),
            _ => None,
        });
        padded.fold(1, i64::saturating_mul)
    };
    parts_of_sums(schedule).map(behind).max().unwrap_or(0)
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

/// The blocks where all axes are as long as they become. What a block reads or writes at the least is a warp's, and no device has
/// the memory for 2³¹ times that, so that draws need not keep to it.
pub(super) fn grid(kernel: &Kernel<'_>) -> i64 {
    let along = |axis: &Name| {
        let most = kernel.extents.get(axis).and_then(|extents| extents.last()).copied().unwrap_or(1);
        let tile = kernel.schedule.relations.iter().find_map(|relation| match relation {
            // One that is known at run time only is 1 at least.
            Relation::Split { parent, factor, .. } if parent == axis => Some(factor.as_int().unwrap_or(1)),
            _ => None,
        });
        let tile = tile.unwrap_or(1);
        most / tile + i64::from(most % tile != 0)
    };
    let axes = kernel.schedule.block.iters_of(Role::Spatial).map(|iter| along(&iter.name));
    axes.fold(parts(kernel), i64::saturating_mul)
}
