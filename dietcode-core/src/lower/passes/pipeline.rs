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
//!
//! Where operands are read into registers a step ahead ([`super::fragments`]), the barrier stands before the last step of a tile, whose
//! operands are in registers already:
//!
//! ```text
//! wait for all but S−2; sync; x[0] = the first operands
//! for k in 0..n
//!   x[1] = the next operands; if k + S−1 < n: fill x[(k + S−1) % S]
//!   commit
//!   … all steps but the last …
//!   wait for all but S−2; sync
//!   x[0] = the first operands of tile k + 1, of whatever lies there if it is none
//!   … the last step …
//! ```

use std::ops::{Add, Rem};
use std::sync::Arc;

use super::fragments::Fragments;
use super::vector_copy;
use crate::ir::{Buffer, Expr, ForKind, Intrinsic, Name, Scope, Stmt};
use crate::schedule::{Pipeline, Schedule};
use crate::{Error, Result};

/// Pipelines the loop that fills shared memory, if the schedule asks for it.
///
/// # Errors
/// There is no serial loop that does nothing but fill shared memory and use it, or what it uses cannot be read ahead.
pub(super) fn pipeline(body: Stmt, schedule: &Schedule) -> Result<Stmt> {
    let stages = match schedule.pipeline {
        None | Some(Pipeline::Panels) => return Ok(body),
        Some(Pipeline::Registers) => None,
        Some(Pipeline::Async(stages)) => Some(stages),
    };
    let (mut found, mut refused) = (false, None);
    let body = body.map(&mut |stmt| match Steps::of(&stmt) {
        Some(mut steps) => {
            found = true;
            if schedule.fragment_sets > 1 {
                match Fragments::of(&steps.uses, &steps.tiles, schedule) {
                    Ok(fragments) => steps.fragments = Some(fragments),
                    Err(why) => refused = Some(format!("buffer_fragments: {why}")),
                }
            }
            match stages {
                None => steps.through_registers(schedule),
                Some(stages) => steps.asynchronous(stages),
            }
        }
        None => stmt,
    });
    let refused = if found { refused } else { Some("pipeline: no loop fills shared memory".to_owned()) };
    match refused {
        None => Ok(body),
        Some(why) => Err(Error::input(format!("schedule of `{}`: {why}", schedule.block.name))),
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
    /// How its operands are read ahead, if they are.
    fragments: Option<Fragments>,
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
        Some(Steps { var: var.clone(), extent: extent.clone(), lets, tiles, fills, uses, fragments: None })
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
        self.tiles.iter().fold(stmt, |stmt, tile| stmt.with_dimension(tile, 0, stages, &stage))
    }

    /// A statement in a step, with its tiles among `stages` of them.
    fn of_step(&self, stmt: &Stmt, stages: i64, step: &Expr) -> Stmt {
        self.staged(self.at(step, stmt.clone()), stages, step)
    }

    /// What there is to do only if a step is one.
    fn if_step(&self, step: &Expr, body: impl IntoIterator<Item = Stmt>) -> Stmt {
        Stmt::if_(step.clone().lt(self.extent.clone()), Stmt::seq(body))
    }

    fn allocated(&self, stages: i64, body: Stmt) -> Stmt {
        let allocate =
            |body, tile: &Arc<Buffer>| Stmt::Allocate { buffer: tile.with_dimension(0, stages), body: Box::new(body) };
        self.tiles.iter().rev().fold(body, allocate)
    }

    fn asynchronous(&self, stages: i64) -> Stmt {
        let fills: Vec<Stmt> = self.fills.iter().map(|stmt| stmt.clone().map(&mut asynchronous)).collect();
        let fill = |step: Expr| {
            let fill = self.if_step(&step, fills.iter().map(|stmt| self.of_step(stmt, stages, &step)));
            Stmt::seq([fill, Stmt::Intrinsic(Intrinsic::Commit)])
        };
        let ahead = Stmt::seq((0..stages - 1).map(|n| fill(Expr::Int(n))));
        let here = Expr::Var(self.var.clone());
        let [fill_next, next] = [stages - 1, 1].map(|steps| here.clone().add(Expr::Int(steps)));
        let fill_next = fill(fill_next);
        let arrived = Stmt::seq([Stmt::Intrinsic(Intrinsic::Wait(stages - 2)), Stmt::Sync]);
        let of_step = |stmt: Stmt| self.of_step(&stmt, stages, &here);
        let looped = |body| Stmt::for_(self.var.clone(), self.extent.clone(), ForKind::Serial, Stmt::seq(body));
        let steps = match &self.fragments {
            None => looped(vec![arrived, fill_next, of_step(self.uses.clone())]),
            Some(fragments) => {
                let first = self.of_step(&fragments.first(), stages, &Expr::Int(0));
                // Copies are issued behind what is read of shared memory, which the next products wait for.
                let body = vec![
                    of_step(fragments.begin()),
                    fill_next,
                    of_step(fragments.middle()),
                    arrived.clone(),
                    fragments.in_order(self.of_step(&fragments.first(), stages, &next), of_step(fragments.last())),
                ];
                fragments.allocated(Stmt::seq([arrived, first, looped(body)]))
            }
        };
        // Behind the loop no copy is under way, and the tiles' memory may be used again.
        let end = [Stmt::Intrinsic(Intrinsic::Wait(0)), Stmt::Sync];
        self.allocated(stages, Stmt::seq([ahead, steps].into_iter().chain(end)))
    }

    fn through_registers(&self, schedule: &Schedule) -> Stmt {
        const STAGES: i64 = 2;
        let here = Expr::Var(self.var.clone());
        let next = here.clone().add(Expr::Int(1));
        let halves: Vec<Halves> = self.fills.iter().map(|fill| Halves::of(fill, schedule)).collect();
        let first = self.fills.iter().map(|fill| self.of_step(fill, STAGES, &Expr::Int(0)));
        let first = Stmt::seq([self.if_step(&Expr::Int(0), first), Stmt::Sync]);
        let loads = self.if_step(&next, halves.iter().map(|half| self.at(&next, half.load.clone())));
        let stores = self.if_step(&next, halves.iter().map(|half| self.of_step(&half.store, STAGES, &next)));
        let of_step = |stmt: Stmt| self.of_step(&stmt, STAGES, &here);
        let body = match &self.fragments {
            None => Stmt::seq([loads, of_step(self.uses.clone()), stores, Stmt::Sync]),
            Some(fragments) => Stmt::seq([
                of_step(fragments.begin()),
                loads,
                of_step(fragments.middle()),
                stores,
                Stmt::Sync,
                fragments.in_order(self.of_step(&fragments.first(), STAGES, &next), of_step(fragments.last())),
            ]),
        };
        let body = halves.iter().fold(body, |body, half| match &half.registers {
            Some(buffer) => Stmt::Allocate { buffer: buffer.clone(), body: Box::new(body) },
            None => body,
        });
        let steps = Stmt::for_(self.var.clone(), self.extent.clone(), ForKind::Serial, body);
        let steps = match &self.fragments {
            None => steps,
            Some(fragments) => {
                let ahead = self.of_step(&fragments.first(), STAGES, &Expr::Int(0));
                // What the last step has read ahead was of no tile, but of memory that others write behind the loop.
                fragments.allocated(Stmt::seq([ahead, steps, Stmt::Sync]))
            }
        };
        self.allocated(STAGES, Stmt::seq([first, steps]))
    }
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
