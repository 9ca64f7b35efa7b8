//! First pass: from a schedule to loops.
//!
//! It stands first because every later pass rewrites statements. What it builds is right by itself, only slow: every
//! statement that may lie outside of a tensor is guarded by a predicate, also the innermost one.
//!
//! ```text
//! for the loops outside of the tile
//!   fill the panels, choose the views         stage
//!   allocate tile
//!     initialise the tile
//!     for the loops inside                    panels and views in between
//!       if guards: tile[…] += update
//!     if guards: output[…] = epilogue(tile)
//! ```

mod cooperative;
mod cross_lane;
mod cross_thread;
mod edge_tile;
mod in_place;
mod inside;
mod place;
mod prepared;
mod prefetch;
mod raster;
mod register_cache;
mod shared;
mod stage;
mod staged_store;
mod unswitch;
mod window;
mod write_back;

use std::ops::{Mul, Sub};
use std::sync::Arc;

use dietcode_syntax::Role;

use cross_thread::CrossThread;
pub(crate) use in_place::{across_lanes, in_place, serves_lanes};
pub(crate) use inside::{Corner, Inside};
use prefetch::Shares;
use raster::Pair;
use shared::SharedStage;
pub(crate) use shared::widest_fetch;
use stage::Stage;
use staged_store::StagedStore;
use unswitch::unswitch;
pub(crate) use write_back::{parts_of_tiles, workspace};

use super::MOST_VECTORS;
use super::guard::{self, Guard};
use super::lanes;
use crate::Result;
use crate::ir::{ACC, Buffer, CompareOp, Expr, ForKind, Name, Reduction, Scope, Stmt};
use crate::schedule::{Loop, Relation, Schedule, StreamK};

/// The guarded loops of a schedule.
pub(super) fn build(schedule: &Schedule) -> Result<Stmt> {
    let builder = Builder::new(schedule)?;
    Ok(builder.lets(&[], builder.level(0)?))
}

struct Builder<'a> {
    schedule: &'a Schedule,
    guards: Vec<Guard>,
    stages: Vec<Stage>,
    shared: Vec<SharedStage>,
    /// How many loops stand around the accumulators' tile.
    tile_depth: usize,
    tile: Arc<Buffer>,
    sums: Option<Sums>,
    /// The threads that share a sum.
    cross_thread: Option<CrossThread>,
    /// Where sums change hands before they are written.
    staged_store: Option<StagedStore>,
    /// Where tiles inside have a body of their own.
    inside: Option<Inside>,
}

/// Where sums wait between the steps of the reduction loops around the tile, if the output cannot hold them.
#[derive(Clone)]
struct Sums {
    /// How many loops stand around it.
    depth: usize,
    buffer: Arc<Buffer>,
    index: Vec<Expr>,
}

impl<'a> Builder<'a> {
    fn new(schedule: &'a Schedule) -> Result<Builder<'a>> {
        let guards = guard::of(schedule);
        let inside = Inside::of(schedule, &guards)?;
        Ok(Builder { inside, ..Builder::with(schedule, guards)? })
    }

    /// What builds a body in which these guards stand.
    fn with(schedule: &'a Schedule, guards: Vec<Guard>) -> Result<Builder<'a>> {
        let stages = stage::of(schedule, &guards)?;
        let shared = shared::of(schedule, &guards)?;
        let tile_depth = schedule.tile_depth();
        let tile = tile_buffer(schedule, tile_depth)?;
        let sums = sums(schedule, tile_depth)?;
        let cross_thread = CrossThread::of(schedule, &tile);
        let staged_store = StagedStore::of(schedule, &guards)?;
        let inside = None;
        Ok(Builder { schedule, guards, stages, shared, tile_depth, tile, sums, cross_thread, staged_store, inside })
    }

    /// What stands inside of the outermost `depth` loops.
    fn level(&self, depth: usize) -> Result<Stmt> {
        let body = self.body(depth)?;
        match self.inside.as_ref().filter(|inside| inside.depth == depth) {
            Some(inside) => Ok(inside.choose(Builder::with(self.schedule, Vec::new())?.body(depth)?, body)),
            None => Ok(body),
        }
    }

    fn body(&self, depth: usize) -> Result<Stmt> {
        let body = self.loops(depth)?;
        Ok(match self.sums.as_ref().filter(|sums| sums.depth == depth) {
            Some(sums) => Stmt::Allocate { buffer: sums.buffer.clone(), body: Box::new(body) },
            None => body,
        })
    }

    fn loops(&self, depth: usize) -> Result<Stmt> {
        let loops = &self.schedule.loops;
        let inner = match &self.schedule.block.reduction {
            Some(reduction) if depth == self.tile_depth => return self.tiles(reduction),
            _ if depth == loops.len() => self.elementwise(),
            _ => self.open(depth, self.level(depth + 1)?),
        };
        Ok(self.staged(depth, inner))
    }

    /// The stages of this depth around a statement.
    fn staged(&self, depth: usize, body: Stmt) -> Stmt {
        self.staged_by(depth, body, |_| true)
    }

    /// Those of them that are of a kind.
    fn staged_by(&self, depth: usize, body: Stmt, is_meant: impl Fn(&Stage) -> bool) -> Stmt {
        let here = |in_registers: bool| {
            let own = self.stages.iter().filter(|stage| stage.depth == depth && is_meant(stage));
            own.filter(move |stage| stage.is_in_registers() == in_registers)
        };
        let around = |body, stage: &Stage| {
            let inside = |inside| self.inside_of_view(depth, &stage.dims, inside);
            stage.around(self.schedule, body, inside, |dims, leaf| {
                if stage.is_view() { self.fill_of_view(depth, dims, leaf) } else { self.nest(depth, dims, leaf) }
            })
        };
        // A thread reads its registers between the barriers, so that these stand around all that a tile is used for.
        let body = here(true).fold(body, around);
        here(false).fold(self.shared(depth, body), around)
    }

    /// The tiles in shared memory of this depth around a statement: no thread reads before all have filled, and none fills
    /// again before all have read.
    fn shared(&self, depth: usize, body: Stmt) -> Stmt {
        let here: Vec<&SharedStage> = self.shared.iter().filter(|stage| stage.depth == depth).collect();
        if here.is_empty() {
            return body;
        }
        let fills = here.iter().map(|stage| stage.fill(self.schedule));
        let body = Stmt::seq(fills.chain([Stmt::Sync, body, Stmt::Sync]));
        let allocate =
            |body, stage: &&SharedStage| Stmt::Allocate { buffer: stage.target.clone(), body: Box::new(body) };
        here.iter().rev().fold(body, allocate)
    }

    /// A loop of the schedule around a statement, with the `let`s that it completes.
    fn open(&self, at: usize, body: Stmt) -> Stmt {
        let l = &self.schedule.loops[at];
        let bound: Vec<Name> = self.schedule.loops[..=at].iter().map(|l| l.name.clone()).collect();
        let mut shares = Shares::default();
        if at + 1 == self.tile_depth {
            shares = Shares::of(self.schedule, self.tile_depth);
        }
        let asked = prefetch::of(self.schedule, &self.guards, at);
        let body = shares.before(Stmt::seq(asked.into_iter().chain([body])));
        // The parts of a loop over tasks are bound inside of it.
        let (body, shares) = if l.kind == ForKind::Serial { (body, Some(shares)) } else { (shares.around(body), None) };
        let body = self.lets(&bound, body);
        let body = Stmt::for_(l.name.clone(), self.schedule.iterations(at), l.kind, body);
        shares.into_iter().fold(body, |body, shares| shares.around(body))
    }

    /// The given loops inside of the outermost `depth` around a statement, serial.
    fn nest(&self, depth: usize, dims: &[usize], leaf: Stmt) -> Stmt {
        self.nest_of(depth, dims, |at| self.schedule.iterations(at), leaf)
    }

    /// The same with other numbers of iterations.
    fn nest_of(&self, depth: usize, dims: &[usize], iterations: impl Fn(usize) -> Expr, leaf: Stmt) -> Stmt {
        let mut bound: Vec<Name> = self.schedule.loops[..depth].iter().map(|l| l.name.clone()).collect();
        bound.extend(dims.iter().map(|&at| self.schedule.loops[at].name.clone()));
        dims.iter().rev().fold(leaf, |body, &at| {
            let l = &self.schedule.loops[at];
            let body = self.lets(&bound, body);
            bound.pop();
            let lanes = l.kind == ForKind::Vectorized && l.role == Role::Spatial;
            let kind = if lanes { l.kind } else { ForKind::Serial };
            Stmt::for_(l.name.clone(), iterations(at), kind, body)
        })
    }

    /// Binds what fused loops stand for, and where steps begin whose size is known at run time only, right inside of the last loop
    /// that it takes.
    fn lets(&self, bound: &[Name], body: Stmt) -> Stmt {
        let schedule = self.schedule;
        schedule.relations.iter().fold(body, |body, relation| {
            let of = match relation {
                Relation::Stream(stream) => return self.shares(stream, bound, body),
                Relation::Fuse { fused, .. } => fused,
                Relation::Split { outer, start: Some(_), .. } => outer,
                Relation::Split { .. } => return body,
            };
            let value = schedule.in_loops(&Expr::Var(of.clone()));
            let parts = || schedule.loops.iter().filter(|l| value.uses(&l.name));
            let complete = parts().all(|l| bound.contains(&l.name));
            if !complete || !bound.last().is_some_and(|last| value.uses(last)) {
                return body;
            }
            match relation {
                Relation::Split { outer, factor, start, .. } => start.iter().fold(body, |body, start| {
                    let value = schedule.unsplit(&Expr::Var(outer.clone())).mul(factor.clone());
                    Stmt::Let { var: start.clone(), value, body: Box::new(body) }
                }),
                Relation::Fuse { fused, outer, inner, extents, raster, .. } => {
                    let fused = schedule.unsplit(&Expr::Var(fused.clone()));
                    let mut extents = extents.each_ref().map(|extent| schedule.unsplit(extent));
                    let steps = schedule.stream().and_then(|stream| stream.innermost(&stream.step));
                    let runs = |at: usize| {
                        schedule.runs_at_least_once(at) || steps.is_some_and(|steps| *steps == schedule.loops[at].name)
                    };
                    if (0..schedule.loops.len()).any(|at| value.uses(&schedule.loops[at].name) && runs(at)) {
                        // The loop runs although there may be nothing to sum, and nothing is divided by zero.
                        extents = extents.map(|extent| extent.max(Expr::Int(1)));
                    }
                    raster::bind(schedule, &Pair { names: [outer, inner], extents, raster: *raster }, &fused, body)
                }
                Relation::Stream(_) => body,
            }
        })
    }

    /// Binds what is known of shares of the steps of tiles, inside of the last of the loops.
    fn shares(&self, stream: &StreamK, bound: &[Name], body: Stmt) -> Stmt {
        let lets = bound.last().map(|last| stream.lets(last, &|e| self.schedule.unsplit(e))).unwrap_or_default();
        lets.into_iter().rev().fold(body, |body, (var, value)| Stmt::Let { var, value, body: Box::new(body) })
    }

    /// The leaf of a block without a reduction.
    fn elementwise(&self) -> Stmt {
        let block = &self.schedule.block;
        let value = self.schedule.unsplit(&block.epilogue);
        Stmt::if_(guard::all(&self.guards), self.store_output(value))
    }

    fn store_output(&self, value: Expr) -> Stmt {
        let block = &self.schedule.block;
        let index = block.output_index.iter().map(|e| self.schedule.unsplit(e)).collect();
        Stmt::Store { buffer: block.output.clone(), index, value }
    }

    /// The accumulators' tile: initialised, summed, written back.
    fn tile_nest(&self, reduction: &Reduction) -> Stmt {
        let init = self.over_tile(self.store_tile(self.start(reduction)));
        let update = self.update_inside_and_at_edges(reduction);
        let body = if self.schedule.decomposed { vec![init, update] } else { vec![update] };
        let part = self.part_of_tile();
        let write_back = Stmt::seq(part.into_iter().chain([self.write_back(reduction)]));
        let write_back = match &self.cross_thread {
            Some(threads) => threads.meet(reduction, &self.tile_index(), &|leaf| self.over_tile(leaf), write_back),
            None => write_back,
        };
        let body = body.into_iter().chain([write_back]);
        Stmt::Allocate { buffer: self.tile.clone(), body: Box::new(Stmt::seq(body)) }
    }

    /// What the tile starts with: a constant. An init that reads tensors is combined with the tile when that is written back,
    /// where the output's guards stand anyway.
    fn start(&self, reduction: &Reduction) -> Expr {
        let shared = self.cross_thread.is_some() || self.schedule.lanes_share_sum();
        let parts = self.schedule.rfactor.is_some() || self.schedule.stream().is_some();
        let whole = self.partial().is_none() && !parts && !shared;
        match reduction.init {
            Expr::Float(value) if whole => Expr::Float(value),
            _ => reduction.identity(),
        }
    }

    /// The loops inside of the tile, with the sum in the middle.
    fn update(&self, depth: usize, reduction: &Reduction) -> Stmt {
        let body = if depth == self.schedule.loops.len() {
            self.accumulate(reduction)
        } else {
            self.open(depth, self.update(depth + 1, reduction))
        };
        // The stages at the tile's own depth stand around the whole of it.
        if depth == self.tile_depth { body } else { self.staged(depth, body) }
    }

    fn accumulate(&self, reduction: &Reduction) -> Stmt {
        let update = self.stages.iter().fold(reduction.update.clone(), |e, stage| stage.redirect(&e));
        let update = self.shared.iter().fold(update, |e, stage| stage.redirect(&e));
        let (update, guards) = in_place(self.schedule, &self.guards, &update);
        let update = prepared::read(self.schedule, &self.guards, &update);
        let tile = Expr::Load(self.tile.clone(), self.tile_index());
        let combined = reduction.combine(tile, self.schedule.unsplit(&update));
        let combine = Stmt::if_(guard::all(guards), self.store_tile(combined));
        if self.schedule.decomposed {
            return combine;
        }
        let dims = self.schedule.tile_dims(self.tile_depth);
        let inner = (self.tile_depth..self.schedule.loops.len()).filter(|at| !dims.contains(at));
        let first = inner.fold(Expr::Int(1), |all, at| all.and(is(&self.schedule.loops[at].name, Expr::Int(0))));
        Stmt::seq([Stmt::if_(first, self.store_tile(self.start(reduction))), combine])
    }

    fn spatial_guards(&self) -> Expr {
        guard::all(self.guards.iter().filter(|guard| guard.role == Role::Spatial))
    }

    fn tile_index(&self) -> Vec<Expr> {
        index(self.schedule, &self.schedule.tile_dims(self.tile_depth))
    }

    fn store_tile(&self, value: Expr) -> Stmt {
        Stmt::Store { buffer: self.tile.clone(), index: self.tile_index(), value }
    }

    /// The loops that are the tile's dimensions, as they are scheduled.
    fn over_tile(&self, leaf: Stmt) -> Stmt {
        self.scheduled(&self.schedule.tile_dims(self.tile_depth), leaf)
    }

    /// Loops of constant extents around a statement, as they are scheduled.
    fn scheduled(&self, dims: &[usize], leaf: Stmt) -> Stmt {
        dims.iter().rev().fold(leaf, |body, &at| {
            let l = &self.schedule.loops[at];
            Stmt::for_(l.name.clone(), l.extent.clone(), l.kind, body)
        })
    }

    /// The reduction loops around the tile: whether this is their first step, and whether it is their last.
    fn partial(&self) -> Option<(Expr, Expr)> {
        let loops = &self.schedule.loops;
        let outer: Vec<usize> = (0..self.tile_depth).filter(|&at| loops[at].is_step()).collect();
        let all = |value: &dyn Fn(usize) -> Expr| {
            outer.iter().fold(Expr::Int(1), |all, &at| all.and(is(&self.schedule.loops[at].name, value(at))))
        };
        (!outer.is_empty()).then(|| (all(&|_| Expr::Int(0)), all(&|at| self.schedule.iterations(at).sub(Expr::Int(1)))))
    }

    /// Where a block has only some of a tile's steps, it leaves its sums for another kernel, each thread its own next to those of its
    /// neighbours.
    fn part_of_tile(&self) -> Option<Stmt> {
        let schedule = self.schedule;
        let stream = schedule.stream()?;
        let leaves = stream.leaves_part(&|e| schedule.unsplit(e))?;
        let (buffer, index) = parts_of_tiles(schedule, stream);
        let value = Expr::Load(self.tile.clone(), self.tile_index());
        let store = self.over_tile(Stmt::Store { buffer, index, value });
        Some(Stmt::if_(leaves, store))
    }

    /// From the tile to the output: right from the registers of a thread of a GPU, or of vectors along the loop along which the output
    /// is contiguous; else through memory, so that this loop can stand innermost.
    fn write_back(&self, reduction: &Reduction) -> Stmt {
        if let Some(staged) = &self.staged_store {
            return staged.write_back(self, reduction);
        }
        if self.schedule.is_gpu() {
            let from_tile = Expr::Load(self.tile.clone(), self.tile_index());
            return self.finish(reduction, &from_tile, &|leaf| {
                write_back::over_registers(self.schedule, self.tile_depth, leaf)
            });
        }
        if let Some(stores) = self.write_back_vectors(reduction) {
            return stores;
        }
        let dims = spatial_dims(self.schedule, self.tile_depth);
        let extents = dims.iter().map(|&at| self.schedule.loops[at].extent.clone());
        let spill = Arc::new(Buffer {
            name: self.schedule.fresh_name(&format!("{}_out", self.schedule.block.output.name)),
            shape: extents.collect(),
            ..(*self.tile).clone()
        });
        let over = |dims: &[usize], leaf| self.scheduled(dims, leaf);
        let copy = cross_lane::meet(self.schedule, reduction, (&self.tile, self.tile_depth), (&spill, &dims), &over);
        let sum = Expr::Load(spill.clone(), index(self.schedule, &dims));
        let stores = self.finish(reduction, &sum, &|leaf| self.over_output(leaf));
        Stmt::Allocate { buffer: spill, body: Box::new(Stmt::seq([copy, stores])) }
    }

    /// Stores the tile's vectors as they are in registers, if it is in registers, and all of its stores are of vectors.
    fn write_back_vectors(&self, reduction: &Reduction) -> Option<Stmt> {
        let dims = self.schedule.tile_dims(self.tile_depth);
        let (lane, rows) = dims.split_last().map(|(at, rows)| (&self.schedule.loops[*at], rows))?;
        let is_unrolled = |at: &usize| self.schedule.loops[*at].kind == ForKind::Unrolled;
        let vectors: i64 = rows.iter().filter_map(|at| self.schedule.loops[*at].extent.as_int()).product();
        let of_vectors = lane.kind == ForKind::Vectorized && rows.iter().all(is_unrolled) && vectors <= MOST_VECTORS;
        if !of_vectors || self.schedule.lanes_share_sum() || self.sums.is_some() {
            return None;
        }
        let sum = Expr::Load(self.tile.clone(), self.tile_index());
        let stores = self.finish(reduction, &sum, &|leaf| self.over_tile(leaf));
        let mut are_vectors = true;
        stores.visit(&mut |stmt| {
            if let Stmt::Store { value, .. } = stmt {
                // The text of a function is long, and each vector would have it.
                let calls = value.any(&mut |e| matches!(e, Expr::Call(..)));
                are_vectors &= !calls && lanes::can_be_masked(stmt, &lane.name) && lanes::is_plain(stmt, &lane.name);
            }
        });
        are_vectors.then_some(stores)
    }

    /// What becomes of the sums: the epilogue's values, or parts that meet elsewhere.
    fn finish(&self, reduction: &Reduction, sum: &Expr, over: &dyn Fn(Stmt) -> Stmt) -> Stmt {
        let block = &self.schedule.block;
        if let Some(combine) = self.schedule.rfactor {
            let part = write_back::part(self.schedule, combine, sum.clone());
            return over(Stmt::if_(self.spatial_guards(), part));
        }
        let from_start = |start: Expr| {
            if start == reduction.identity() { sum.clone() } else { reduction.combine(start, sum.clone()) }
        };
        let computes = self.schedule.program.computes_in();
        let finish = |value: &Expr| {
            let value = match reduction.dtype == computes {
                true => value.clone(),
                false => Expr::Cast(computes, Arc::new(value.clone())),
            };
            let epilogue = self.schedule.unsplit(&block.epilogue);
            epilogue.map(&mut |e| matches!(e, Expr::Var(name) if &**name == ACC).then(|| value.clone()))
        };
        let stream = self.schedule.stream();
        let writes = stream.map_or(Expr::Int(1), |stream| stream.writes(&|e| self.schedule.unsplit(e)));
        let store = |value: Expr| {
            let all = unswitch(&value, &|value| over(Stmt::if_(self.spatial_guards(), self.store_output(value))));
            Stmt::if_(writes.clone(), all)
        };
        match self.partial() {
            None if self.start(reduction) == reduction.init => store(finish(sum)),
            None => store(finish(&from_start(self.schedule.unsplit(&reduction.init)))),
            Some((first, last)) => {
                let (buffer, index) = match &self.sums {
                    Some(sums) => (sums.buffer.clone(), sums.index.clone()),
                    None => {
                        let index = block.output_index.iter().map(|e| self.schedule.unsplit(e));
                        (block.output.clone(), index.collect())
                    }
                };
                let so_far = Expr::Load(buffer.clone(), index.clone());
                let wait = |value: Expr| match self.sums {
                    // It has a place also for what lies outside of the output, where tensors have no elements to start with.
                    Some(_) => {
                        let guards = if reads_tensor(&value) { self.spatial_guards() } else { Expr::Int(1) };
                        over(Stmt::if_(guards, Stmt::Store { buffer: buffer.clone(), index: index.clone(), value }))
                    }
                    None => store(value),
                };
                let from =
                    |start: Expr| if_else(&last, store(finish(&from_start(start.clone()))), wait(from_start(start)));
                if_else(&first, from(self.schedule.unsplit(&reduction.init)), from(so_far))
            }
        }
    }

    /// The spatial loops of the tile, in the order in which the output lies in memory.
    fn over_output(&self, leaf: Stmt) -> Stmt {
        let schedule = self.schedule;
        let last = schedule.block.output_index.last().map(|e| schedule.in_loops(e));
        let contiguous = |at: &usize| last.as_ref().is_some_and(|e| e.uses(&schedule.loops[*at].name));
        let (inner, outer): (Vec<usize>, Vec<usize>) =
            spatial_dims(schedule, self.tile_depth).into_iter().partition(contiguous);
        self.nest(self.tile_depth, &[outer, inner].concat(), leaf)
    }
}

/// Partial sums wait in the output, unless it cannot hold them: in one of a narrower type they would be rounded at each step, and one
/// that the epilogue reads must still hold what it held before. There they get a panel.
fn sums(schedule: &Schedule, tile_depth: usize) -> Result<Option<Sums>> {
    let output = &schedule.block.output;
    let outermost = schedule.loops[..tile_depth].iter().position(Loop::is_step);
    let why = match (output.dtype != schedule.program.sums_in(), reads(&schedule.block.epilogue, output)) {
        (true, _) => format!("has elements of {} bits", 8 * output.dtype.bytes()),
        (_, true) => "is read by the epilogue".to_owned(),
        _ => return Ok(None),
    };
    let Some(depth) = outermost else { return Ok(None) };
    let dims = spatial_dims(schedule, depth);
    if let Some(&at) = dims.iter().find(|&&at| schedule.loops[at].limit.is_none()) {
        return Err(crate::Error::input(format!(
            "`{}` {why}, so that partial sums wait in a panel; but its extent along `{}` is not constant",
            output.name, schedule.loops[at].name
        )));
    }
    let buffer = Buffer {
        name: schedule.fresh_name(&format!("{}_sums", output.name)),
        dtype: schedule.program.sums_in(),
        shape: dims.iter().filter_map(|&at| schedule.loops[at].limit.clone()).collect(),
        scope: Scope::Panel,
        swizzle: 0,
    };
    Ok(Some(Sums { depth, buffer: Arc::new(buffer), index: index(schedule, &dims) }))
}

fn reads(e: &Expr, tensor: &Arc<Buffer>) -> bool {
    let mut found = false;
    e.visit(&mut |e| found |= matches!(e, Expr::Load(buffer, _) if buffer == tensor));
    found
}

fn reads_tensor(e: &Expr) -> bool {
    let mut found = false;
    e.visit(&mut |e| {
        found |= matches!(e, Expr::Load(buffer, _) if buffer.scope == Scope::Global && !buffer.is_scalar());
    });
    found
}

fn spatial_dims(schedule: &Schedule, depth: usize) -> Vec<usize> {
    (depth..schedule.loops.len()).filter(|&at| schedule.loops[at].role == Role::Spatial).collect()
}

fn index(schedule: &Schedule, dims: &[usize]) -> Vec<Expr> {
    dims.iter().map(|&at| Expr::Var(schedule.loops[at].name.clone())).collect()
}

/// The accumulators, on the stack until a later pass finds that they fit into registers.
fn tile_buffer(schedule: &Schedule, depth: usize) -> Result<Arc<Buffer>> {
    let output = &schedule.block.output;
    let name = schedule.cache_write.as_ref().map(|tile| tile.name.clone());
    let tile = Buffer {
        name: name.unwrap_or_else(|| schedule.fresh_name(&format!("{}_tile", output.name))),
        dtype: schedule.program.sums_in(),
        shape: schedule.tile_dims(depth).iter().map(|&at| schedule.loops[at].extent.clone()).collect(),
        scope: Scope::Local,
        swizzle: 0,
    };
    const STACK: i64 = 64 << 10;
    match tile.bytes() {
        Some(bytes) if bytes <= STACK => Ok(Arc::new(tile)),
        _ => Err(crate::Error::input(format!(
            "the tile `{tile}` is larger than the {STACK} bytes that the stack is asked for"
        ))),
    }
}

fn is(name: &Name, value: Expr) -> Expr {
    Expr::compare(CompareOp::Eq, Expr::Var(name.clone()), value)
}

fn if_else(condition: &Expr, then: Stmt, otherwise: Stmt) -> Stmt {
    if then == otherwise {
        return then;
    }
    Stmt::IfThenElse { condition: condition.clone(), then: Box::new(then), otherwise: Some(Box::new(otherwise)) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schedule::Tail;
    use crate::testing::program;

    #[test]
    fn sums_that_wait_in_a_panel_start_with_elements_that_exist() {
        let text = "#[dynamic_kernel] fn f(x: &[[f32; K]; M], bias: &[f32; M], y: &mut [f32; M]) {
            for i in 0..M { let mut acc = bias[i]; for k in 0..K { acc += x[i][k]; } y[i] = acc + y[i]; } }";
        let program = program(text);
        let mut schedule = Schedule::new(&program, &program.blocks[0]);
        let mut scheduled = || {
            schedule.split("i", 4, Tail::Pad, ["i_0", "i_t"])?;
            schedule.split("k", 8, Tail::Clip, ["k_0", "k_1"])?;
            schedule.reorder(&["i_0", "k_0", "k_1", "i_t"])?;
            let tile = schedule.cache_write()?;
            schedule.compute_at(&tile, Some("k_0"))?;
            schedule.decompose_reduction()
        };
        scheduled().expect("the schedule is legal");
        let text = build(&schedule).expect("the schedule is complete").to_string();
        let lines: Vec<&str> = text.lines().collect();
        let starts = lines.iter().position(|line| line.contains("y_sums[") && line.contains("= bias["));
        let guard = lines[starts.unwrap_or_else(|| panic!("{text}")) - 1];
        assert!(guard.trim_start().starts_with("if ") && guard.contains("< M"), "{text}");
    }
}
