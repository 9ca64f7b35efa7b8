//! Sums that the lanes of a vector share: each has summed a part, as has each copy of an unrolled loop of the sum, and the parts meet
//! before the sum is written back.
//!
//! It belongs to the first pass: what it adds are loops and stores like any others. The copies are combined in their order, vector by
//! vector, then the halves of the vector, so that a result has the same bits each time.
//!
//! ```text
//! for k_0                                      for k_0
//!   unrolled k_1 in 0..2                         unrolled k_1 in 0..2
//!     vectorized k_2 in 0..8             →         vectorized k_2 in 0..8: y_tile[i][k_1][k_2] += x[…]
//!       y_tile[i] += x[…]                      vectorized k_2 in 0..8: y_lanes[k_2] = y_tile[i][0][k_2] + y_tile[i][1][k_2]
//! y_out[i] = y_tile[i]                         vectorized k_2 in 0..4: y_lanes[k_2] = y_lanes[k_2] + y_lanes[k_2 + 4]
//!                                              vectorized k_2 in 0..2: y_lanes[k_2] = y_lanes[k_2] + y_lanes[k_2 + 2]
//!                                              y_out[i] = y_lanes[0] + y_lanes[1]
//! ```

use std::ops::Add;
use std::slice;
use std::sync::Arc;

use dietcode_syntax::Role;

use crate::ir::{Buffer, Expr, ForKind, Reduction, Stmt};
use crate::schedule::Schedule;

/// What `store` makes of a sum, inside of the spatial loops of the tile, which stands inside of so many loops.
pub(super) fn meet(
    schedule: &Schedule,
    reduction: &Reduction,
    (tile, depth): (&Arc<Buffer>, usize),
    store: &dyn Fn(Expr) -> Stmt,
) -> Stmt {
    // For each copy the indices of its accumulators.
    let mut copies: Vec<Vec<Expr>> = vec![Vec::new()];
    let mut lane = None;
    for l in schedule.tile_dims(depth).into_iter().map(|at| &schedule.loops[at]) {
        let indices = match (l.role, l.kind, l.extent.as_int()) {
            (Role::Reduce, ForKind::Unrolled, Some(extent)) => (0..extent).map(Expr::Int).collect(),
            _ => vec![Expr::Var(l.name.clone())],
        };
        lane = lane.or((l.role == Role::Reduce && l.kind == ForKind::Vectorized).then_some(l));
        copies = copies.iter().flat_map(|at| indices.iter().map(|i| [&at[..], slice::from_ref(i)].concat())).collect();
    }
    let parts = copies.into_iter().map(|index| Expr::Load(tile.clone(), index));
    let all = parts.reduce(|sum, part| reduction.combine(sum, part)).expect("there is one accumulator at the least");
    let Some((lane, lanes)) = lane.and_then(|l| Some((&l.name, l.extent.as_int()?))) else { return store(all) };
    let buffer = Arc::new(Buffer {
        name: schedule.fresh_name(&format!("{}_lanes", schedule.block.output.name)),
        shape: vec![Expr::Int(lanes)],
        ..(**tile).clone()
    });
    let at = |index: Expr| Expr::Load(buffer.clone(), vec![index]);
    let here = || Expr::Var(lane.clone());
    let over = |extent: i64, value: Expr| {
        let leaf = Stmt::Store { buffer: buffer.clone(), index: vec![here()], value };
        Stmt::for_(lane.clone(), Expr::Int(extent), ForKind::Vectorized, leaf)
    };
    let mut steps = vec![over(lanes, all)];
    let mut half = lanes / 2;
    while half > 1 {
        steps.push(over(half, reduction.combine(at(here()), at(here().add(Expr::Int(half))))));
        half /= 2;
    }
    steps.push(store(reduction.combine(at(Expr::Int(0)), at(Expr::Int(1)))));
    let body = Box::new(Stmt::seq(steps));
    Stmt::Allocate { buffer, body }
}
