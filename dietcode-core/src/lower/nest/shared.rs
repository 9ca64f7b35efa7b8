//! Tiles in shared memory: laid out by the block's iteration variables, filled by all threads of a block together.
//!
//! ```text
//! for f in 0..steps                                               cooperative fetch: `cooperative`
//!   let c_i, c_k                                                  neighbours in the tensor go to neighbouring threads
//!     vectorized v in 0..4
//!       if guards: x_shared[c_k + v][c_i] = x[i_b·64 + c_i][k_0·8 + c_k + v]
//! ```
//!
//! Unlike a panel, a tile is a box of iteration variables: which loops a thread runs, and which of them are threads, does
//! not matter to it. A sliding window (`w + s`) becomes a dimension of its own, as `im2col` would lay it out.

use std::ops::{Add, Mul};
use std::sync::Arc;

use dietcode_syntax::Role;

use super::cooperative::Cooperative;
use super::place::Place;
use crate::ir::{Buffer, DType, Expr, ForKind, Name, Scope, Stmt, affine};
use crate::lower::guard::{self, Guard};
use crate::schedule::{CacheRead, Loop, Schedule, SharedTile, Staging};
use crate::{Error, Result};

/// A tile in shared memory: where it stands, what it holds.
pub(super) struct SharedStage {
    pub(super) depth: usize,
    /// What the reduction reads instead.
    pub(super) target: Arc<Buffer>,
    source: Arc<Buffer>,
    read: CacheRead,
    tile: SharedTile,
    /// In the order in which neighbours lie in the tensor, the contiguous one last.
    dims: Vec<Dim>,
    /// The iteration variables over which the tile does not extend, with their values.
    fixed: Vec<(Name, Expr)>,
    guards: Vec<Guard>,
    /// The number of a thread in its block, and how many there are.
    threads: (Expr, i64),
}

/// An iteration variable over which the tile extends: `outside + inside`, where `inside` is in `0..extent`.
struct Dim {
    root: Name,
    role: Role,
    extent: i64,
    outside: Expr,
    inside: Expr,
    /// Its coordinate while the tile is filled.
    coordinate: Name,
}

/// The tiles of a schedule in shared memory.
pub(super) fn of(schedule: &Schedule, guards: &[Guard]) -> Result<Vec<SharedStage>> {
    let shared = schedule.cache_reads.iter().filter_map(|read| match read.staging {
        Staging::Shared(tile) => Some((read, tile)),
        _ => None,
    });
    shared.map(|(read, tile)| stage(schedule, read, tile, guards)).collect()
}

fn stage(schedule: &Schedule, read: &CacheRead, tile: SharedTile, guards: &[Guard]) -> Result<SharedStage> {
    let refuse = |why: String| Error::input(format!("schedule of `{}`: `{}`: {why}", schedule.block.name, read.name));
    let depth = read.depth.unwrap_or(schedule.loops.len());
    let place = Place { schedule, depth };
    let source = schedule.program.params.iter().find(|param| param.name == read.buffer).cloned();
    let source = source.ok_or_else(|| refuse(format!("there is no tensor `{}`", read.buffer)))?;
    let threads = Loop::number(schedule.thread_loops()).filter(|_| schedule.is_gpu());
    let threads = threads.ok_or_else(|| refuse("no loop is bound to threads".into()))?;
    if let Some(l) = schedule.loops[depth..].iter().find(|l| l.kind == ForKind::ThreadIdx) {
        return Err(refuse(format!("it stands outside of the loop over threads `{}`, all of which fill it", l.name)));
    }
    let mut dims = Vec::new();
    let mut fixed = Vec::new();
    for iter in schedule.block.iters.iter().filter(|iter| read.index.iter().any(|e| e.uses(&iter.name))) {
        let root = &iter.name;
        let value = schedule.unsplit(&Expr::Var(root.clone()));
        let extent = place.extent_inside(root);
        let extent =
            extent.ok_or_else(|| refuse(format!("its extent along `{root}` is no constant; split the loop")))?;
        let outside = place.outside(&value);
        if extent == 1 {
            fixed.push((root.clone(), outside));
        } else {
            let coordinate = schedule.fresh_name(&format!("{}_{root}", read.name));
            dims.push(Dim {
                root: root.clone(),
                role: iter.role,
                extent,
                outside,
                inside: place.inside(&value),
                coordinate,
            });
        }
    }
    // Sorting is stable; of two variables in one index, the spatial one moves on to the next row later.
    dims.sort_by_key(|dim| (read.index.iter().rposition(|e| e.uses(&dim.root)), dim.role == Role::Spatial));
    check_size(&dims, tile, source.dtype).map_err(refuse)?;
    let relevant = guards.iter().filter(|g| read.index.iter().any(|e| e.uses(&g.root)));
    let taken = guard::taken(schedule, &read.index);
    let guards = place.guards(relevant.chain(&taken)).map_err(refuse)?;
    let (name, dtype) = (read.name.clone(), source.dtype);
    let target = Buffer { name, dtype, shape: Vec::new(), scope: Scope::Shared, swizzle: tile.swizzle };
    let mut stage =
        SharedStage { depth, target: Arc::new(target), source, read: read.clone(), tile, dims, fixed, guards, threads };
    stage.check_vector().map_err(refuse)?;
    stage.check_swizzle().map_err(refuse)?;
    let mut shape: Vec<i64> = stage.layout().iter().map(|dim| dim.extent).collect();
    let row = shape.split_off(stage.rows()).into_iter().product::<i64>();
    shape.push(if stage.dims.is_empty() { 1 } else { row + tile.pad });
    let shape = shape.into_iter().map(Expr::Int).collect();
    stage.target = Arc::new(Buffer { shape, ..(*stage.target).clone() });
    Ok(stage)
}

/// The widest vectors, at most of `most` lanes, by which a tile can be filled, if each thread then has one at least; else one.
///
/// # Errors
/// A tile whose extents are no constants.
pub(crate) fn widest_fetch(schedule: &Schedule, read: &CacheRead, most: i64) -> Result<i64> {
    let Staging::Shared(tile) = read.staging else { return Ok(1) };
    let single = SharedTile { vector: 1, ..tile };
    let mut stage = stage(schedule, read, single, &guard::of(schedule))?;
    let elements: i64 = stage.dims.iter().map(|dim| dim.extent).product();
    let mut fits = |lanes: &i64| {
        stage.tile.vector = *lanes;
        let is_legal = stage.check_vector().and_then(|()| stage.check_swizzle()).is_ok();
        *lanes <= most && elements / lanes >= stage.threads.1 && is_legal
    };
    Ok([16, 8, 4, 2].into_iter().find(|lanes| fits(lanes)).unwrap_or(1))
}

/// Sizes are computed with without further care: they are far below what a number holds. What the device has is less.
fn check_size(dims: &[Dim], tile: SharedTile, dtype: DType) -> Result<(), String> {
    const MOST_BYTES: i64 = 1 << 30;
    let row = 1 + tile.pad;
    let bytes = dims.iter().try_fold(row * dtype.bytes(), |bytes, dim| bytes.checked_mul(dim.extent));
    match bytes {
        Some(bytes) if bytes <= MOST_BYTES => Ok(()),
        _ => {
            let extents: Vec<String> = dims.iter().map(|dim| dim.extent.to_string()).collect();
            Err(format!("a tile of {} elements is larger than any shared memory", extents.join(" × ")))
        }
    }
}

impl SharedStage {
    /// The dimensions of the tile, outermost first.
    fn layout(&self) -> Vec<&Dim> {
        let mut dims: Vec<&Dim> = self.dims.iter().collect();
        if self.tile.reduce_outside {
            dims.sort_by_key(|dim| dim.role == Role::Spatial);
        }
        dims
    }

    /// Lanes are neighbours in the tensor, at an address that is a multiple of their width if the rows' addresses are.
    fn check_vector(&self) -> Result<(), String> {
        let lanes = self.tile.vector;
        if lanes == 1 {
            return Ok(());
        }
        let Some(last) = self.dims.last() else { return Err("a single element is no vector".into()) };
        let only_last = |e: &Expr| {
            let form = affine(e)?;
            let alone = form.terms.iter().all(|(name, c)| **name == *last.root && *c == 1);
            Some(alone && form.coefficient(&last.root) == 1 && form.constant % lanes == 0)
        };
        let (contiguous, outer) = self.read.index.split_last().ok_or("a scalar has no vectors")?;
        if only_last(contiguous) != Some(true) || outer.iter().any(|e| e.uses(&last.root)) {
            return Err(format!("vectors of {lanes}: `{contiguous}` is not an aligned run of neighbours"));
        }
        if last.extent % lanes != 0 {
            return Err(format!("vectors of {lanes} do not divide its {} elements along `{}`", last.extent, last.root));
        }
        let row = last.extent + self.tile.pad;
        if self.layout().last().is_some_and(|dim| dim.root == last.root) && row % lanes != 0 {
            return Err(format!("vectors of {lanes} do not divide its rows of {row} elements, padding included"));
        }
        Ok(())
    }

    /// What is copied at once stays together, as it lies in a row.
    fn check_swizzle(&self) -> Result<(), String> {
        let chunk = self.target.swizzle;
        let Some(row) = self.layout().last().map(|dim| (dim.root.clone(), dim.extent)).filter(|_| chunk > 0) else {
            return Ok(());
        };
        if row.1 % chunk != 0 {
            return Err(format!("swizzled by {chunk}: that does not divide its rows of {} elements", row.1));
        }
        let along = self.dims.last().is_some_and(|last| last.root == row.0);
        if self.tile.vector > if along { chunk } else { 1 } {
            let vector = self.tile.vector;
            return Err(format!("swizzled by {chunk}: vectors of {vector} elements lie across its rows or are longer"));
        }
        Ok(())
    }

    /// Reads the tile where the tensor was read.
    pub(super) fn redirect(&self, e: &Expr) -> Expr {
        e.map(&mut |e| match e {
            Expr::Load(buffer, index) if *buffer == self.source && *index == self.read.index => {
                Some(Expr::Load(self.target.clone(), self.index(|dim| dim.inside.clone())))
            }
            _ => None,
        })
    }

    fn index(&self, of: impl Fn(&Dim) -> Expr) -> Vec<Expr> {
        let layout = self.layout();
        let (outer, row) = layout.split_at(self.rows());
        let within = row.iter().fold(Expr::Int(0), |sum, dim| sum.mul(Expr::Int(dim.extent)).add(of(dim)));
        outer.iter().map(|dim| of(dim)).chain([within]).collect()
    }

    /// How many dimensions of the tile count its rows. A row is its last dimension; of a tile that is swizzled, all that follow each other
    /// and are summed, or none of which is, so that what is read at once are neighbouring rows.
    fn rows(&self) -> usize {
        let layout = self.layout();
        let Some(last) = layout.last() else { return 0 };
        let joined = layout.iter().rev().take_while(|dim| dim.role == last.role).count();
        layout.len() - if self.target.swizzle > 0 { joined } else { 1 }
    }

    /// The cooperative fetch.
    pub(super) fn fill(&self, schedule: &Schedule) -> Stmt {
        let lanes = self.tile.vector;
        let [step, element, lane] = ["f", "e", "v"].map(|part| self.fresh_name(schedule, part));
        let mut body = self.store(&lane);
        if lanes > 1 {
            body = Stmt::for_(lane, Expr::Int(lanes), ForKind::Vectorized, body);
        }
        let dims = self.dims.iter().map(|dim| (dim.coordinate.clone(), dim.extent)).collect();
        Cooperative { threads: &self.threads, dims, lanes, step, element }.around(body)
    }

    /// A variable of the fetch: no coordinate has its name, whatever the nest's loops are called.
    fn fresh_name(&self, schedule: &Schedule, part: &str) -> Name {
        let mut name = schedule.fresh_name(&format!("{}_{part}", self.read.name));
        while self.dims.iter().any(|dim| dim.coordinate == name) {
            name = schedule.fresh_name(&format!("{name}_"));
        }
        name
    }

    /// One element of the copy: the coordinates are bound.
    fn store(&self, lane: &Name) -> Stmt {
        let at = |dim: &Dim| {
            let own = Expr::Var(dim.coordinate.clone());
            let contiguous = self.dims.last().is_some_and(|last| last.root == dim.root);
            if contiguous && self.tile.vector > 1 { own.add(Expr::Var(lane.clone())) } else { own }
        };
        let root = |e: &Expr| {
            let e = self.fixed.iter().fold(e.clone(), |e, (root, value)| e.substitute(root, value));
            self.dims.iter().fold(e, |e, dim| e.substitute(&dim.root, &dim.outside.clone().add(at(dim))))
        };
        let value = Expr::Load(self.source.clone(), self.read.index.iter().map(root).collect());
        let guards = self.guards.iter().map(|g| Guard { value: root(&g.value), ..g.clone() });
        let store = Stmt::Store { buffer: self.target.clone(), index: self.index(at), value };
        Stmt::if_(guard::all(guards), store)
    }
}
