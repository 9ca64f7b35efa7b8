//! How a thread of a GPU writes its accumulators back, and where the parts of a split sum go.

use std::ops::{Add, Mul};
use std::sync::Arc;

use dietcode_syntax::Role;

use crate::ir::{Buffer, Expr, ForKind, Intrinsic, Name, Scope, Stmt, affine};
use crate::schedule::{Combine, Loop, Schedule, StreamK};

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
    let store = GuardedStore::of(leaf)?;
    let extent = |at: &usize| {
        let aligned = store.lies_along(&schedule.loops[*at].name, lanes);
        aligned.then(|| schedule.loops[*at].extent.as_int()).flatten()
    };
    let (at, extent) = dims.iter().rev().find_map(|at| Some((*at, extent(at)?)))?;
    if lanes == 1 || extent % lanes != 0 {
        return None;
    }
    let step = schedule.fresh_name("dietcode_step");
    let first = Expr::Var(step.clone()).mul(Expr::Int(lanes));
    let body = store.by_vectors(schedule, &schedule.loops[at].name, &first);
    Some((Stmt::for_(step, Expr::Int(extent / lanes), ForKind::Unrolled, body), at))
}

/// `if guards: buffer[index] = value`.
pub(super) struct GuardedStore {
    guards: Expr,
    buffer: Arc<Buffer>,
    index: Vec<Expr>,
    value: Expr,
}

impl GuardedStore {
    /// A statement that is one.
    pub(super) fn of(leaf: Stmt) -> Option<GuardedStore> {
        let (guards, store) = match leaf {
            Stmt::IfThenElse { condition, then, otherwise: None } => (condition, *then),
            store => (Expr::Int(1), store),
        };
        let Stmt::Store { buffer, index, value } = store else { return None };
        Some(GuardedStore { guards, buffer, index, value })
    }

    /// Whether what is stored for neighbouring values of a variable lies side by side, and the first of each run of `lanes` at a
    /// multiple of them, as the rows' addresses may.
    pub(super) fn lies_along(&self, name: &str, lanes: i64) -> bool {
        lies_along(&self.index, name, lanes)
    }

    /// The store of as many neighbours as the schedule says, from the variable's value `first` on. What the epilogue reads of other
    /// tensors beside them is read by vectors, too.
    ///
    /// ```text
    /// in = copy bias[first], N − first of 4 lanes           where there are such reads
    /// for v in 0..4: if first + v < N: out[v] = f(tile[first + v], in[v])
    /// y[first] = copy out[0], N − first of 4 lanes
    /// ```
    pub(super) fn by_vectors(&self, schedule: &Schedule, name: &Name, first: &Expr) -> Stmt {
        let lanes = schedule.store_lanes;
        let lane = schedule.fresh_name("dietcode_lane");
        let here = first.clone().add(Expr::Var(lane.clone()));
        let of = |e: &Expr| e.substitute(name, &here);
        let over_lanes = |kind, body| Stmt::for_(lane.clone(), Expr::Int(lanes), kind, body);
        let at_lane = vec![Expr::Var(lane.clone())];
        let row = |name: String, dtype| {
            let (name, shape) = (schedule.fresh_name(&name), vec![Expr::Int(lanes)]);
            Arc::new(Buffer { name, dtype, shape, scope: Scope::Register, swizzle: 0 })
        };
        // Parts of a sum of integers stay that.
        let computes = schedule.program.computes_in();
        let stored = if self.buffer.dtype.is_integer() { self.buffer.dtype } else { computes };
        let out = row(format!("{}_out", self.buffer.name), stored);
        let mut rows: Vec<(Expr, Arc<Buffer>)> = Vec::new();
        let value = self.value.map(&mut |e| match e {
            Expr::Load(buffer, index) if buffer.scope == Scope::Global && lies_along(index, name, lanes) => {
                let known = rows.iter().find(|(load, _)| load == e).map(|(_, row)| row.clone());
                let row = known.unwrap_or_else(|| {
                    let row = row(format!("{}_in{}", buffer.name, rows.len()), buffer.dtype);
                    rows.push((e.clone(), row.clone()));
                    row
                });
                Some(Expr::Load(row, at_lane.clone()))
            }
            _ => None,
        });
        // What the epilogue reads of other tensors exists inside of them only.
        let guarded = has_load(&value);
        let kept = Stmt::Store { buffer: out.clone(), index: at_lane.clone(), value: of(&value) };
        let kept = if guarded { Stmt::if_(of(&self.guards), kept) } else { kept };
        let index = self.index.iter().map(of).collect();
        let value = Expr::Load(out.clone(), at_lane.clone());
        let stored = Stmt::if_(of(&self.guards), Stmt::Store { buffer: self.buffer.clone(), index, value });
        let reads = rows.iter().map(|(load, row)| {
            let value = Expr::select(of(&self.guards), of(load), Expr::Float(0.0));
            let read = Stmt::Store { buffer: row.clone(), index: at_lane.clone(), value };
            over_lanes(ForKind::Vectorized, read)
        });
        let kept = over_lanes(ForKind::Unrolled, kept);
        let body = Stmt::seq(reads.chain([kept, over_lanes(ForKind::Vectorized, stored)]));
        let arrays = rows.iter().map(|(_, row)| row.clone()).chain([out]);
        arrays.fold(body, |body, buffer| Stmt::Allocate { buffer, body: Box::new(body) })
    }
}

/// Whether neighbouring values of a variable are neighbours in memory, in runs of `lanes` that begin at multiples of them.
fn lies_along(index: &[Expr], name: &str, lanes: i64) -> bool {
    let Some((last, outer)) = index.split_last() else { return false };
    let Some(form) = affine(last) else { return false };
    let aligned = form.terms.iter().all(|(other, c)| **other == *name || c % lanes == 0) && form.constant % lanes == 0;
    aligned && form.coefficient(name) == 1 && !outer.iter().any(|e| e.uses(name))
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

/// The parts of streamed tiles, of constant size: for each place all sums of a tile, as the threads hold them, so that neighbouring threads
/// access neighbours; and the index of a thread's sum in its loops.
pub(crate) fn parts_of_tiles(schedule: &Schedule, stream: &StreamK) -> (Arc<Buffer>, Vec<Expr>) {
    let (thread, threads) = Loop::number(schedule.thread_loops()).expect("loops over threads are of constant extents");
    // Loops of one iteration may be there or not.
    let own = schedule.tile_dims(schedule.tile_depth()).into_iter().map(|at| &schedule.loops[at]);
    let own = own.filter(|l| l.extent != Expr::Int(1));
    let (index, extents): (Vec<Expr>, Vec<Expr>) = own.map(|l| (Expr::Var(l.name.clone()), l.extent.clone())).unzip();
    let around = |outer, inner: Vec<Expr>, last| [vec![outer], inner, vec![last]].concat();
    let buffer = Buffer {
        name: schedule.fresh_name(&format!("{}_parts", schedule.block.output.name)),
        dtype: schedule.program.sums_in(),
        shape: around(Expr::Int(stream.places()), extents, Expr::Int(threads)),
        scope: Scope::Global,
        swizzle: 0,
    };
    (Arc::new(buffer), around(stream.place(), index, thread))
}

/// The parts of a split sum: one tensor of the spatial extents for each iteration of the reductions bound to the grid,
/// and the loops that number them.
pub(crate) fn workspace(schedule: &Schedule) -> (Arc<Buffer>, Vec<Name>) {
    let split = schedule.loops.iter().filter(|l| l.is_shared_sum());
    let (which, extents): (Vec<Name>, Vec<Expr>) = split.map(|l| (l.name.clone(), l.extent.clone())).unzip();
    let spatial = schedule.block.iters_of(Role::Spatial).map(|iter| iter.extent.clone());
    let parts = Buffer {
        name: schedule.fresh_name(&format!("{}_parts", schedule.block.output.name)),
        dtype: schedule.program.sums_in(),
        shape: extents.into_iter().chain(spatial).collect(),
        scope: Scope::Global,
        swizzle: 0,
    };
    (Arc::new(parts), which)
}
