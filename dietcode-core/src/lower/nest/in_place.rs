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
//!
//! Along a window whose steps are unrolled, it is the tensor's last row that is read again, not that of the first step: rows that several steps
//! read are then the same rows, and are loaded once.
//!
//! ```text
//! x[i_0·4 + i + r]     →     x[min(i_0·4 + i + r, M + 1)]
//! ```

use std::ops::Sub;

use dietcode_syntax::Role;

use super::Builder;
use crate::ir::{Block, Expr, ForKind, Name, Reduction, Scope, Stmt, affine};
use crate::lower::guard::{self, Guard};
use crate::lower::passes::is_padded_by;
use crate::schedule::{Loop, Schedule};

/// The update of a sum with such reads, and the guards that it still needs; `update` and what becomes of it name iteration variables.
pub(crate) fn in_place<'g>(schedule: &Schedule, guards: &'g [Guard], update: &Expr) -> (Expr, Vec<&'g Guard>) {
    let mut left = Vec::new();
    let mut update = update.clone();
    let lane = schedule.loops.iter().find(|l| l.kind == ForKind::Vectorized);
    for guard in guards {
        match lane.and_then(|lane| without(schedule, &lane.name, (guard, guards), &update)) {
            Some(harmless) => update = harmless,
            None => left.push(guard),
        }
    }
    (update, left)
}

/// The update where a guard may go, if reads in place allow that.
fn without(schedule: &Schedule, lane: &Name, (guard, guards): (&Guard, &[Guard]), update: &Expr) -> Option<Expr> {
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
        let in_dim = |(e, extent): (&Expr, &Expr)| match is_unrolled_window(schedule, e, &guard.root) {
            true => e.clone().min(extent.clone().sub(Expr::Int(1))),
            false => e.substitute(&guard.root, &last),
        };
        let clamped = |e: &Expr| match e {
            Expr::Load(buffer, index) if is_in_place(e) => {
                Some(Expr::Load(buffer.clone(), index.iter().zip(&buffer.shape).map(in_dim).collect()))
            }
            _ => None,
        };
        return (guard.role == Role::Spatial).then(|| update.map(&mut { clamped }));
    }
    // The lanes of a window are neighbours at each of its steps, where no step is another one at an edge.
    let is_step = |axis: &str| {
        let is_summed = schedule.block.iters_of(Role::Reduce).any(|iter| *iter.name == *axis);
        guard.role == Role::Spatial && is_summed && !guards.iter().any(|guard| *guard.root == *axis)
    };
    let all = !update.any(&mut |e| is_in_place(e) && !lies_along(e, &guard.root, is_step));
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
            && !lies_along(e, axis, |_| false)
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

/// Whether vectors along an axis are floats as they lie in the tensor, and none but certain other axes move along the same dimension, as those
/// of a window do: with another one at its end, the index would be none whose lanes are known to be neighbours.
fn lies_along(read: &Expr, axis: &Name, may_move: impl Fn(&str) -> bool) -> bool {
    let Expr::Load(buffer, index) = read else { return false };
    let Some((last, outer)) = index.split_last() else { return false };
    let lies = affine(last).is_some_and(|form| {
        form.coefficient(axis) == 1 && form.terms.iter().all(|(name, _)| *name == **axis || may_move(name))
    });
    buffer.dtype.is_computed_in() && lies && outer.iter().all(|e| !e.uses(axis))
}

/// Whether an index grows along an axis, and with the unrolled steps of a sum.
fn is_unrolled_window(schedule: &Schedule, index: &Expr, axis: &Name) -> bool {
    let is_unrolled = |l: &Loop, name: &str| {
        l.kind == ForKind::Unrolled && schedule.roots(&l.name).iter().any(|root| **root == *name)
    };
    let is_step = |name: &str| {
        let is_summed = schedule.block.iters_of(Role::Reduce).any(|iter| *iter.name == *name);
        is_summed && schedule.loops.iter().any(|l| is_unrolled(l, name))
    };
    affine(index).is_some_and(|form| {
        let grows = form.coefficient(axis) > 0 && form.terms.iter().all(|(_, step)| *step > 0);
        grows && form.terms.iter().any(|(name, _)| is_step(name))
    })
}

impl Builder<'_> {
    /// The loops inside of the tile; where a window is read in place along vectors, twice: inside of all tensors as it lies, and at an edge by
    /// masks.
    ///
    /// ```text
    /// if i_0·4 + 3 < M && j_0·16 + 15 < N
    ///   for …: tile[i][v] += x[i_0·4 + i + r][j_0·16 + v + s] · …
    /// else
    ///   for …: tile[i][v] += (j_0·16 + v < N ? x[min(i_0·4 + i + r, M + 1)][j_0·16 + v + s] : 0) · …
    /// ```
    pub(super) fn update_inside_and_at_edges(&self, reduction: &Reduction) -> Stmt {
        let update = self.update(self.tile_depth, reduction);
        let (spatial, others): (Vec<Guard>, Vec<Guard>) =
            self.guards.iter().cloned().partition(|guard| guard.role == Role::Spatial);
        if spatial.is_empty() || !self.schedule.decomposed || !reads_windows(self.schedule, &reduction.update) {
            return update;
        }
        let loops = &self.schedule.loops[self.tile_depth..];
        let loops: Vec<(Name, Expr)> = loops.iter().map(|l| (l.name.clone(), l.extent.clone())).collect();
        let Some(inside) = guard::at_corner(&guard::all(spatial), &loops) else { return update };
        let builder = Builder {
            schedule: self.schedule,
            guards: others,
            stages: self.stages.clone(),
            shared: Vec::new(),
            tile_depth: self.tile_depth,
            tile: self.tile.clone(),
            sums: self.sums.clone(),
            cross_thread: None,
            staged_store: None,
            inside: None,
        };
        let whole = builder.update(self.tile_depth, reduction);
        Stmt::IfThenElse { condition: inside, then: Box::new(whole), otherwise: Some(Box::new(update)) }
    }
}

/// Whether lanes along a spatial axis read a window in place, so that masks at the edge are those of many loads.
fn reads_windows(schedule: &Schedule, update: &Expr) -> bool {
    let lane = schedule.loops.iter().find(|l| l.kind == ForKind::Vectorized && l.role == Role::Spatial);
    let Some([axis]) = lane.and_then(|lane| <[Name; 1]>::try_from(schedule.roots(&lane.name)).ok()) else {
        return false;
    };
    let is_staged =
        |name: &Name| schedule.is_prepared(name) || schedule.cache_reads.iter().any(|read| read.buffer == *name);
    update.any(&mut |e| match e {
        Expr::Load(buffer, index) if buffer.scope == Scope::Global && !is_staged(&buffer.name) => {
            let along = index.last().and_then(affine);
            along.is_some_and(|form| form.coefficient(&axis) == 1 && form.terms.len() > 1)
        }
        _ => false,
    })
}
