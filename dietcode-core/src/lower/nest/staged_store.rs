//! Stores through shared memory: what the threads of a block have summed changes hands before it is written.
//!
//! ```text
//! allocate y_shared [row][column + pad]
//!   for i_m in 0..4                                                  the loop whose iterations follow each other
//!     for j_n, i_h, j_p: y_shared[row][column] = tile[i_m][…]        each thread its own sums
//!     barrier
//!     for f: let row, column                                         cooperative: neighbouring threads, neighbouring vectors
//!       for v in 0..8: out[v] = epilogue(y_shared[row][column + v])
//!       y[…][…] = copy out[0], N − … of 8 lanes
//!     barrier
//! ```
//!
//! A dimension is a run of the output's elements that threads and their loops count together. Where the output's index has these loops,
//! on the way out it has the run's coordinate in place of the finest, and 0 in place of the others.

use std::ops::{Add, Mul};
use std::sync::Arc;

use super::Builder;
use super::cooperative::Cooperative;
use super::write_back::GuardedStore;
use crate::ir::{Buffer, Expr, Name, Reduction, Scope, Stmt, affine};
use crate::lower::guard::Guard;
use crate::schedule::{Loop, Schedule, StoreRun, StoreTile};
use crate::{Error, Result};

/// The copy in shared memory, and who fills and empties it.
pub(super) struct StagedStore {
    tile: StoreTile,
    /// A coordinate for each dimension of the tile.
    coordinates: Vec<Name>,
    buffer: Arc<Buffer>,
    /// The number of a thread in its block, and how many there are.
    threads: (Expr, i64),
}

impl StagedStore {
    /// What a schedule asks for, if it does.
    ///
    /// # Errors
    /// What [`crate::schedule::Schedule::stage_store`] does not fit together with.
    pub(super) fn of(schedule: &Schedule, guards: &[Guard]) -> Result<Option<StagedStore>> {
        let Some(pad) = schedule.store_pad else { return Ok(None) };
        let refuse = |why: &str| Error::input(format!("schedule of `{}`: stage_store: {why}", schedule.block.name));
        let threads = Loop::number(schedule.thread_loops()).filter(|_| schedule.is_gpu());
        let threads = threads.ok_or_else(|| refuse("no loop is bound to threads"))?;
        let tile = schedule.store_tile().map_err(|why| refuse(&why))?;
        let (row, lanes) = (tile.runs.last().map_or(1, |run| run.extent), schedule.store_lanes);
        if row % lanes != 0 || pad % lanes.min(4) != 0 {
            return Err(refuse(&format!("rows of {row} sums and {pad} elements of padding are no vectors of {lanes}")));
        }
        if let Some(guard) = guards.iter().find(|guard| tile.runs.iter().any(|run| cuts(guard, run))) {
            let (value, extent) = (&guard.value, &guard.extent);
            return Err(refuse(&format!("`{value} < {extent}` cuts through it; its inner splits must divide it")));
        }
        let name = schedule.fresh_name(&format!("{}_shared", schedule.block.output.name));
        let coordinates: Vec<Name> =
            (0..tile.runs.len()).map(|at| schedule.fresh_name(&format!("{name}_{at}"))).collect();
        let mut shape: Vec<Expr> = tile.runs.iter().map(|run| Expr::Int(run.extent)).collect();
        if let Some(row) = shape.last_mut() {
            *row = row.clone().add(Expr::Int(pad));
        }
        let buffer =
            Arc::new(Buffer { name, dtype: schedule.program.sums_in(), shape, scope: Scope::Shared, swizzle: 0 });
        Ok(Some(StagedStore { tile, coordinates, buffer, threads }))
    }

    /// Each thread leaves its sums, in the loops of its tile but one.
    fn fill(&self, builder: &Builder<'_>) -> Stmt {
        let place = |run: &StoreRun| {
            let digit = |(name, step): &(Name, i64)| Expr::Var(name.clone()).mul(Expr::Int(step / run.stride));
            run.loops.iter().map(digit).fold(Expr::Int(0), Expr::add)
        };
        let place = self.tile.runs.iter().map(place).collect();
        let value = Expr::Load(builder.tile.clone(), builder.tile_index());
        builder.scheduled(&self.tile.rest, Stmt::Store { buffer: self.buffer.clone(), index: place, value })
    }

    /// A sum as it lies there.
    fn sum(&self) -> Expr {
        Expr::Load(self.buffer.clone(), self.coordinates.iter().cloned().map(Expr::Var).collect())
    }

    /// The threads take rows, in which `leaf` stores one element.
    fn empty(&self, schedule: &Schedule, leaf: Stmt) -> Stmt {
        let runs = || self.tile.runs.iter().zip(&self.coordinates);
        let places = runs().flat_map(|(run, coordinate)| {
            let value = |name| if name == run.finest() { Expr::Var(coordinate.clone()) } else { Expr::Int(0) };
            run.loops.iter().map(move |(name, _)| (name, value(name)))
        });
        let leaf = places.fold(leaf, |leaf, (name, value)| leaf.substitute(name, &value));
        let column = self.coordinates.last().expect("a tile has rows");
        let store = GuardedStore::of(leaf.clone());
        let by_vectors =
            store.filter(|store| schedule.store_lanes > 1 && store.lies_along(column, schedule.store_lanes));
        let (lanes, body) = match by_vectors {
            Some(store) => (schedule.store_lanes, store.by_vectors(schedule, column, &Expr::Var(column.clone()))),
            None => (1, leaf),
        };
        let dims = runs().map(|(run, coordinate)| (coordinate.clone(), run.extent)).collect();
        let [step, element] = ["f", "e"].map(|part| schedule.fresh_name(&format!("{}_{part}", self.buffer.name)));
        Cooperative { threads: &self.threads, dims, lanes, step, element }.around(body)
    }

    /// The write-back of a thread's tile.
    pub(super) fn write_back(&self, builder: &Builder<'_>, reduction: &Reduction) -> Stmt {
        let schedule = builder.schedule;
        let stores = builder.finish(reduction, &self.sum(), &|leaf| self.empty(schedule, leaf));
        let body = Stmt::seq([self.fill(builder), Stmt::Sync, stores, Stmt::Sync]);
        let body = builder.scheduled(self.tile.part.as_slice(), body);
        Stmt::Allocate { buffer: self.buffer.clone(), body: Box::new(body) }
    }
}

/// Whether a guard does not count a run's elements as the run does, so that it says nothing of one that is known by its coordinate.
fn cuts(guard: &Guard, run: &StoreRun) -> bool {
    let uses = run.loops.iter().any(|(name, _)| guard.value.uses(name));
    let counts = affine(&guard.value).is_some_and(|form| {
        let step = form.coefficient(run.finest());
        run.loops.iter().all(|(name, coefficient)| form.coefficient(name) * run.stride == step * coefficient)
    });
    uses && !counts
}
