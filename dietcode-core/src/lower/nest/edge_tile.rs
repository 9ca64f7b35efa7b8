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

use dietcode_syntax::Role;

use super::Builder;
use super::stage::Stage;
use crate::Result;
use crate::ir::{Expr, ForKind, Name, Reduction, Stmt};
use crate::lower::guard::Guard;
use crate::schedule::{Loop, Schedule};

impl Builder<'_> {
    /// The accumulators' tile with its stages, for each number of iterations of the loops that are partitioned.
    pub(super) fn tiles(&self, reduction: &Reduction) -> Result<Stmt> {
        if self.schedule.partitions.is_empty() {
            return Ok(self.staged(self.tile_depth, self.tile_nest(reduction)));
        }
        let tiles = self.partitioned(&self.schedule.partitions, reduction)?;
        Ok(self.staged_by(self.tile_depth, tiles, |stage| !stage.is_view()))
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
