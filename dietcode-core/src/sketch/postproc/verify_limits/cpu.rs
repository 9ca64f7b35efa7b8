//! The limits of a CPU.

use super::{Limit, registers};
use crate::ir::{Expr, ForKind, Scope};
use crate::lower::LoopNest;
use crate::machine::CpuTarget;
use crate::schedule::Schedule;

/// Vector registers that operands take: one holds what is multiplied with all others, another the next of them.
pub(in crate::sketch) const OPERANDS: i64 = 2;

/// Each limit, with what a kernel takes of it.
pub(super) fn limits(schedule: &Schedule, nest: &LoopNest, target: &CpuTarget) -> Vec<Limit> {
    let lanes = schedule.loops.iter().find(|l| l.kind == ForKind::Vectorized).and_then(|l| l.extent.as_int());
    let lanes = lanes.unwrap_or(1);
    let accumulators = registers::most_alive(&nest.body, &|buffer| {
        let elements = buffer.shape.iter().filter_map(Expr::as_int).fold(1, i64::saturating_mul);
        if buffer.scope == Scope::Register { vectors(elements / lanes, lanes, target) } else { 0 }
    });
    let spare = target.vector_registers - OPERANDS;
    vec![
        Limit { name: "vector registers", found: accumulators, allowed: spare, hard: false, unit: "registers" },
        Limit {
            name: "second-level cache",
            found: nest.scratch_bytes,
            allowed: target.l2_bytes,
            hard: true,
            unit: "bytes",
        },
    ]
}

/// Registers of so many vectors of f32: one that is wider than a register takes several.
fn vectors(count: i64, lanes: i64, target: &CpuTarget) -> i64 {
    let bytes = lanes * 4;
    count.saturating_mul((bytes + target.vector_bytes - 1) / target.vector_bytes)
}
