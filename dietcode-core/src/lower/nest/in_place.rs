//! Reads of a CPU's sum that nothing stages: at an edge they are made harmless where they stand, so that no guard is left in the compute
//! part and nothing is copied.
//!
//! It belongs to the first pass. Along the lanes of a vector, what lies outside is not read, and 0 in its place; along any other spatial
//! loop the last element is read again, since what the tile computes outside of the output is never stored.
//!
//! ```text
//! if i_0·4 + i < M && k_0·16 + v < K
//!   tile[i][v] += x[i_0·4 + i][k_0·16 + v]²
//!     →
//! tile[i][v] += (k_0·16 + v < K ? x[min(i_0·4 + i, M − 1)][k_0·16 + v] : 0)²
//! ```

use std::ops::Sub;

use dietcode_syntax::Role;

use crate::ir::{Block, Expr, ForKind, Name, Scope, affine};
use crate::lower::guard::Guard;
use crate::lower::passes::is_padded_by;
use crate::schedule::Schedule;

/// The update of a sum with such reads, and the guards that it still needs; `update` and what becomes of it name iteration variables.
pub(crate) fn in_place<'g>(schedule: &Schedule, guards: &'g [Guard], update: &Expr) -> (Expr, Vec<&'g Guard>) {
    let mut left = Vec::new();
    let mut update = update.clone();
    let lane = schedule.loops.iter().find(|l| l.kind == ForKind::Vectorized);
    for guard in guards {
        match lane.and_then(|lane| without(schedule, &lane.name, guard, &update)) {
            Some(harmless) => update = harmless,
            None => left.push(guard),
        }
    }
    (update, left)
}

/// The update where a guard may go, if reads in place allow that.
fn without(schedule: &Schedule, lane: &Name, guard: &Guard, update: &Expr) -> Option<Expr> {
    let root = Expr::Var(guard.root.clone());
    let form = affine(&guard.value).filter(|_| guard.value == schedule.unsplit(&root))?;
    if guard.role == Role::Reduce && schedule.program.reads_prepared_along(&schedule.block, &guard.root) {
        return None;
    }
    let is_staged =
        |name: &Name| schedule.is_prepared(name) || schedule.cache_reads.iter().any(|read| read.buffer == *name);
    let is_in_place = |e: &Expr| match e {
        Expr::Load(buffer, index) if buffer.scope == Scope::Global && !is_staged(&buffer.name) => {
            index.iter().any(|e| e.uses(&guard.root))
        }
        _ => false,
    };
    if !update.any(&mut |e| is_in_place(e)) {
        return None;
    }
    let lane_step = form.coefficient(lane);
    if lane_step == 0 {
        let last = root.min(guard.extent.clone().sub(Expr::Int(1)));
        let clamped = |e: &Expr| match e {
            Expr::Load(buffer, index) if is_in_place(e) => {
                Some(Expr::Load(buffer.clone(), index.iter().map(|e| e.substitute(&guard.root, &last)).collect()))
            }
            _ => None,
        };
        return (guard.role == Role::Spatial).then(|| update.map(&mut { clamped }));
    }
    let all = !update.any(&mut |e| is_in_place(e) && !lies_along(e, &guard.root));
    let is_neutral = guard.role == Role::Spatial || is_padded_by(&schedule.block, &guard.root, 0.0);
    let inside = root.lt(guard.extent.clone());
    let masked = |e: &Expr| is_in_place(e).then(|| Expr::select(inside.clone(), e.clone(), Expr::Float(0.0)));
    (lane_step == 1 && all && is_neutral).then(|| update.map(&mut { masked }))
}

/// Whether lanes along a sum's axis need no copies at its end: zeros there change nothing, and all that moves along it can be masked, but for
/// what is packed, which has zeros there.
pub(crate) fn serves_lanes(block: &Block, axis: &Name, is_packed: impl Fn(&Name) -> bool) -> bool {
    is_padded_by(block, axis, 0.0) && across_lanes(block, axis).iter().all(is_packed)
}

/// What moves along a sum's axis and does not lie along it: packed, it leaves lanes along the axis what lies so.
pub(crate) fn across_lanes(block: &Block, axis: &Name) -> Vec<Name> {
    let mut across = Vec::new();
    let mut note = |e: &Expr| {
        if let Expr::Load(buffer, index) = e
            && index.iter().any(|e| e.uses(axis))
            && !lies_along(e, axis)
        {
            across.push(buffer.name.clone());
        }
        false
    };
    if let Some(reduction) = &block.reduction {
        reduction.update.any(&mut note);
    }
    across
}

/// Whether vectors along an axis are floats as they lie in the tensor, and no other axis moves along the same dimension, as one of a
/// window does: with that one at its end, the index would be none whose lanes are known to be neighbours.
fn lies_along(read: &Expr, axis: &Name) -> bool {
    let Expr::Load(buffer, index) = read else { return false };
    let Some((last, outer)) = index.split_last() else { return false };
    let is_alone = affine(last).is_some_and(|form| form.terms == [(axis.to_string(), 1)]);
    buffer.dtype.is_computed_in() && is_alone && outer.iter().all(|e| !e.uses(axis))
}
