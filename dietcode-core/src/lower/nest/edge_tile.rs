//! Tiles at an edge: where a loop of the register tile is partitioned, the tile stands there several times, for fewer and fewer
//! iterations, and the first that covers what is left is taken.
//!
//! It belongs to the first pass: each of them is built as the whole tile is, from a schedule in which the loop is shorter, so that all
//! later passes meet ordinary tiles. Panels and views outside of the tile stay as they are.
//!
//! ```text
//! if i_0·8 + 4 < M                        more than four rows are left
//!   allocate y_tile[8][16] …
//! else
//!   allocate y_tile[4][16] …
//! ```

use std::iter;
use std::ops::Add;

use dietcode_syntax::Role;

use super::Builder;
use super::stage::Stage;
use crate::Result;
use crate::ir::{BinaryOp, CompareOp, Expr, ForKind, Name, Reduction, Stmt, affine};
use crate::lower::guard::{self, Guard};
use crate::schedule::{Loop, Schedule};

/// A loop of the tile that is partitioned.
struct Edge<'a> {
    name: &'a Name,
    at: usize,
    guard: &'a Guard,
    /// Its iterations in each of the tiles, the most first.
    sizes: Vec<i64>,
}

impl Builder<'_> {
    /// The accumulators' tile with its stages, for each number of iterations of the loops that are partitioned.
    pub(super) fn tiles(&self, reduction: &Reduction) -> Result<Stmt> {
        if self.schedule.partitions.is_empty() || self.schedule.is_gpu() {
            return Ok(self.staged(self.tile_depth, self.tile_nest(reduction)));
        }
        let tiles = self.partitioned(&self.schedule.partitions, reduction)?;
        Ok(self.staged_by(self.tile_depth, tiles, |stage| !stage.is_view()))
    }

    /// The loops around the statement that fills a view. One that stands outside of the tile is filled as far as the tile reads it that is
    /// taken at the edge:
    ///
    /// ```text
    /// fill j = 0                              what the smallest tile reads
    /// if j_0·64 + 16 < N: fill j = 1          what the next one reads beside it, where that is taken, or a larger one
    /// if j_0·64 + 32 < N: for j in 2..4 …
    /// ```
    pub(super) fn fill_of_view(&self, depth: usize, dims: &[usize], leaf: Stmt) -> Stmt {
        let Some(Edge { name, at: edge, guard, mut sizes }) = self.edge_of_view(depth, dims) else {
            return self.nest(depth, dims, leaf);
        };
        sizes.push(0);
        Stmt::seq(sizes.windows(2).rev().map(|sizes| {
            let [end, begin] = [sizes[0], sizes[1]];
            let iterations = |at| if at == edge { Expr::Int(end - begin) } else { self.schedule.iterations(at) };
            let dims: Vec<usize> = dims.iter().copied().filter(|at| *at != edge || end - begin > 1).collect();
            let first = if end - begin > 1 { Expr::Var(name.clone()) } else { Expr::Int(0) };
            let leaf = leaf.clone().substitute(name, &first.add(Expr::Int(begin)));
            let part = self.nest_of(depth, &dims, iterations, leaf);
            if begin > 0 { Stmt::if_(self.at_iteration(guard, name, begin), part) } else { part }
        }))
    }

    /// The condition that all of a view lies inside. The tile at the edge may read less than the whole one: of 32 columns that are left, one
    /// of 32 columns reads no more, and needs no copy.
    ///
    /// ```text
    /// j_0·64 + 63 < N    →    j_0·64 + 63 < (N % 64 == 32 ? N + 32 : N % 64 == 16 ? N + 48 : N)
    /// ```
    pub(super) fn inside_of_view(&self, depth: usize, dims: &[usize], inside: Expr) -> Expr {
        let Some(Edge { name, guard, sizes, .. }) = self.edge_of_view(depth, dims) else { return inside };
        let loops = &self.schedule.loops;
        let corner: Vec<(Name, Expr)> =
            dims.iter().map(|at| (loops[*at].name.clone(), self.schedule.iterations(*at))).collect();
        let (Some(form), Some(Expr::Compare(CompareOp::Lt, last, bound))) =
            (affine(&guard.value), guard::at_corner(&guard.condition(), &corner))
        else {
            return inside;
        };
        let step = form.coefficient(name);
        let whole = step * sizes[0];
        let is_of_tile = |var: &str| loops[self.tile_depth..].iter().any(|l| *l.name == *var);
        // Tiles begin at multiples of the whole one, of which no other loop takes larger steps.
        let is_aligned = |(var, by): &(String, i64)| if is_of_tile(var) { *by <= step } else { by % whole == 0 };
        if form.constant != 0 || !form.terms.iter().all(is_aligned) {
            return inside;
        }
        let left = Expr::binary(BinaryOp::Mod, (*bound).clone(), Expr::Int(whole));
        let filled = sizes[1..].iter().rev().fold((*bound).clone(), |others, size| {
            let is_exact = Expr::compare(CompareOp::Eq, left.clone(), Expr::Int(size * step));
            Expr::select(is_exact, (*bound).clone().add(Expr::Int(whole - size * step)), others)
        });
        let known = Expr::Compare(CompareOp::Lt, last.clone(), bound);
        let parts = guard::conjuncts(&inside).into_iter();
        parts.fold(Expr::Int(1), |all, part| {
            all.and(if part == known { (*last).clone().lt(filled.clone()) } else { part })
        })
    }

    /// The loop of the tile that is partitioned, of those that a view moves along, if the view stands outside of the tile, where it is known
    /// which tile is taken.
    fn edge_of_view(&self, depth: usize, dims: &[usize]) -> Option<Edge<'_>> {
        let between = self.schedule.loops.get(depth..self.tile_depth).filter(|loops| !loops.is_empty())?;
        let is_known = |guard: &Guard| !between.iter().any(|l| guard.condition().uses(&l.name));
        self.schedule.partitions.iter().find_map(|(name, halvings)| {
            let (at, guard) = self.edge_of(name).filter(|(at, guard)| dims.contains(at) && is_known(guard))?;
            Some(Edge { name, at, guard, sizes: halved(&self.schedule.loops[at], *halvings) })
        })
    }

    fn partitioned(&self, partitions: &[(Name, i64)], reduction: &Reduction) -> Result<Stmt> {
        let Some(((name, halvings), others)) = partitions.split_first() else {
            return Ok(self.staged_by(self.tile_depth, self.tile_nest(reduction), Stage::is_view));
        };
        let sizes = self.edge_of(name).map(|(at, guard)| (at, guard, halved(&self.schedule.loops[at], *halvings)));
        let Some((at, guard, sizes)) = sizes else { return self.partitioned(others, reduction) };
        let of = |size: i64| self.with_iterations(at, size, |smaller| smaller.partitioned(others, reduction));
        let smallest = of(sizes[sizes.len() - 1])?;
        sizes.windows(2).rev().try_fold(smallest, |smaller, sizes| {
            // The next smaller one does not cover what is left.
            let condition = self.at_iteration(guard, name, sizes[1]);
            let (then, otherwise) = (Box::new(of(sizes[0])?), Some(Box::new(smaller)));
            Ok(Stmt::IfThenElse { condition, then, otherwise })
        })
    }

    /// A loop of the tile, and the guard of its edge, if it has one.
    fn edge_of(&self, name: &Name) -> Option<(usize, &Guard)> {
        let at = (self.tile_depth..self.schedule.loops.len()).find(|at| self.schedule.loops[*at].name == *name)?;
        let mut guards = self.guards.iter().filter(|guard| guard.role == Role::Spatial && guard.value.uses(name));
        let guard = guards.next()?;
        guards.next().is_none().then_some((at, guard))
    }

    /// Whether an iteration of a loop lies inside, where all other loops of the tile are at their first one.
    fn at_iteration(&self, guard: &Guard, name: &Name, iteration: i64) -> Expr {
        let first = |e: Expr, l: &Loop| {
            let at = if l.name == *name { iteration } else { 0 };
            e.substitute(&l.name, &Expr::Int(at))
        };
        self.schedule.loops[self.tile_depth..].iter().fold(guard.condition(), first)
    }

    /// What is built of a schedule in which a loop of the tile has so many iterations.
    fn with_iterations(&self, at: usize, size: i64, build: impl Fn(&Builder<'_>) -> Result<Stmt>) -> Result<Stmt> {
        let mut schedule: Schedule = self.schedule.clone();
        schedule.loops[at].extent = Expr::Int(size);
        schedule.loops[at].limit = Some(Expr::Int(size));
        if self.schedule.loops[at].extent != Expr::Int(size) {
            // The steps of a sum that the whole tile has unrolled would be printed for each of the tiles, and compiled.
            let steps = schedule.loops[self.tile_depth..].iter_mut().filter(|l| l.role == Role::Reduce);
            steps.filter(|l| l.kind == ForKind::Unrolled).for_each(|l| l.kind = ForKind::Serial);
        }
        let smaller = Builder::new(&schedule)?;
        let is_outside =
            |stage: &Stage| stage.depth < self.tile_depth || (stage.depth == self.tile_depth && !stage.is_view());
        let stage = |(own, of_smaller): (&Stage, Stage)| if is_outside(own) { own.clone() } else { of_smaller };
        let stages = self.stages.iter().zip(smaller.stages).map(stage).collect();
        build(&Builder { stages, sums: self.sums.clone(), ..smaller })
    }
}

/// The extent of a loop, its half rounded up, and so on, the smallest last.
fn halved(l: &Loop, halvings: i64) -> Vec<i64> {
    let half = |size: &i64| (*size > 1).then_some((size + 1) / 2);
    let whole = l.extent.as_int().expect("only a loop of a constant number of iterations is unrolled");
    iter::successors(Some(whole), half).take(halvings as usize + 1).collect()
}
