//! Tiles of a GPU's grid that lie inside: where a loop over blocks is partitioned, they have a body without predicates.
//!
//! It belongs to the first pass: that body is built as any is, of a schedule without guards, so that all later passes meet ordinary loops.
//! Shared memory is that of either body, and so are registers.
//!
//! ```text
//! threadIdx.x thread                          threadIdx.x thread
//!   for k_0                                     if i_b·64 + 63 < M && j_b·64 + 63 < N && (⌈K/8⌉ − 1)·8 + 7 < K
//!     fill x_shared, where i < M, k < K           for k_0
//!     y_tile += x_shared · …             →          fill x_shared
//!   if i < M && j < N: y[…] = y_tile                y_tile += x_shared · …
//!                                                 y[…] = y_tile
//!                                               else
//!                                                 for k_0 … as before
//! ```
//!
//! The condition is the same for all threads of a block, so that both bodies may have barriers. Where blocks go on to further tiles, each
//! tile has its own. A block has all of its steps of a sum in one body: a loop over steps that is cut in two would empty its pipeline between
//! both.
//! That a sum under a condition is taken stays a predicate. TVM: `LoopPartition`.

use super::place::{Place, variables};
use crate::ir::{Expr, ForKind, Name, Stmt};
use crate::lower::guard::Guard;
use crate::schedule::{Loop, Schedule};
use crate::{Error, Result};

/// When a tile lies inside.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Inside {
    /// How many loops stand around the bodies of a tile.
    pub(super) depth: usize,
    pub(crate) condition: Expr,
    /// What it consists of, as cost models see it: what differs from block to block and numbers no tiles has the value that is expected.
    pub(crate) corners: Vec<Corner>,
}

/// `value < extent`: holds where a tile's last element along an axis lies inside.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Corner {
    pub(crate) value: Expr,
    pub(crate) extent: Expr,
    /// What numbers tiles in the value: loops and parts of loops, with their extents.
    pub(crate) tiles: Vec<(Name, Expr)>,
}

impl Inside {
    /// Of a schedule whose guards are these. None: all tiles have one body.
    ///
    /// # Errors
    /// A loop that is partitioned is not one over blocks, the tile stands outside of loops over threads, or no last iteration says whether a
    /// tile lies inside.
    pub(in crate::lower) fn of(schedule: &Schedule, guards: &[Guard]) -> Result<Option<Inside>> {
        let partitioned = schedule.partitions.iter().filter(|(_, parts)| *parts > 0);
        let partitioned: Vec<&Name> = partitioned.map(|(name, _)| name).collect();
        if !schedule.is_gpu() || partitioned.is_empty() {
            return Ok(None);
        }
        let refuse = |why: String| Error::input(format!("schedule of `{}`: partition: {why}", schedule.block.name));
        let is_grid = |name: &Name| schedule.loops.iter().any(|l| l.name == *name && l.kind == ForKind::BlockIdx);
        if let Some(name) = partitioned.into_iter().find(|name| !is_grid(name)) {
            return Err(refuse(format!(
                "`{name}` is no loop over the blocks of the grid, or was replaced later; name one that is"
            )));
        }
        // A block goes on from tile to tile where it has a share of a stream of steps.
        let piece = schedule.stream().and_then(|stream| stream.innermost(stream.tiles().0));
        let is_around = |l: &Loop| l.is_bound() || piece == Some(&l.name);
        let depth = schedule.loops.iter().rposition(is_around).map_or(0, |at| at + 1);
        if schedule.block.reduction.is_some() && schedule.tile_depth() < depth {
            return Err(refuse(format!(
                "the tile stands outside of `{}`, in which its bodies would stand; place the tile inside of it",
                schedule.loops[depth - 1].name
            )));
        }
        let place = Place { schedule, depth };
        let last = |guard: &Guard| {
            let last = place.last(&guard.value).filter(|_| place.is_fixed(&guard.extent));
            last.map(|value| (value, guard.extent.clone())).ok_or_else(|| {
                refuse(format!(
                    "`{} < {}` moves with a loop in a way that no last iteration says whether all of a tile lies inside",
                    guard.value, guard.extent
                ))
            })
        };
        let lasts = guards.iter().map(last).collect::<Result<Vec<(Expr, Expr)>>>()?;
        let is_inside = |(value, extent): &(Expr, Expr)| value.clone().lt(extent.clone());
        let condition = lasts.iter().map(is_inside).fold(Expr::Int(1), Expr::and);
        let corners = lasts.iter().map(|(value, extent)| Corner::of(schedule, value, extent)).collect();
        Ok(Some(Inside { depth, condition, corners }))
    }

    /// The body of a tile: the one without predicates if it lies inside, else the other.
    pub(super) fn choose(&self, inside: Stmt, edge: Stmt) -> Stmt {
        match &self.condition {
            Expr::Int(0) => edge,
            Expr::Int(_) => inside,
            condition => Stmt::IfThenElse {
                condition: condition.clone(),
                then: Box::new(inside),
                otherwise: Some(Box::new(edge)),
            },
        }
    }
}

impl Corner {
    fn of(schedule: &Schedule, value: &Expr, extent: &Expr) -> Corner {
        let expected = schedule.stream().map(|stream| stream.expected(&|e| schedule.unsplit(e))).unwrap_or_default();
        let expected = |e: &Expr| {
            let e = expected.iter().fold(e.clone(), |e, (name, value)| e.substitute(name, value));
            schedule.program.taken(&e)
        };
        let count = |name: &Name| {
            let of_loop = schedule.loops.iter().find(|l| l.name == *name).map(|l| &l.extent);
            let of_stream = || schedule.stream().map(|stream| stream.tiles()).filter(|(tile, _)| *tile == name);
            of_loop.or_else(|| schedule.fused_extent(name)).or_else(|| of_stream().map(|(_, extent)| extent))
        };
        let tiles = variables(value).into_iter();
        let tiles =
            tiles.filter_map(|name| count(&name).map(|extent| (name.clone(), expected(&schedule.unsplit(extent)))));
        Corner { tiles: tiles.collect(), value: expected(value), extent: expected(extent) }
    }
}
