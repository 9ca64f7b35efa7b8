//! Partitioning: inside of the tensor, no predicate at all; at an edge, one for each loop that needs it.
//!
//! It stands after local padding, which leaves predicates only in copies and in final stores, and before
//! vectorization, which takes loops whose body is one plain store. TVM: `LoopPartition`.
//!
//! ```text
//! for i in 0..8                                            if i_0·8 + 7 < M && j_0·32 + 31 < N
//!   for j in 0..2                                            for i in 0..8: for j in 0..2: vectorized v in 0..16: y[…] = tile[i][j][v]
//!     vectorized v in 0..16                                else
//!       if i_0·8 + i < M && j_0·32 + j·16 + v < N            for i in 0..min(8, M − i_0·8)
//!         y[…] = tile[i][j][v]                      →          for j in 0..2
//!                                                                if j_0·32 + j·16 + 15 < N
//!                                                                  vectorized v in 0..16: y[…] = tile[i][j][v]
//!                                                                else
//!                                                                  for v in 0..min(16, N − j_0·32 − j·16): y[…] = tile[i][j][v]
//! ```
//!
//! So a tile of which some rows lie outside is stored by vectors, too. Where the value reads the element that it replaces, all rows at the edge
//! are read before the first is written: rows may be shorter than a vector, and what is loaded near to what a mask has just stored waits
//! until that has reached the cache.
//!
//! ```text
//! for i in 0..8                                            for i in 0..8
//!   vectorized v in 0..16                                    vectorized v in 0..16
//!     if v < N: y[i][v] = tile[i][v] + y[i][v]        →        tile[i][v] = tile[i][v] + if v < N { y[i][v] } else 0
//!                                                          for i in 0..8
//!                                                            vectorized v in 0..16: if v < N: y[i][v] = tile[i][v]
//! ```
//!
//! An edge is *brief* where code is only screened: whether all lies inside is asked around all loops alone, and an unrolled tile of vectors goes to
//! the stack, where its rows are counted.
//!
//! ```text
//! for i in 0..8                                            for i in 0..8: for j in 0..2: vectorized v in 0..16: rows[i][j][v] = tile[i][j][v]
//!   for j in 0..2                                          for i in 0..min(8, M − i_0·8)
//!     vectorized v in 0..16                           →      for j in 0..2
//!       if i_0·8 + i < M && j_0·32 + j·16 + v < N              vectorized v in 0..16: if j_0·32 + j·16 + v < N: y[…] = rows[i][j][v]
//!         y[…] = tile[i][j][v]
//! ```
//!
//! Steps of a sum whose lanes are masked at the end are those before it, without masks, and the others:
//!
//! ```text
//! for k in 0..steps                                        let k_inside = min(steps, K / 16)
//!   vectorized v in 0..16                                  for k in 0..k_inside
//!     tile[v] += if k·16 + v < K { x[k·16 + v] } else 0  →   vectorized v in 0..16: tile[v] += x[k·16 + v]
//!                                                          for k_edge in 0..steps − k_inside
//!                                                            vectorized v in 0..16: …, where k = k_inside + k_edge
//! ```

use std::ops::{Add, Div, Sub};
use std::sync::Arc;

use crate::ir::{Buffer, CompareOp, Expr, ForKind, Name, Scope, Stmt, affine};
use crate::lower::{guard, lanes};

/// Splits every ragged copy and every ragged final store into an inside and an edge; of a `brief` edge there is little text, which takes longer.
pub(super) fn partition(body: Stmt, brief: bool) -> Stmt {
    let mut within = |stmt| partition(stmt, brief);
    match body {
        Stmt::For { .. } => match (Ragged::of(&body, brief), masked_steps(&body)) {
            (Some((ragged, guards)), _) => ragged.split(0, &guards, Known::Nothing),
            (None, Some(steps)) => steps,
            (None, None) => body.map_children(&mut within),
        },
        Stmt::View { view, inside, whole, edge, fill, body } => {
            let (fill, body) = (Box::new(filled(*fill, brief)), Box::new(within(*body)));
            Stmt::View { view, inside, whole, edge, fill, body }
        }
        other => other.map_children(&mut within),
    }
}

/// The copy of a view, in one part or several: it is made where not all of it lies inside.
fn filled(fill: Stmt, brief: bool) -> Stmt {
    match (Ragged::of(&fill, brief), fill) {
        (Some((ragged, guards)), _) => ragged.split(0, &guards, Known::IsNotInside),
        (None, parts @ (Stmt::Seq(_) | Stmt::IfThenElse { .. })) => parts.map_children(&mut |part| filled(part, brief)),
        (None, other) => other.map(&mut serial),
    }
}

/// Steps of a sum in which vectors are masked, those in which all lanes are inside first, without masks.
fn masked_steps(stmt: &Stmt) -> Option<Stmt> {
    let Stmt::For { var, extent, kind: ForKind::Serial, body } = stmt else { return None };
    let mut lanes = Vec::new();
    let mut leaf = &**body;
    while let Stmt::For { var, extent, kind: ForKind::Unrolled | ForKind::Vectorized, body } = leaf {
        lanes.push((var.clone(), extent.clone()));
        leaf = body;
    }
    let Stmt::Store { buffer, value, .. } = leaf else { return None };
    let lane = &lanes.last().filter(|_| buffer.scope == Scope::Local)?.0;
    let mut mask = None;
    value.visit(&mut |e| mask = mask.take().or_else(|| lanes::first_or_zero(e, lane).map(|(.., condition)| condition)));
    let Expr::Compare(CompareOp::Lt, value, bound) = guard::at_corner(mask?, &lanes)? else { return None };
    let step = affine(&value)?.coefficient(var);
    if step <= 0 || bound.uses(var) {
        return None;
    }
    // ⌈(bound − value) / step⌉ steps have their last lane inside, if there are any.
    let left = (*bound).clone().sub(value.substitute(var, &Expr::Int(0)));
    let inside = left.add(Expr::Int(step - 1)).div(Expr::Int(step)).max(Expr::Int(0)).min(extent.clone());
    let unmasked = |e: &Expr| match e {
        Expr::Select(condition, then, _) if Some(&**condition) == mask => Some((**then).clone()),
        _ => None,
    };
    // No variable of a nest begins so.
    let [steps, edge] = ["inside", "edge"].map(|part| Name::from(format!("dietcode_{var}_{part}")));
    let until = || Expr::Var(steps.clone());
    let at_edge = (**body).clone().substitute(var, &until().add(Expr::Var(edge.clone())));
    let whole = (**body).clone().rewrite_exprs(&mut |e| e.rewrite(&mut { unmasked }));
    let body = Box::new(Stmt::seq([
        Stmt::for_(var.clone(), until(), ForKind::Serial, whole),
        Stmt::for_(edge, extent.clone().sub(until()), ForKind::Serial, at_edge),
    ]));
    Some(Stmt::Let { var: steps, value: inside, body })
}

/// A chain of loops around one guarded store.
struct Ragged {
    /// The outermost first.
    loops: Vec<(Name, Expr, ForKind)>,
    inside: Stmt,
    /// What is stored where a guard fails, if anything is.
    outside: Option<Stmt>,
    /// Whether its edge is to have little text.
    brief: bool,
}

/// What is known of the guards where loops begin.
#[derive(Clone, Copy, PartialEq)]
enum Known {
    Nothing,
    /// They do not hold in all of the loops.
    IsNotInside,
}

impl Ragged {
    /// The chain that a statement is, and its guards.
    fn of(stmt: &Stmt, brief: bool) -> Option<(Ragged, Vec<Expr>)> {
        let mut loops = Vec::new();
        let mut leaf = stmt;
        while let Stmt::For { var, extent, kind, body } = leaf {
            loops.push((var.clone(), extent.clone(), *kind));
            leaf = body;
        }
        let (condition, inside, outside) = match leaf {
            Stmt::IfThenElse { condition, then, otherwise: None } => match &**then {
                store @ Stmt::Store { buffer, .. } if buffer.scope == Scope::Global => (condition, store.clone(), None),
                _ => return None,
            },
            Stmt::Store { buffer, index, value: Expr::Select(condition, then, otherwise) }
                if buffer.scope == Scope::Panel && matches!(**otherwise, Expr::Float(_)) =>
            {
                let store =
                    |value: &Expr| Stmt::Store { buffer: buffer.clone(), index: index.clone(), value: value.clone() };
                (&**condition, store(then), Some(store(otherwise)))
            }
            _ => return None,
        };
        Some((Ragged { loops, inside, outside, brief }, guard::conjuncts(condition)))
    }

    /// The loops from one on, where these guards are not known to hold.
    fn split(&self, from: usize, guards: &[Expr], known: Known) -> Stmt {
        let moves = |guard: &&Expr| self.loops[from..].iter().any(|(var, ..)| guard.uses(var));
        let (moving, fixed): (Vec<&Expr>, Vec<&Expr>) = guards.iter().partition(moves);
        let moving: Vec<Expr> = moving.into_iter().cloned().collect();
        if let Some(condition) = fixed.into_iter().cloned().reduce(Expr::and) {
            let then = Box::new(self.split(from, &moving, Known::Nothing));
            let otherwise = self.outside.as_ref().map(|outside| Box::new(self.around(from, outside)));
            return Stmt::IfThenElse { condition, then, otherwise };
        }
        let Some(condition) = moving.iter().cloned().reduce(Expr::and) else { return self.around(from, &self.inside) };
        if let Some(masked) = self.masked(from, &moving) {
            return self.around(from, &masked);
        }
        let loops: Vec<(Name, Expr)> =
            self.loops[from..].iter().map(|(var, of, _)| (var.clone(), of.clone())).collect();
        // What is printed for each iteration of a loop around does not ask again whether all of the rest lies inside. Nor do final stores whose
        // text is to be short; copies do, of which one that hangs over is as long as many that do not.
        let is_short = self.brief && self.outside.is_none();
        let is_copied = from > 0 && (is_short || self.loops[from - 1].2 == ForKind::Unrolled);
        match guard::at_corner(&condition, &loops).filter(|_| known == Known::Nothing && !is_copied) {
            Some(condition) => {
                let then = Box::new(self.around(from, &self.inside));
                Stmt::IfThenElse { condition, then, otherwise: Some(Box::new(self.edge(from, moving))) }
            }
            None => self.edge(from, moving),
        }
    }

    /// The loops from one on, of which some run over an edge: the first of them, and each of its iterations for itself.
    fn edge(&self, from: usize, guards: Vec<Expr>) -> Stmt {
        if let Some(by_rows) = self.by_rows(&guards).filter(|_| from == 0) {
            return by_rows;
        }
        if let Some(steps) = self.read_first().filter(|_| from == 0) {
            return Stmt::seq(steps.map(|step| step.edge(from, guards.clone())));
        }
        let (var, extent, kind) = &self.loops[from];
        // An unrolled loop stays one: its iterations are registers.
        let kind = if *kind == ForKind::Unrolled { ForKind::Unrolled } else { ForKind::Serial };
        let ends = |guard: &Expr| self.end(from, guard).filter(|_| self.outside.is_none() && kind == ForKind::Serial);
        let (ending, others): (Vec<Expr>, Vec<Expr>) = guards.into_iter().partition(|guard| ends(guard).is_some());
        let extent = ending.iter().filter_map(ends).fold(extent.clone(), Expr::min);
        // What holds in all of the loops within does not depend on this one's iteration, unless a guard does.
        let same = ending.is_empty() && !others.iter().any(|guard| guard.uses(var));
        let known = if same { Known::IsNotInside } else { Known::Nothing };
        Stmt::for_(var.clone(), extent, kind, self.split(from + 1, &others, known))
    }

    /// The store in two steps, if a part of its value is the element that it replaces: the value takes its sum's place in the tile, from
    /// where it is stored.
    fn read_first(&self) -> Option<[Ragged; 2]> {
        let Stmt::Store { buffer, index, value } = &self.inside else { return None };
        let (lane, _, kind) = self.loops.last()?;
        let reads = value.any(&mut |e| matches!(e, Expr::Load(from, at) if from == buffer && at == index));
        let is_of_vectors = *kind == ForKind::Vectorized && lanes::can_be_masked(&self.inside, lane);
        if !reads || !is_of_vectors || buffer.dtype.is_integer() {
            return None;
        }
        let (tile, place) = self.own_sum().filter(|(tile, _)| !tile.dtype.is_integer())?;
        let value_of = Expr::Load(tile.clone(), place.clone());
        let step = |inside| Ragged { loops: self.loops.clone(), inside, outside: None, brief: self.brief };
        Some([
            step(Stmt::Store { buffer: tile, index: place, value: value.clone() }),
            step(Stmt::Store { buffer: buffer.clone(), index: index.clone(), value: value_of }),
        ])
    }

    /// The element of a tile on which the stored value depends, if each iteration has one of its own.
    fn own_sum(&self) -> Option<(Arc<Buffer>, Vec<Expr>)> {
        let Stmt::Store { value, .. } = &self.inside else { return None };
        let is_own = |at: &[Expr]| self.loops.iter().all(|(var, ..)| at.contains(&Expr::Var(var.clone())));
        let mut sum = None;
        value.visit(&mut |e| match e {
            Expr::Load(tile, at) if tile.scope == Scope::Local && is_own(at) => sum = Some((tile.clone(), at.clone())),
            _ => {}
        });
        sum
    }

    /// The store of an unrolled tile of vectors by way of a copy on the stack, in which rows are counted: a predicate and a mask for each vector
    /// of the tile are up to a half of what the compiler does for a micro-kernel.
    fn by_rows(&self, guards: &[Expr]) -> Option<Stmt> {
        let Stmt::Store { buffer, index, value } = &self.inside else { return None };
        let (lane, _, kind) = self.loops.last()?;
        let is_of_vectors = *kind == ForKind::Vectorized && lanes::can_be_masked(&self.inside, lane);
        let ends = |at: usize| {
            self.loops[at].2 == ForKind::Unrolled && guards.iter().any(|guard| self.end(at, guard).is_some())
        };
        if !self.brief || !is_of_vectors || !(0..self.loops.len()).any(ends) {
            return None;
        }
        let (tile, place) = self.own_sum()?;
        let rows = Arc::new(Buffer {
            // No variable of a nest begins so.
            name: Name::from(format!("dietcode_{}_rows", tile.name)),
            shape: self.loops.iter().map(|(_, extent, _)| extent.clone()).collect(),
            ..(*tile).clone()
        });
        let at: Vec<Expr> = self.loops.iter().map(|(var, ..)| Expr::Var(var.clone())).collect();
        let sum = Expr::Load(tile, place);
        let value = value.map(&mut |e| (*e == sum).then(|| Expr::Load(rows.clone(), at.clone())));
        // In a register, what a loop counts is not to be had.
        if value.any(&mut |e| matches!(e, Expr::Load(from, _) if from.scope == Scope::Local && *from != rows)) {
            return None;
        }
        let counted = |(at, (var, extent, kind)): (usize, &(Name, Expr, ForKind))| {
            (var.clone(), extent.clone(), if ends(at) { ForKind::Serial } else { *kind })
        };
        let stored = Ragged {
            loops: self.loops.iter().enumerate().map(counted).collect(),
            inside: Stmt::Store { buffer: buffer.clone(), index: index.clone(), value },
            outside: None,
            brief: self.brief,
        };
        let copied = self.around(0, &Stmt::Store { buffer: rows.clone(), index: at, value: sum });
        let body = Stmt::seq([copied, stored.edge(0, guards.to_vec())]);
        Some(Stmt::Allocate { buffer: rows, body: Box::new(body) })
    }

    /// What is left, if it is one vector, of which a mask stores or loads the first lanes.
    fn masked(&self, from: usize, guards: &[Expr]) -> Option<Stmt> {
        let ([(lane, _, ForKind::Vectorized)], [guard]) = (&self.loops[from..], guards) else { return None };
        let masked = match (&self.outside, self.inside.clone()) {
            (None, Stmt::Store { buffer, index, value }) if buffer.scope == Scope::Local => {
                let is_element = |e: &Expr| matches!(e, Expr::Load(from, _) if from.scope == Scope::Global);
                let value = value.map(&mut |e| {
                    let moves = is_element(e) && e.uses(lane);
                    moves.then(|| Expr::select(guard.clone(), e.clone(), Expr::Float(0.0)))
                });
                Stmt::Store { buffer, index, value }
            }
            (None, store) => Stmt::if_(guard.clone(), store),
            (Some(Stmt::Store { value: outside, .. }), Stmt::Store { buffer, index, value }) => {
                let value = Expr::Select(guard.clone().into(), value.into(), outside.clone().into());
                Stmt::Store { buffer, index, value }
            }
            _ => return None,
        };
        lanes::is_plain(&masked, lane).then_some(masked)
    }

    /// Where a loop ends by a guard that counts its iterations, and depends on none of the loops within.
    fn end(&self, at: usize, guard: &Expr) -> Option<Expr> {
        let (var, ..) = &self.loops[at];
        let Expr::Compare(CompareOp::Lt, value, bound) = guard else { return None };
        let counts = affine(value).is_some_and(|form| form.coefficient(var) == 1) && !bound.uses(var);
        let alone = !self.loops[at + 1..].iter().any(|(within, ..)| guard.uses(within));
        (counts && alone).then(|| (**bound).clone().sub(value.substitute(var, &Expr::Int(0))))
    }

    /// The loops from one on around a store.
    fn around(&self, from: usize, store: &Stmt) -> Stmt {
        let around =
            |body, (var, extent, kind): &(Name, Expr, ForKind)| Stmt::for_(var.clone(), extent.clone(), *kind, body);
        self.loops[from..].iter().rev().fold(store.clone(), around)
    }
}

fn serial(stmt: Stmt) -> Stmt {
    match stmt {
        Stmt::For { var, extent, kind: ForKind::Vectorized | ForKind::Unrolled, body } => {
            Stmt::For { var, extent, kind: ForKind::Serial, body }
        }
        other => other,
    }
}
