//! Registers: of vectors on a CPU, of threads and blocks on a GPU.

use std::sync::Arc;

use super::Kernel;
use super::memory::elements_under_way;
use crate::ir::{Buffer, Expr, ForKind, Scope, Stmt};
use crate::lower::MOST_VECTORS;
use crate::schedule::{Level, Pipeline, Staging};
use crate::sketch::footprint::Assignment;

/// Vector registers that operands take: one holds what is multiplied with all others, another the next of them.
pub(super) const OPERANDS: i64 = 2;
/// Registers that addresses and operands take beside a thread's arrays, at the least.
const OTHER: i64 = 24;
/// Registers that hold the larger operand of a matrix instruction.
const FRAGMENT: i64 = 4;

/// Registers of a CPU for the accumulators. A tile of one register is copied to another one, from which it is stored.
pub(super) fn bound_of_vectors(assignment: &Assignment<'_>) -> i64 {
    match assignment.accumulators().saturating_add(assignment.registers_for_zeros()) {
        1 => 2,
        accumulators => accumulators,
    }
}

/// Those that live at once: a vector that is wider than a register takes several.
pub(super) fn of_vectors(kernel: &Kernel<'_>) -> i64 {
    let Some(target) = kernel.target.cpu() else { return 0 };
    let lanes = kernel.schedule.loops.iter().find(|l| l.kind == ForKind::Vectorized).and_then(|l| l.extent.as_int());
    let lanes = lanes.unwrap_or(1);
    let of_vector = (lanes * kernel.nest.computes.bytes() + target.vector_bytes - 1) / target.vector_bytes;
    most_alive(&kernel.nest.body, &|buffer| {
        let elements = buffer.shape.iter().filter_map(Expr::as_int).fold(1, i64::saturating_mul);
        let vectors = elements / lanes;
        // A tile that is too large for registers stays in memory, and counts as what it was meant to be.
        let is_tile = kernel.schedule.cache_write.as_ref().is_some_and(|tile| tile.name == buffer.name);
        let counts = buffer.scope == Scope::Register || (is_tile && vectors > MOST_VECTORS);
        if counts { vectors.saturating_mul(of_vector) } else { 0 }
    })
}

/// Registers of a GPU's thread: accumulators and all else, and what lives beside them while it computes or while it stores.
pub(super) fn bound_of_thread(assignment: &Assignment<'_>) -> i64 {
    let footprint = assignment.footprint;
    let sets = assignment.size(&footprint.fragment_sets);
    let by_unit = footprint.of_level(Level::Fragment).next().is_some();
    let held = footprint.stages.iter().map(|stage| match stage.staging {
        // A matrix unit has its operands in fragments, of which there is one set anyway.
        Staging::Shared(_) if sets > 1 && !by_unit => {
            let bytes = assignment.read_in_step(stage).saturating_mul(stage.read.dtype.bytes());
            (bytes / 4 + 1).saturating_mul(sets)
        }
        _ => 0,
    });
    let operands = footprint.stages.iter().map(|stage| match stage.staging {
        Staging::Registers(_) => {
            let elements = assignment.spanned(&stage.read, assignment.depth(&stage.depth));
            elements.into_iter().fold(stage.read.dtype.bytes(), i64::saturating_mul) / 4
        }
        Staging::Shared(tile) if footprint.pipeline == Some(Pipeline::Registers) => {
            elements_under_way(assignment, stage, tile).saturating_mul((stage.read.dtype.bytes() / 4).max(1))
        }
        _ => 0,
    });
    let (registers, of_element) = (FRAGMENT * footprint.parts, footprint.computes.bytes() / 4);
    let fragments = footprint
        .of_level(Level::Fragment)
        .map(|var| assignment.values[var].saturating_mul(registers).saturating_mul(sets));
    let computing = operands.chain(held).chain(fragments).fold(0, i64::saturating_add);
    let storing = assignment.size(&footprint.store_lanes).saturating_mul(footprint.store_vectors);
    let beside = computing.max(storing.saturating_mul(of_element));
    assignment.accumulators().saturating_mul(of_element).saturating_add(OTHER).saturating_add(beside)
}

/// The same of its arrays.
pub(super) fn of_thread(kernel: &Kernel<'_>) -> i64 {
    let of = |buffer: &Arc<Buffer>| {
        let bytes = buffer.bytes().unwrap_or(0);
        match buffer.scope {
            Scope::Local | Scope::Register => bytes / 4 + i64::from(bytes % 4 != 0),
            // An element of a fragment is a register, whatever is packed in it.
            Scope::Fragment => bytes / buffer.dtype.bytes(),
            _ => 0,
        }
    };
    most_alive(&kernel.nest.body, &of).saturating_add(OTHER)
}

/// The largest sum of `size` over arrays that are allocated inside of each other.
fn most_alive(stmt: &Stmt, size: &impl Fn(&Arc<Buffer>) -> i64) -> i64 {
    match stmt {
        Stmt::Allocate { buffer, body } => size(buffer).saturating_add(most_alive(body, size)),
        Stmt::For { body, .. } | Stmt::Let { body, .. } => most_alive(body, size),
        Stmt::View { fill, body, .. } => most_alive(fill, size).max(most_alive(body, size)),
        Stmt::IfThenElse { then, otherwise, .. } => {
            otherwise.iter().map(|stmt| most_alive(stmt, size)).fold(most_alive(then, size), i64::max)
        }
        Stmt::Seq(stmts) => stmts.iter().map(|stmt| most_alive(stmt, size)).max().unwrap_or(0),
        Stmt::Store { .. } | Stmt::Sync | Stmt::Intrinsic(_) => 0,
    }
}
