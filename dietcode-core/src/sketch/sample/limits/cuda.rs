//! The limits of a CUDA device.

use super::Limit;
use crate::ir::ForKind;
use crate::machine::cuda::DeviceLimits;
use crate::schedule::{Level, MOST_COPIES, Pipeline, SharedTile, Staging};
use crate::sketch::postproc::verify_limits::cuda::{MOST_INNERMOST, MOST_OVERHANG, MOST_VTHREADS, OTHER_REGISTERS};
use crate::sketch::sample::assignment::{Assignment, aligned};
use crate::sketch::sample::footprint::{Footprint, Stage};

/// Registers that hold the larger operand of a matrix instruction.
const FRAGMENT: i64 = 4;

/// What the sketch may take of a device.
pub(super) fn limits(footprint: &Footprint, device: &DeviceLimits) -> Vec<Limit> {
    let shared = i64::from(device.shared_per_block_opt_in);
    let mut limits = vec![
        Limit::new("threads of a block", i64::from(device.threads_per_block), |assignment| assignment.threads()),
        Limit::new("registers of a thread", i64::from(device.registers_per_thread), registers),
        Limit::new("registers of a block", i64::from(device.registers_per_block), |assignment| {
            registers(assignment).saturating_mul(assignment.threads())
        }),
        Limit::new("bytes of shared memory of a block", shared, shared_bytes),
        Limit::new("virtual threads", MOST_VTHREADS, |assignment| assignment.of_kinds(&[ForKind::VThread])),
        Limit::new("iterations of a loop that is unrolled", MOST_INNERMOST, |assignment| {
            assignment.longest(ForKind::Unrolled)
        }),
        Limit::new("copies of the innermost statement", MOST_COPIES, |assignment| {
            assignment.of_kinds(&[ForKind::Unrolled, ForKind::VThread])
        }),
    ];
    let parts: Vec<usize> = footprint.of_level(Level::Split).collect();
    if !parts.is_empty() {
        let product = move |assignment: &Assignment<'_>| {
            parts.iter().fold(1i64, |all, var| all.saturating_mul(assignment.values[*var]))
        };
        limits.push(Limit::new("blocks that share a sum", i64::from(device.multiprocessors), product));
    }
    limits.extend(footprint.axes.iter().map(|axis| {
        let (vars, grain) = (axis.vars.clone(), axis.grain.clone());
        let product = move |assignment: &Assignment<'_>| {
            vars.iter().fold(assignment.size(&grain), |all, var| all.saturating_mul(assignment.values[*var]))
        };
        Limit::new(format!("elements behind the end of `{}`", axis.name), MOST_OVERHANG, product)
    }));
    limits
}

/// Registers of a thread: accumulators and all else, and what lives beside them while it computes or while it stores.
fn registers(assignment: &Assignment<'_>) -> i64 {
    let operands = assignment.footprint.stages.iter().map(|stage| match stage.staging {
        Staging::Registers(_) => {
            let elements = assignment.spanned(&stage.read, assignment.depth(&stage.depth));
            elements.into_iter().fold(stage.read.dtype.bytes(), i64::saturating_mul) / 4
        }
        Staging::Shared(tile) if assignment.footprint.pipeline == Some(Pipeline::Registers) => {
            under_way(assignment, stage, tile)
        }
        _ => 0,
    });
    let fragments =
        assignment.footprint.of_level(Level::Fragment).map(|var| assignment.values[var].saturating_mul(FRAGMENT));
    let computing = operands.chain(fragments).fold(0, i64::saturating_add);
    let beside = computing.max(assignment.size(&assignment.footprint.store_lanes));
    assignment.accumulators(1).saturating_add(OTHER_REGISTERS).saturating_add(beside)
}

/// Elements of the next tile that a thread has loaded and not stored yet.
fn under_way(assignment: &Assignment<'_>, stage: &Stage, tile: SharedTile) -> i64 {
    let elements = assignment.shared_elements(stage, 0, tile.reduce_outside);
    let vectors = elements.saturating_add(tile.vector - 1) / tile.vector;
    let threads = assignment.threads().max(1);
    (vectors.saturating_add(threads - 1) / threads).saturating_mul(tile.vector)
}

/// Bytes of the tiles in shared memory, as many of each as the pipeline has stages, and of sums whose parts meet there.
fn shared_bytes(assignment: &Assignment<'_>) -> i64 {
    let stages = match assignment.footprint.pipeline {
        Some(Pipeline::Registers) => 2,
        Some(Pipeline::Async(stages)) => stages,
        Some(Pipeline::Panels) | None => 1,
    };
    let bytes = assignment.footprint.stages.iter().map(|stage| match stage.staging {
        Staging::Shared(tile) => {
            let elements = assignment.shared_elements(stage, tile.pad, tile.reduce_outside);
            aligned(elements.saturating_mul(stage.read.dtype.bytes()).saturating_mul(stages))
        }
        _ => 0,
    });
    bytes.fold(meeting_bytes(assignment), i64::saturating_add)
}

/// Where threads share a sum, each has a place for its part of each accumulator.
fn meeting_bytes(assignment: &Assignment<'_>) -> i64 {
    match assignment.threads_of_a_sum() {
        1 => 0,
        _ => aligned(assignment.accumulators(1).saturating_mul(assignment.threads()).saturating_mul(4)),
    }
}
