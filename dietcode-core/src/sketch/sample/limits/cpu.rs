//! The limits of a CPU.

use super::Limit;
use crate::ir::ForKind;
use crate::machine::CpuTarget;
use crate::schedule::Staging;
use crate::sketch::postproc::verify_limits::cpu::OPERANDS;
use crate::sketch::sample::assignment::Assignment;
use crate::sketch::sample::footprint::{Footprint, Read};

/// Copies of the innermost statement that are drawn. Lowering takes more, but beyond this a C compiler needs seconds for a
/// micro-kernel, and the overhead of the loop around it is a few percent of nothing.
const MOST_UNROLLED: i64 = 256;

/// What the sketch may take of a CPU.
pub(super) fn limits(footprint: &Footprint, target: &CpuTarget) -> Vec<Limit> {
    let lanes = (target.vector_bytes / 4).max(1);
    let mut limits = vec![
        Limit::new("lanes of a vector", lanes.max(2), |assignment| assignment.of_kinds(&[ForKind::Vectorized])),
        Limit::new("copies of the innermost statement", MOST_UNROLLED, |assignment| {
            assignment.of_kinds(&[ForKind::Unrolled, ForKind::VThread])
        }),
    ];
    if footprint.tile.is_some() {
        let registers = (target.vector_registers - OPERANDS).max(1);
        limits.extend([
            Limit::new("vector registers for accumulators", registers, move |assignment| {
                assignment.accumulators(lanes)
            }),
            Limit::new("bytes of the first-level cache for what register tiles share", target.l1_bytes, reused_strips),
            Limit::new("bytes of the second-level cache for panels", target.l2_bytes, panels),
        ]);
    }
    limits
}

/// The copies that live at the same time, and the sums that wait.
fn panels(assignment: &Assignment<'_>) -> i64 {
    let copies = assignment.footprint.stages.iter().map(|stage| assignment.panel_bytes(stage));
    copies.fold(assignment.waiting_bytes(), i64::saturating_add)
}

/// Bytes that a register tile reads in one block of the reduction, but for the largest of its strips: that one is streamed
/// from the second-level cache once for each tile, and the others have to be there still when the next tile reads them.
fn reused_strips(assignment: &Assignment<'_>) -> i64 {
    let depth = assignment.tile_depth();
    let inside = assignment.inside(depth, false);
    let bytes: Vec<i64> =
        assignment.footprint.reads.iter().map(|read| strip(assignment, read, depth, &inside)).collect();
    let all = bytes.iter().copied().fold(0, i64::saturating_add);
    all - bytes.into_iter().max().unwrap_or(0)
}

/// One of them: as it lies in its panel, or in the tensor.
fn strip(assignment: &Assignment<'_>, read: &Read, depth: usize, inside: &[i64]) -> i64 {
    let packed = |of: &Read| of.buffer == read.buffer && of.roots == read.roots;
    let mut panels = assignment.footprint.stages.iter().filter(|stage| stage.staging == Staging::Always);
    match panels.any(|stage| packed(&stage.read)) {
        true => assignment.spanned(read, depth).into_iter().fold(4, i64::saturating_mul),
        false => assignment.touched_bytes(read, inside),
    }
}
