//! What an iteration of a loop asks for, since a later one reads it: a region of a tensor, run by run along its last dimension.
//!
//! ```text
//! for i_1 in 0..n                      for i_1 in 0..n
//!   … x[i_1·8 + i_t][k] …      →         if i_1 + 1 < n && i_1·8 + 15 < M
//!                                          for i_t in 0..8: prefetch K elements from x[(i_1 + 1)·8 + i_t][0]
//!                                        … x[i_1·8 + i_t][k] …
//! ```
//!
//! Along an axis of tasks it is a slice of a tensor, of which each tile of an iteration asks for its share, in the order of memory. Where rows
//! do not follow each other without a gap, as those of a view, a part of the slice is not asked for:
//!
//! ```text
//! parallel block                       parallel block
//!   for i_1 in 0..n             →        for i_1 in 0..n
//!     … x[b][i_1·8 + i_t][k] …             if b + 1 < B: prefetch ⌈M·K / (J·n)⌉ elements from x[b + 1][0][(j_0·n + i_1) · ⌈M·K / (J·n)⌉]
//!                                          … x[b][i_1·8 + i_t][k] …
//! ```
//!
//! It is a hint: what it says of an odd schedule may be more or less than is read, and changes no result.

use std::ops::{Add, Div, Mul, Sub};
use std::sync::Arc;

use dietcode_syntax::Role;

use crate::ir::{Buffer, CompareOp, Expr, ForKind, Intrinsic, Name, Scope, Stmt, affine};
use crate::lower::guard::{self, Guard};
use crate::schedule::{Prefetch, Relation, Schedule};

/// The statements in front of what a loop holds: one for each distinct read of a tensor.
pub(super) fn of(schedule: &Schedule, guards: &[Guard], at: usize) -> Vec<Stmt> {
    let reads = schedule.block.update_reads();
    let here = schedule.prefetches.iter().filter(|asked| asked.at == schedule.loops[at].name && asked.ahead > 0);
    let here = here.filter(|_| schedule.loops[at].kind == ForKind::Serial);
    let asked = here.flat_map(|asked| {
        let own = reads.iter().filter(|(read, _)| read.name == asked.buffer && read.scope == Scope::Global);
        own.filter_map(|read| ask(schedule, guards, (at, asked.ahead), read))
    });
    asked.collect()
}

/// Asks for what a read needs some iterations later; none where no corner of it says whether all lies inside, or a variable of its index
/// is bound further inside only.
fn ask(
    schedule: &Schedule,
    guards: &[Guard],
    (at, ahead): (usize, i64),
    (from, index): &(Arc<Buffer>, Vec<Expr>),
) -> Option<Stmt> {
    let name = &schedule.loops[at].name;
    let relevant = guards.iter().filter(|guard| index.iter().any(|e| e.uses(&guard.root)));
    let inside = guard::all(relevant.chain(&guard::taken(schedule, index)));
    let moves: Vec<Expr> = index.iter().map(|e| schedule.in_loops(e)).collect();
    let index: Vec<Expr> = index.iter().map(|e| schedule.unsplit(e)).collect();
    let uses = |index: &[Expr], name: &Name| index.iter().any(|e| e.uses(name));
    let loops: Vec<(Name, Expr)> = (at + 1..schedule.loops.len())
        .map(|inner| (schedule.loops[inner].name.clone(), schedule.iterations(inner)))
        .filter(|(inner, _)| uses(&moves, inner))
        .collect();
    if !uses(&index, name) || !loops.iter().all(|(inner, _)| uses(&index, inner)) {
        return None;
    }
    let inside = guard::at_corner(&inside, &loops)?;
    let region = region(&loops, &index, |from_index, elements| {
        Stmt::Intrinsic(Intrinsic::Prefetch { from: from.clone(), from_index, elements })
    });
    let later = Expr::Var(name.clone()).add(Expr::Int(ahead));
    let first = first_time(schedule, &index, at).and(later.clone().lt(schedule.iterations(at)));
    Some(Stmt::if_(first.and(inside.substitute(name, &later)), region.substitute(name, &later)))
}

/// Loops around a statement for each run of a region, which it gets the first element of, and the number of elements.
fn region(loops: &[(Name, Expr)], index: &[Expr], ask: impl FnOnce(Vec<Expr>, Expr) -> Stmt) -> Stmt {
    let (along, across): (Vec<_>, Vec<_>) = loops.iter().partition(|(name, _)| step(index, name).is_some());
    let first = |e: &Expr| along.iter().fold(e.clone(), |e, (name, _)| e.substitute(name, &Expr::Int(0)));
    let moved = along.iter().map(|(name, iterations)| (first(iterations), step(index, name).unwrap_or(1)));
    let (elements, steps) = moved.fold((Expr::Int(0), 0), |(elements, steps), (iterations, step)| {
        (elements.add(iterations.mul(Expr::Int(step))), steps + step)
    });
    let elements = elements.sub(Expr::Int(steps - 1));
    let run = ask(index.iter().map(first).collect(), elements);
    across
        .iter()
        .rev()
        .fold(run, |body, (name, iterations)| Stmt::for_(name.clone(), first(iterations), ForKind::Serial, body))
}

/// How far a loop moves along the last dimension, if it moves upwards, and along no other.
fn step(index: &[Expr], name: &str) -> Option<i64> {
    let (last, outer) = index.split_last()?;
    let step = affine(last)?.coefficient(name);
    (step > 0 && !outer.iter().any(|e| e.uses(name))).then_some(step)
}

/// Whether the loops around that do not move the read are at their first iterations.
fn first_time(schedule: &Schedule, index: &[Expr], at: usize) -> Expr {
    let uses = |name: &Name| index.iter().any(|e| e.uses(name));
    let moves = |name: &Name| {
        let starts = |relation: &Relation| match relation {
            Relation::Split { outer, start: Some(start), .. } => outer == name && uses(start),
            _ => false,
        };
        uses(name) || schedule.relations.iter().any(starts)
    };
    let around = schedule.loops[..at].iter().flat_map(|l| schedule.parts(&l.name));
    around
        .filter(|name| !moves(name))
        .fold(Expr::Int(1), |all, name| all.and(Expr::compare(CompareOp::Eq, Expr::Var(name), Expr::Int(0))))
}

/// What tiles ask for of slices.
#[derive(Default)]
pub(super) struct Shares {
    /// Elements of a share of each tensor, by name. They take divisions, so that they are bound outside of the loop over tiles.
    lets: Vec<(Name, Expr)>,
    /// The statements in front of a tile, one for each tensor.
    asked: Vec<Stmt>,
}

impl Shares {
    /// Of a tile around which so many loops stand.
    pub(super) fn of(schedule: &Schedule, tile_depth: usize) -> Shares {
        let asked = schedule.prefetches.iter().filter(|asked| asked.ahead > 0);
        let (lets, asked) = asked.filter_map(|asked| share(schedule, tile_depth, asked)).unzip();
        Shares { lets, asked }
    }

    /// The statements in front of what the innermost loop around a tile holds.
    pub(super) fn before(&mut self, body: Stmt) -> Stmt {
        Stmt::seq(std::mem::take(&mut self.asked).into_iter().chain([body]))
    }

    /// A statement in which the names are bound.
    pub(super) fn around(self, body: Stmt) -> Stmt {
        let bind = |body, (var, value): (Name, Expr)| Stmt::Let { var, value, body: Box::new(body) };
        self.lets.into_iter().rev().fold(body, bind)
    }
}

/// How many elements a tile's share of a slice has, and the statement that asks for them, in the first step of a sum that has several.
fn share(schedule: &Schedule, tile_depth: usize, asked: &Prefetch) -> Option<((Name, Expr), Stmt)> {
    let (from, index, dim) = schedule.slices(&asked.buffer, &asked.at)?;
    let axis = schedule.block.iters.iter().find(|iter| iter.name == asked.at)?;
    let selects = |part: &Name| schedule.roots(part).iter().all(|root| index[..=dim].iter().any(|e| e.uses(root)));
    // The number of the tile among all those that have the same slice.
    let (mut number, mut tiles, mut first) = (Expr::Int(0), Expr::Int(1), Expr::Int(1));
    for (part, role, extent) in (0..tile_depth).flat_map(|at| parts(schedule, at)) {
        match role {
            Role::Spatial if selects(&part) => {}
            Role::Spatial => (number, tiles) = (number.mul(extent.clone()).add(Expr::Var(part)), tiles.mul(extent)),
            Role::Reduce => first = first.and(Expr::compare(CompareOp::Eq, Expr::Var(part), Expr::Int(0))),
        }
    }
    let slice = from.shape[dim + 1..].iter().cloned().fold(Expr::Int(1), Mul::mul);
    let share = slice.add(tiles.clone().sub(Expr::Int(1))).div(tiles);
    // No variable of a nest begins so.
    let name = Name::from(format!("dietcode_{}_of_{}", from.name, asked.at));
    let elements = Expr::Var(name.clone());
    let later = schedule.unsplit(&Expr::Var(asked.at.clone())).add(Expr::Int(asked.ahead));
    let rows = vec![Expr::Int(0); index.len() - dim - 2];
    let slices = index[..dim].iter().map(|e| schedule.unsplit(e)).chain([later.clone()]);
    let from_index = slices.chain(rows).chain([number.mul(elements.clone())]).collect();
    let condition = first.and(later.lt(axis.extent.clone()));
    let ask = Stmt::if_(condition, Stmt::Intrinsic(Intrinsic::Prefetch { from, from_index, elements }));
    Some(((name, share), ask))
}

/// The loops of which a loop was fused, with their roles and how often they run, the outermost first.
fn parts(schedule: &Schedule, at: usize) -> Vec<(Name, Role, Expr)> {
    let l = &schedule.loops[at];
    let extent = |part: &Name| {
        let of = schedule.relations.iter().find_map(|relation| match relation {
            Relation::Fuse { outer, extents: [extent, _], .. } if outer == part => Some(extent),
            Relation::Fuse { inner, extents: [_, extent], .. } if inner == part => Some(extent),
            _ => None,
        });
        of.map_or_else(|| schedule.iterations(at), |extent| schedule.unsplit(extent))
    };
    schedule.parts(&l.name).into_iter().map(|part| (part.clone(), l.role, extent(&part))).collect()
}
