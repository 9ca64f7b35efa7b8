//! How a thread of a GPU writes its accumulators back, and where the parts of a split sum go.

use std::ops::{Add, Mul};
use std::sync::Arc;

use dietcode_syntax::Role;

use crate::ir::{Buffer, DType, Expr, ForKind, Intrinsic, Name, Scope, Stmt, affine};
use crate::schedule::{Combine, Schedule};

/// The spatial loops of a thread's tile around a guarded store; if the schedule says so, a vector of neighbours at a
/// time:
///
/// ```text
/// for j in 0..8                                for s in 0..2
///   if j < N: y[j] = f(tile[j])         →        for v in 0..4: if 4·s + v < N: out[v] = f(tile[4·s + v])
///                                                y[4·s] = copy out[0], N − 4·s of 4 lanes
/// ```
pub(super) fn over_registers(schedule: &Schedule, tile_depth: usize, leaf: Stmt) -> Stmt {
    let loops = &schedule.loops;
    let dims: Vec<usize> = (tile_depth..loops.len()).filter(|&at| loops[at].role == Role::Spatial).collect();
    let vector = vectorized(schedule, &dims, leaf.clone());
    let (body, done) = vector.map_or((leaf, None), |(body, at)| (body, Some(at)));
    dims.iter()
        .rev()
        .filter(|at| Some(**at) != done)
        .fold(body, |body, &at| Stmt::for_(loops[at].name.clone(), loops[at].extent.clone(), loops[at].kind, body))
}

/// The innermost loops of a store by vectors, and the loop whose place they take. None: there is no loop whose
/// neighbours are neighbours in memory and come in vectors.
fn vectorized(schedule: &Schedule, dims: &[usize], leaf: Stmt) -> Option<(Stmt, usize)> {
    let lanes = schedule.store_lanes;
    let (guards, store) = match leaf {
        Stmt::IfThenElse { condition, then, otherwise: None } => (condition, *then),
        store => (Expr::Int(1), store),
    };
    let Stmt::Store { buffer, index, value } = store else { return None };
    let neighbours = |at: &usize| {
        let name = &schedule.loops[*at].name;
        let (last, outer) = index.split_last()?;
        let form = affine(last)?;
        // The first of each run of neighbours lies at a multiple of the lanes, as the rows' addresses may.
        let aligned =
            form.terms.iter().all(|(other, c)| *other == **name || c % lanes == 0) && form.constant % lanes == 0;
        let contiguous = aligned && form.coefficient(name) == 1 && !outer.iter().any(|e| e.uses(name));
        contiguous.then(|| schedule.loops[*at].extent.as_int()).flatten()
    };
    let (at, extent) = dims.iter().rev().find_map(|at| Some((*at, neighbours(at)?)))?;
    if lanes == 1 || extent % lanes != 0 {
        return None;
    }
    let (step, lane) = (schedule.fresh_name("dietcode_step"), schedule.fresh_name("dietcode_lane"));
    let here = Expr::Var(step.clone()).mul(Expr::Int(lanes)).add(Expr::Var(lane.clone()));
    let of = |e: &Expr| e.substitute(&schedule.loops[at].name, &here);
    let out = Arc::new(Buffer {
        name: schedule.fresh_name(&format!("{}_out", buffer.name)),
        dtype: DType::F32,
        shape: vec![Expr::Int(lanes)],
        scope: Scope::Register,
    });
    let over_lanes = |kind, body| Stmt::for_(lane.clone(), Expr::Int(lanes), kind, body);
    let at_lane = vec![Expr::Var(lane.clone())];
    let kept = Stmt::Store { buffer: out.clone(), index: at_lane.clone(), value: of(&value) };
    // What the epilogue reads of other tensors exists inside of them only.
    let reads = has_load(&value);
    let kept = if reads { Stmt::if_(of(&guards), kept) } else { kept };
    let stored = Stmt::Store { buffer, index: index.iter().map(of).collect(), value: Expr::Load(out.clone(), at_lane) };
    let stored = Stmt::if_(of(&guards), stored);
    let body = Stmt::seq([over_lanes(ForKind::Unrolled, kept), over_lanes(ForKind::Vectorized, stored)]);
    let body = Stmt::Allocate { buffer: out, body: Box::new(body) };
    Some((Stmt::for_(step, Expr::Int(extent / lanes), ForKind::Unrolled, body), at))
}

/// Whether a value reads a tensor.
fn has_load(value: &Expr) -> bool {
    let mut found = false;
    value.visit(&mut |e| found |= matches!(e, Expr::Load(buffer, _) if buffer.scope == Scope::Global));
    found
}

/// Where a block of the grid leaves its part of a sum.
pub(super) fn part(schedule: &Schedule, combine: Combine, sum: Expr) -> Stmt {
    let block = &schedule.block;
    match combine {
        Combine::Atomic => Stmt::Intrinsic(Intrinsic::AtomicAdd {
            to: block.output.clone(),
            index: block.output_index.iter().map(|e| schedule.unsplit(e)).collect(),
            value: sum,
        }),
        Combine::Workspace => {
            let (parts, which) = workspace(schedule);
            let spatial = block.iters_of(Role::Spatial).map(|iter| schedule.unsplit(&Expr::Var(iter.name.clone())));
            let index = which.into_iter().map(Expr::Var).chain(spatial).collect();
            Stmt::Store { buffer: parts, index, value: sum }
        }
    }
}

/// The parts of a split sum: one tensor of the spatial extents for each iteration of the reductions bound to the grid,
/// and the loops that number them.
pub(crate) fn workspace(schedule: &Schedule) -> (Arc<Buffer>, Vec<Name>) {
    let split = schedule.loops.iter().filter(|l| l.is_shared_sum());
    let (which, extents): (Vec<Name>, Vec<Expr>) = split.map(|l| (l.name.clone(), l.extent.clone())).unzip();
    let spatial = schedule.block.iters_of(Role::Spatial).map(|iter| iter.extent.clone());
    let parts = Buffer {
        name: schedule.fresh_name(&format!("{}_parts", schedule.block.output.name)),
        dtype: DType::F32,
        shape: extents.into_iter().chain(spatial).collect(),
        scope: Scope::Global,
    };
    (Arc::new(parts), which)
}
