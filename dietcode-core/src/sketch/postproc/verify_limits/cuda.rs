//! The limits of a GPU.

use dietcode_syntax::Role;

use super::{Limit, registers};
use crate::ir::{Buffer, ForKind, Scope};
use crate::lower::LoopNest;
use crate::machine::cuda::{ComputeCapability, DeviceLimits};
use crate::schedule::{Loop, Pipeline, Relation, Schedule};
use crate::{Error, Result};

/// The most parts of a thread that lie apart.
pub(in crate::sketch) const MOST_VTHREADS: i64 = 8;
/// The most iterations of a loop that is unrolled (`max_innermost_factor` of MetaSchedule).
pub(in crate::sketch) const MOST_INNERMOST: i64 = 64;
/// Registers that addresses and operands take beside a thread's arrays, at the least.
pub(in crate::sketch) const OTHER_REGISTERS: i64 = 24;
/// How far a kernel may count behind the end of a loop: the device's side of a call leaves as much room below 2³¹.
pub(in crate::sketch) const MOST_OVERHANG: i64 = 1 << 20;

/// Each limit, with what a kernel takes of it.
pub(super) fn limits(schedule: &Schedule, nest: &LoopNest, device: &DeviceLimits) -> Vec<Limit> {
    let threads = nest.threads();
    let registers = registers::most_alive(&nest.body, &|buffer| of_thread(buffer)).saturating_add(OTHER_REGISTERS);
    let limit = |name, found, allowed: u32, unit| Limit { name, found, allowed: i64::from(allowed), hard: true, unit };
    let own = |name, found, allowed, unit| Limit { name, found, allowed, hard: false, unit };
    vec![
        limit("threads", threads, device.threads_per_block, "threads"),
        own("vthreads", vthreads(schedule), MOST_VTHREADS, "parts of a thread"),
        own("innermost factor", longest(schedule, ForKind::Unrolled), MOST_INNERMOST, "iterations"),
        limit("shared memory", nest.scratch_bytes, device.shared_per_block_opt_in, "bytes"),
        limit("registers of a thread", registers, device.registers_per_thread, "registers"),
        own(
            "registers of a block",
            registers.saturating_mul(threads),
            i64::from(device.registers_per_block),
            "registers",
        ),
        Limit { hard: true, ..own("overhang", overhang(schedule), MOST_OVERHANG, "elements behind the end") },
    ]
}

/// What the device has no instruction for.
pub(super) fn instructions(schedule: &Schedule, device: &DeviceLimits) -> Result<()> {
    let asynchronous = matches!(schedule.pipeline, Some(Pipeline::Async(_)));
    let wanted = match (asynchronous, schedule.matrix_unit) {
        (true, _) => "an asynchronous copy",
        (_, Some(_)) => "a matrix unit",
        _ => return Ok(()),
    };
    let needed = ComputeCapability { major: 8, minor: 0 };
    if device.capability >= needed {
        return Ok(());
    }
    let (name, found) = (&schedule.block.name, device.capability);
    Err(Error::input(format!(
        "a kernel of `{name}` takes {wanted}: it needs compute capability {needed}, the device has {found}"
    )))
}

/// 32-bit registers of an array.
fn of_thread(buffer: &Buffer) -> i64 {
    let bytes = buffer.bytes().unwrap_or(0);
    match buffer.scope {
        Scope::Local | Scope::Register => bytes / 4 + i64::from(bytes % 4 != 0),
        // An element of a fragment is a register, whatever is packed in it.
        Scope::Fragment => bytes / buffer.dtype.bytes(),
        _ => 0,
    }
}

fn vthreads(schedule: &Schedule) -> i64 {
    let parts = schedule.loops.iter().filter(|l| l.kind == ForKind::VThread);
    parts.filter_map(|l| l.extent.as_int()).fold(1, i64::saturating_mul)
}

/// The iterations of the longest loop of a kind.
fn longest(schedule: &Schedule, kind: ForKind) -> i64 {
    let loops = schedule.loops.iter().filter(|l| l.kind == kind);
    loops.filter_map(|l| l.extent.as_int()).max().unwrap_or(1)
}

/// Behind the end of a sum that blocks share come the rest of a tile and of the parts.
fn overhang(schedule: &Schedule) -> i64 {
    let shared = |l: &&Loop| l.kind == ForKind::BlockIdx && l.role == Role::Reduce;
    let behind = |l: &Loop| {
        let roots = schedule.roots(&l.name);
        let padded = schedule.relations.iter().filter_map(|relation| match relation {
            Relation::Split { parent, factor, guard: true, .. } if schedule.roots(parent) == roots => Some(*factor),
            _ => None,
        });
        padded.fold(1, i64::saturating_mul)
    };
    schedule.loops.iter().filter(shared).map(behind).max().unwrap_or(0)
}
