//! The software pipeline: shared memory is filled ahead of its use.
//!
//! It stands after the copies and the matrix instructions are what they will be, because it moves them as a whole.
//!
//! ```text
//! for k in 0..n                            for k in 0..S−1: if k < n: fill x[k]; commit
//!   fill x                                 for k in 0..n
//!   sync                            →        wait for all but S−2; sync
//!   … x …                                    if k + S−1 < n: fill x[(k + S−1) % S]
//!   sync                                     commit
//!                                            … x[k % S] …
//! ```
//!
//! Without asynchronous copies, the next tile is loaded into registers before the computation and stored behind it.
//! The barrier of a step also says that the tile which is filled next has been read by all.

use std::ops::{Add, Rem};
use std::sync::Arc;

use super::vector_copy;
use crate::ir::{Buffer, Expr, ForKind, Intrinsic, Name, Scope, Stmt};
use crate::schedule::{Pipeline, Schedule};
use crate::{Error, Result};

/// Pipelines the loop that fills shared memory, if the schedule asks for it.
///
/// # Errors
/// There is no serial loop that does nothing but fill shared memory and use it.
pub(super) fn pipeline(body: Stmt, schedule: &Schedule) -> Result<Stmt> {
    let stages = match schedule.pipeline {
        None | Some(Pipeline::Panels) => return Ok(body),
        Some(Pipeline::Registers) => None,
        Some(Pipeline::Async(stages)) => Some(stages),
    };
    let mut found = false;
    let body = body.map(&mut |stmt| match Steps::of(&stmt) {
        Some(steps) => {
            found = true;
            match stages {
                None => steps.through_registers(schedule),
                Some(stages) => steps.asynchronous(stages),
            }
        }
        None => stmt,
    });
    if found {
        Ok(body)
    } else {
        Err(Error::input(format!("schedule of `{}`: pipeline: no loop fills shared memory", schedule.block.name)))
    }
}

/// A loop that fills tiles, waits, and uses them.
struct Steps {
    var: Name,
    extent: Expr,
    /// What is bound in it, the first outermost: of which loops it was fused.
    lets: Vec<(Name, Expr)>,
    tiles: Vec<Arc<Buffer>>,
    fills: Vec<Stmt>,
    uses: Stmt,
}

impl Steps {
    fn of(stmt: &Stmt) -> Option<Steps> {
        let Stmt::For { var, extent, kind: ForKind::Serial, body } = stmt else { return None };
        let (mut lets, mut tiles) = (Vec::new(), Vec::new());
        let mut inner = &**body;
        while let Stmt::Let { var, value, body } = inner {
            lets.push((var.clone(), value.clone()));
            inner = body;
        }
        while let Stmt::Allocate { buffer, body } = inner {
            (buffer.scope == Scope::Shared).then(|| tiles.push(buffer.clone()))?;
            inner = body;
        }
        let Stmt::Seq(stmts) = inner else { return None };
        let (last, stmts) = stmts.split_last()?;
        let at = stmts.iter().position(|stmt| *stmt == Stmt::Sync)?;
        if tiles.is_empty() || *last != Stmt::Sync {
            return None;
        }
        let (fills, uses) = (stmts[..at].to_vec(), Stmt::seq(stmts[at + 1..].to_vec()));
        Some(Steps { var: var.clone(), extent: extent.clone(), lets, tiles, fills, uses })
    }

    /// A statement in a step, with what is bound there and used in it.
    fn at(&self, step: &Expr, stmt: Stmt) -> Stmt {
        let bind = |body: Stmt, (var, value): &(Name, Expr)| match body.uses(var) {
            true => Stmt::Let { var: var.clone(), value: value.clone(), body: Box::new(body) },
            false => body,
        };
        let bound = self.lets.iter().rev().fold(stmt, bind);
        if *step == Expr::Var(self.var.clone()) { bound } else { bound.substitute(&self.var, step) }
    }

    /// The tile of a step among `stages` of them.
    fn staged(&self, stmt: Stmt, stages: i64, step: &Expr) -> Stmt {
        let stage = step.clone().rem(Expr::Int(stages));
        self.tiles.iter().fold(stmt, |stmt, tile| prefixed(stmt, tile, &several(tile, stages), &stage))
    }

    /// The filling of a step.
    fn fill(&self, stmt: &Stmt, stages: i64, step: &Expr) -> Stmt {
        self.staged(self.at(step, stmt.clone()), stages, step)
    }

    fn allocated(&self, stages: i64, body: Stmt) -> Stmt {
        let allocate = |body, tile| Stmt::Allocate { buffer: several(tile, stages), body: Box::new(body) };
        self.tiles.iter().rev().fold(body, allocate)
    }

    fn asynchronous(&self, stages: i64) -> Stmt {
        let fills: Vec<Stmt> = self.fills.iter().map(|stmt| stmt.clone().map(&mut asynchronous)).collect();
        let step = |step: Expr| {
            let fill = fills.iter().map(|stmt| self.fill(stmt, stages, &step));
            let fill = Stmt::if_(step.clone().lt(self.extent.clone()), Stmt::seq(fill));
            Stmt::seq([fill, Stmt::Intrinsic(Intrinsic::Commit)])
        };
        let ahead = (0..stages - 1).map(|n| step(Expr::Int(n)));
        let here = Expr::Var(self.var.clone());
        let body = Stmt::seq([
            Stmt::Intrinsic(Intrinsic::Wait(stages - 2)),
            Stmt::Sync,
            step(here.clone().add(Expr::Int(stages - 1))),
            self.staged(self.at(&here, self.uses.clone()), stages, &here),
        ]);
        let body = Stmt::for_(self.var.clone(), self.extent.clone(), ForKind::Serial, body);
        // Behind the loop no copy is under way, and the tiles' memory may be used again.
        let end = [Stmt::Intrinsic(Intrinsic::Wait(0)), Stmt::Sync];
        self.allocated(stages, Stmt::seq(ahead.chain([body]).chain(end)))
    }

    fn through_registers(&self, schedule: &Schedule) -> Stmt {
        const STAGES: i64 = 2;
        let here = Expr::Var(self.var.clone());
        let next = here.clone().add(Expr::Int(1));
        let guarded = |step: &Expr, body: Vec<Stmt>| Stmt::if_(step.clone().lt(self.extent.clone()), Stmt::seq(body));
        let halves: Vec<Halves> = self.fills.iter().map(|fill| Halves::of(fill, schedule)).collect();
        let first = self.fills.iter().map(|fill| self.fill(fill, STAGES, &Expr::Int(0))).collect();
        let loads = halves.iter().map(|half| self.at(&next, half.load.clone())).collect();
        let stores = halves.iter().map(|half| self.fill(&half.store, STAGES, &next)).collect();
        let body = Stmt::seq([
            guarded(&next, loads),
            self.staged(self.at(&here, self.uses.clone()), STAGES, &here),
            guarded(&next, stores),
            Stmt::Sync,
        ]);
        let body = halves.iter().fold(body, |body, half| match &half.registers {
            Some(buffer) => Stmt::Allocate { buffer: buffer.clone(), body: Box::new(body) },
            None => body,
        });
        let body = Stmt::for_(self.var.clone(), self.extent.clone(), ForKind::Serial, body);
        self.allocated(STAGES, Stmt::seq([guarded(&Expr::Int(0), first), Stmt::Sync, body]))
    }
}

/// A tile as one of several.
pub(super) fn several(tile: &Arc<Buffer>, stages: i64) -> Arc<Buffer> {
    let shape = [Expr::Int(stages)].into_iter().chain(tile.shape.iter().cloned()).collect();
    Arc::new(Buffer { shape, ..(**tile).clone() })
}

/// Accesses of a tile become accesses of one of several.
pub(super) fn prefixed(stmt: Stmt, tile: &Arc<Buffer>, several: &Arc<Buffer>, stage: &Expr) -> Stmt {
    let at = |index: &[Expr]| [std::slice::from_ref(stage), index].concat();
    let loads = stmt.rewrite_exprs(&mut |e| {
        e.rewrite(&mut |e| match e {
            Expr::Load(buffer, index) if buffer == tile => Some(Expr::Load(several.clone(), at(index))),
            _ => None,
        })
    });
    loads.map(&mut |stmt| match stmt {
        Stmt::Store { buffer, index, value } if buffer == *tile => {
            Stmt::Store { buffer: several.clone(), index: at(&index), value }
        }
        Stmt::Intrinsic(mut intrinsic) => {
            if let Intrinsic::Copy { to, to_index, .. } = &mut intrinsic
                && to == tile
            {
                (*to, *to_index) = (several.clone(), at(to_index));
            }
            if let Intrinsic::LoadMatrix { from, from_index, .. } = &mut intrinsic
                && from == tile
            {
                (*from, *from_index) = (several.clone(), at(from_index));
            }
            Stmt::Intrinsic(intrinsic)
        }
        other => other,
    })
}

/// A copy that need not have arrived before its group is waited for.
fn asynchronous(stmt: Stmt) -> Stmt {
    let stmt = match vector_copy::single(&stmt) {
        Some(copy) if matches!(&stmt, Stmt::Store { .. }) => copy,
        _ => stmt,
    };
    match stmt {
        Stmt::Intrinsic(Intrinsic::Copy { to, to_index, to_step, from, from_index, lanes, valid, padding, .. })
            if to_step != 1 =>
        {
            let lane = |n: i64| {
                let next = |index: &[Expr], by: i64| {
                    let (last, outer) = index.split_last().map_or((Expr::Int(0), &[][..]), |(l, o)| (l.clone(), o));
                    [outer, &[last.add(Expr::Int(by))]].concat()
                };
                Stmt::Intrinsic(Intrinsic::Copy {
                    to: to.clone(),
                    to_index: next(&to_index, n * to_step),
                    to_step: 1,
                    from: from.clone(),
                    from_index: next(&from_index, n),
                    lanes: 1,
                    valid: std::ops::Sub::sub(valid.clone(), Expr::Int(n)),
                    whole: Expr::Int(1),
                    padding: padding.clone(),
                    asynchronous: true,
                    tf32: false,
                })
            };
            Stmt::seq((0..lanes).map(lane))
        }
        Stmt::Intrinsic(mut intrinsic) => {
            if let Intrinsic::Copy { asynchronous, .. } = &mut intrinsic {
                *asynchronous = true;
            }
            Stmt::Intrinsic(intrinsic)
        }
        other => other,
    }
}

/// The two halves of a fill: into registers, and from them.
struct Halves {
    registers: Option<Arc<Buffer>>,
    load: Stmt,
    store: Stmt,
}

impl Halves {
    fn of(fill: &Stmt, schedule: &Schedule) -> Halves {
        let (step, steps) = match fill {
            Stmt::For { var, extent, .. } => (Expr::Var(var.clone()), extent.clone()),
            _ => (Expr::Int(0), Expr::Int(1)),
        };
        let mut registers = None;
        let load = fill.clone().map(&mut |stmt| match stmt {
            Stmt::Store { buffer, value, .. } => {
                let to = fragment(&mut registers, &buffer, &steps, 1, schedule);
                Stmt::Store { buffer: to, index: vec![step.clone(), Expr::Int(0)], value }
            }
            Stmt::Intrinsic(mut intrinsic) => {
                if let Intrinsic::Copy { to, to_index, to_step, lanes, tf32, .. } = &mut intrinsic {
                    *to = fragment(&mut registers, to, &steps, *lanes, schedule);
                    (*to_index, *to_step) = (vec![step.clone(), Expr::Int(0)], 1);
                    // Who rounds waits for the data.
                    *tf32 = false;
                }
                Stmt::Intrinsic(intrinsic)
            }
            other => other,
        });
        let store = fill.clone().map(&mut |stmt| match (stmt, &registers) {
            (Stmt::Store { buffer, index, .. }, Some(fragment)) => {
                Stmt::Store { buffer, index, value: Expr::Load(fragment.clone(), vec![step.clone(), Expr::Int(0)]) }
            }
            (Stmt::Intrinsic(mut intrinsic), Some(fragment)) => {
                if let Intrinsic::Copy { from, from_index, lanes, valid, whole, padding, .. } = &mut intrinsic {
                    (*from, *from_index) = (fragment.clone(), vec![step.clone(), Expr::Int(0)]);
                    (*valid, *whole, *padding) = (Expr::Int(*lanes), Expr::Int(1), None);
                }
                Stmt::Intrinsic(intrinsic)
            }
            (other, _) => other,
        });
        Halves { registers, load, store }
    }
}

/// The registers that hold what a thread fills a tile with: one row for each step of the fetch.
fn fragment(
    registers: &mut Option<Arc<Buffer>>,
    tile: &Arc<Buffer>,
    steps: &Expr,
    lanes: i64,
    schedule: &Schedule,
) -> Arc<Buffer> {
    let new = || {
        let name = schedule.fresh_name(&format!("{}_next", tile.name));
        Arc::new(Buffer {
            name,
            dtype: tile.dtype,
            shape: vec![steps.clone(), Expr::Int(lanes)],
            scope: Scope::Local,
            swizzle: 0,
        })
    };
    registers.get_or_insert_with(new).clone()
}
