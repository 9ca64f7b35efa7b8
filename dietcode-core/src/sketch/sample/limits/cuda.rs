//! The limits of a CUDA device.

use super::Limit;
use crate::ir::ForKind;
use crate::machine::cuda::DeviceLimits;
use crate::schedule::{Level, MOST_COPIES, Pipeline, SharedTile, Staging};
use crate::sketch::postproc::verify_limits::cuda::{MOST_INNERMOST, MOST_OVERHANG, MOST_VTHREADS, OTHER_REGISTERS};
use crate::sketch::sample::outline::{Outline, Stage};
use crate::sketch::sample::point::{Point, aligned};

/// Registers that hold the larger operand of a matrix instruction.
const FRAGMENT: i64 = 4;

/// What the sketch may take of a device.
pub(super) fn limits(outline: &Outline, device: &DeviceLimits) -> Vec<Limit> {
    let shared = i64::from(device.shared_per_block_opt_in);
    let mut limits = vec![
        Limit::new("threads of a block", i64::from(device.threads_per_block), |point| point.threads()),
        Limit::new("registers of a thread", i64::from(device.registers_per_thread), registers),
        Limit::new("registers of a block", i64::from(device.registers_per_block), |point| {
            registers(point).saturating_mul(point.threads())
        }),
        Limit::new("bytes of shared memory of a block", shared, shared_bytes),
        Limit::new("virtual threads", MOST_VTHREADS, |point| point.of_kinds(&[ForKind::VThread])),
        Limit::new("iterations of a loop that is written out", MOST_INNERMOST, |point| {
            point.longest(ForKind::Unrolled)
        }),
        Limit::new("copies of the innermost statement", MOST_COPIES, |point| {
            point.of_kinds(&[ForKind::Unrolled, ForKind::VThread])
        }),
    ];
    let parts: Vec<usize> = outline.of_level(Level::Split).collect();
    if !parts.is_empty() {
        let product =
            move |point: &Point<'_>| parts.iter().fold(1i64, |all, var| all.saturating_mul(point.values[*var]));
        limits.push(Limit::new("blocks that share a sum", i64::from(device.multiprocessors), product));
    }
    limits.extend(outline.axes.iter().map(|axis| {
        let (vars, grain) = (axis.vars.clone(), axis.grain.clone());
        let product = move |point: &Point<'_>| {
            vars.iter().fold(point.size(&grain), |all, var| all.saturating_mul(point.values[*var]))
        };
        Limit::new(format!("elements behind the end of `{}`", axis.name), MOST_OVERHANG, product)
    }));
    limits
}

/// Registers of a thread: accumulators and all else, and what lives beside them while it computes or while it stores.
fn registers(point: &Point<'_>) -> i64 {
    let operands = point.outline.stages.iter().map(|stage| match stage.staging {
        Staging::Registers(_) => {
            let elements = point.spanned(&stage.read, point.depth(&stage.depth));
            elements.into_iter().fold(stage.read.dtype.bytes(), i64::saturating_mul) / 4
        }
        Staging::Shared(tile) if point.outline.pipeline == Some(Pipeline::Registers) => under_way(point, stage, tile),
        _ => 0,
    });
    let fragments = point.outline.of_level(Level::Fragment).map(|var| point.values[var].saturating_mul(FRAGMENT));
    let computing = operands.chain(fragments).fold(0, i64::saturating_add);
    let beside = computing.max(point.size(&point.outline.store_lanes));
    point.accumulators(1).saturating_add(OTHER_REGISTERS).saturating_add(beside)
}

/// Elements of the next tile that a thread has loaded and not stored yet.
fn under_way(point: &Point<'_>, stage: &Stage, tile: SharedTile) -> i64 {
    let elements = point.shared_elements(stage, 0, tile.reduce_outside);
    let vectors = elements.saturating_add(tile.vector - 1) / tile.vector;
    let threads = point.threads().max(1);
    (vectors.saturating_add(threads - 1) / threads).saturating_mul(tile.vector)
}

/// Bytes of the tiles in shared memory, as many of each as the pipeline has stages, and of sums whose parts meet there.
fn shared_bytes(point: &Point<'_>) -> i64 {
    let stages = match point.outline.pipeline {
        Some(Pipeline::Registers) => 2,
        Some(Pipeline::Async(stages)) => stages,
        Some(Pipeline::Panels) | None => 1,
    };
    let bytes = point.outline.stages.iter().map(|stage| match stage.staging {
        Staging::Shared(tile) => {
            let elements = point.shared_elements(stage, tile.pad, tile.reduce_outside);
            aligned(elements.saturating_mul(stage.read.dtype.bytes()).saturating_mul(stages))
        }
        _ => 0,
    });
    bytes.fold(meeting_bytes(point), i64::saturating_add)
}

/// Where threads share a sum, each has a place for its part of each accumulator.
fn meeting_bytes(point: &Point<'_>) -> i64 {
    match point.threads_of_a_sum() {
        1 => 0,
        _ => aligned(point.accumulators(1).saturating_mul(point.threads()).saturating_mul(4)),
    }
}
