//! Innermost loops that have the extents and the operands of a matrix instruction become one.
//!
//! ```text
//! for i_h in 0..2                                rows lane / 4 + 8·i_h
//!   for j_p in 0..2                              columns 2·(lane % 4) + j_p     →      tile[…] += mma x · w
//!     for k_e in 0..16
//!       tile[…][i_h][j_p] += x[…] · w[…]         f16 or bf16, both staged in shared memory
//! ```
//!
//! Tensors of f32 would be rounded to tf32, so theirs never do so unless the trace says it: the primitive is an instruction too.
//!
//! MetaSchedule: `RewriteTensorize`.

use std::sync::Arc;

use dietcode_syntax::Role;

use crate::Result;
use crate::ir::{BinaryOp, Buffer, Expr, Reduction};
use crate::schedule::{MatrixUnit, Schedule, Staging};

/// Gives the innermost loops to the matrix unit, where they are its own.
///
/// # Errors
/// Those of [`Schedule::tensorize`].
pub(super) fn rewrite_tensorize(schedule: &mut Schedule) -> Result<()> {
    if schedule.matrix_unit.is_some() || !has_lanes(schedule) || !has_operands(schedule) {
        return Ok(());
    }
    schedule.tensorize(MatrixUnit::Half)
}

/// Two rows and two columns of each lane, 8 by 4 lanes, 16 steps.
fn has_lanes(schedule: &Schedule) -> bool {
    let inner: Vec<_> = schedule.loops.iter().rev().take(3).map(|l| (l.role, l.extent.as_int())).collect();
    let unit = [(Role::Reduce, Some(MatrixUnit::Half.steps())), (Role::Spatial, Some(2)), (Role::Spatial, Some(2))];
    let parts = schedule.thread_parts();
    let lanes: Vec<Option<i64>> = parts.iter().rev().take(2).map(|part| schedule.fused_limit(part)).collect();
    inner == unit && lanes == [Some(4), Some(8)]
}

/// The product of two tensors of one type that the unit takes, both in shared memory.
fn has_operands(schedule: &Schedule) -> bool {
    let Some(Expr::Binary(BinaryOp::Mul, a, b)) = schedule.block.reduction.as_ref().and_then(Reduction::summed) else {
        return false;
    };
    let (Expr::Load(a, _), Expr::Load(b, _)) = (&**a, &**b) else { return false };
    let shared = |buffer: &Arc<Buffer>| {
        let mut stages = schedule.cache_reads.iter();
        stages.any(|read| read.buffer == buffer.name && matches!(read.staging, Staging::Shared(_)))
    };
    a.dtype == b.dtype && MatrixUnit::Half.takes(a.dtype, schedule.program.computes_in()) && shared(a) && shared(b)
}
