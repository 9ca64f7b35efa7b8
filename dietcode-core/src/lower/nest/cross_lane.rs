//! Sums that the lanes of a vector share: each has summed a part, as has each copy of an unrolled loop of the sum, and the parts meet
//! before the sum is written back.
//!
//! It belongs to the first pass. The copies are combined in their order, vector by vector, then the halves of the vector, so that a result has
//! the same bits each time. The vectors of a tile in registers do the latter together: the halves of two vectors are one operation on a vector.
//!
//! ```text
//! for k_0                                      for k_0
//!   unrolled k_1 in 0..2                         unrolled k_1 in 0..2
//!     vectorized k_2 in 0..8             →         vectorized k_2 in 0..8: y_tile[i][k_1][k_2] += x[…]
//!       y_tile[i] += x[…]                      unrolled i in 0..2
//! y_out[i] = y_tile[i]                           vectorized k_2 in 0..8: y_tile[i][0][k_2] = y_tile[i][0][k_2] + y_tile[i][1][k_2]
//!                                              vectorized k_2 in 0..8: y_out[0] = + of the lanes of y_tile[0][0][k_2] y_tile[1][0][k_2]
//! ```

use std::slice;
use std::sync::Arc;

use dietcode_syntax::Role;

use crate::ir::{Buffer, Expr, ForKind, Intrinsic, Reduction, Stmt};
use crate::lower::MOST_VECTORS;
use crate::schedule::{Loop, Schedule};

/// Fills a buffer, whose dimensions are the spatial loops of a tile, with the sums of the tile, which stands inside of so many loops; `over`
/// puts such loops around a statement.
pub(super) fn meet(
    schedule: &Schedule,
    reduction: &Reduction,
    (tile, depth): (&Arc<Buffer>, usize),
    (sums, dims): (&Arc<Buffer>, &[usize]),
    over: &dyn Fn(&[usize], Stmt) -> Stmt,
) -> Stmt {
    let var = |at: &usize| Expr::Var(schedule.loops[*at].name.clone());
    let of_tile = schedule.tile_dims(depth);
    let lane =
        of_tile.iter().map(|at| &schedule.loops[*at]).find(|l| l.role == Role::Reduce && l.kind == ForKind::Vectorized);
    let Some(lane) = lane else {
        let value = Expr::Load(tile.clone(), of_tile.iter().map(var).collect());
        return over(dims, Stmt::Store { buffer: sums.clone(), index: dims.iter().map(var).collect(), value });
    };
    let all_lanes = |leaf: Stmt| Stmt::for_(lane.name.clone(), lane.extent.clone(), ForKind::Vectorized, leaf);
    let is_copies = |at: &usize| {
        let Loop { role, kind, .. } = schedule.loops[*at];
        role == Role::Reduce && kind == ForKind::Unrolled
    };
    let mut steps = Vec::new();
    let copies = elements(schedule, &of_tile, &is_copies, &var);
    if let [first, _, ..] = &copies[..] {
        let parts = copies.iter().map(|index| Expr::Load(tile.clone(), index.clone()));
        let value = parts.reduce(|sum, part| reduction.combine(sum, part)).expect("there are two at the least");
        steps.push(over(dims, all_lanes(Stmt::Store { buffer: tile.clone(), index: first.clone(), value })));
    }
    let (outer, inner) = dims.split_at(dims.len() - in_registers(schedule, dims));
    let first_copy = |at: &usize| if is_copies(at) { Expr::Int(0) } else { var(at) };
    let parts = elements(schedule, &of_tile, &|at| inner.contains(at), &first_copy);
    let meet = Intrinsic::MeetLanes {
        op: reduction.operator(),
        to: sums.clone(),
        to_index: outer.iter().map(var).chain(inner.iter().map(|_| Expr::Int(0))).collect(),
        parts: parts.into_iter().map(|index| (tile.clone(), index)).collect(),
    };
    steps.push(over(outer, all_lanes(Stmt::Intrinsic(meet))));
    Stmt::seq(steps)
}

/// The indices of a tile in which some of its loops take all of their values, in order, and the others what `other` says.
fn elements(
    schedule: &Schedule,
    of_tile: &[usize],
    takes_all: &dyn Fn(&usize) -> bool,
    other: &dyn Fn(&usize) -> Expr,
) -> Vec<Vec<Expr>> {
    of_tile.iter().fold(vec![Vec::new()], |indices, at| {
        let values: Vec<Expr> = match schedule.loops[*at].extent.as_int() {
            Some(extent) if takes_all(at) => (0..extent).map(Expr::Int).collect(),
            _ => vec![other(at)],
        };
        indices.iter().flat_map(|index| values.iter().map(|i| [&index[..], slice::from_ref(i)].concat())).collect()
    })
}

/// How many of the last loops, all unrolled, have no more vectors than a tile in registers.
fn in_registers(schedule: &Schedule, dims: &[usize]) -> usize {
    let mut vectors = 1;
    let fits = |at: &&usize| {
        let l = &schedule.loops[**at];
        vectors *= l.extent.as_int().unwrap_or(i64::MAX).min(MOST_VECTORS + 1);
        l.kind == ForKind::Unrolled && vectors <= MOST_VECTORS
    };
    dims.iter().rev().take_while(fits).count()
}
