//! How many blocks a grid has at the largest workload instance: it is the one limit that depends on the shape.
//!
//! It stands here alone: draws cannot keep it by themselves, since it shrinks where tiles grow, and need not, since what a block
//! reads or writes at the least is a warp's, and no device has the memory for 2³¹ times that.

use std::collections::BTreeMap;

use dietcode_syntax::Role;

use super::Limit;
use crate::ir::{ForKind, Name};
use crate::machine::cuda::DeviceLimits;
use crate::schedule::{Relation, Schedule};

/// The limit, with the blocks that a kernel has where all axes are as long as they become.
pub(super) fn limit(schedule: &Schedule, extents: &BTreeMap<Name, Vec<i64>>, device: &DeviceLimits) -> Limit {
    let shared = schedule.loops.iter().filter(|l| l.kind == ForKind::BlockIdx && l.role == Role::Reduce);
    let parts = shared.filter_map(|l| l.extent.as_int()).fold(1, i64::saturating_mul);
    let along = |axis: &Name| {
        let most = extents.get(axis).and_then(|extents| extents.last()).copied().unwrap_or(1);
        let tile = tile(schedule, axis);
        most / tile + i64::from(most % tile != 0)
    };
    let axes = schedule.block.iters_of(Role::Spatial).map(|iter| along(&iter.name));
    let found = axes.fold(parts, i64::saturating_mul);
    Limit { name: "grid", found, allowed: i64::from(device.grid[0]), hard: true, unit: "blocks" }
}

/// What a block has of an axis.
fn tile(schedule: &Schedule, axis: &Name) -> i64 {
    let of_block = |relation: &Relation| match relation {
        Relation::Split { parent, factor, .. } if parent == axis => Some(*factor),
        _ => None,
    };
    schedule.relations.iter().find_map(of_block).unwrap_or(1)
}
