//! Sums by an instruction that shifts an operand: what that adds to them is subtracted.
//!
//! It stands after the sums became instructions. What a shifted operand adds is the sum for zeros in its place (`ir/dot.rs`), which depends on the
//! other operand alone, that of the lanes: it is computed once for all rows of the output, right after the panel is filled that holds that
//! operand, along each loop that the panel has outside of the sums.
//!
//! ```text
//! fill w_panel                                                          fill w_panel
//! for i_1 in 0..m                                                       for k_1 in 0..n
//!   for k_1 in 0..n                                                       vectorized j_v: sums[j_v] += vpdpbusd w_panel[k_1][j_v][0] · shifted 0
//!     unrolled i_t                                                 →    vectorized j_v: w_panel_zeros[j_v] = sums[j_v]
//!       vectorized j_v                                                  for i_1 in 0..m
//!         tile[i_t][j_v] += vpdpbusd w_panel[…] · shifted x[…]            for k_1 …: unrolled i_t …: vectorized j_v: tile[i_t][j_v] += …
//!                                                                         unrolled i_t: vectorized j_v: tile[i_t][j_v] −= w_panel_zeros[j_v]
//! ```
//!
//! An operand that lies in a panel, too, is shifted when that is filled, so that the instruction takes it as it is.

use std::ops::{Add, Sub};
use std::sync::Arc;

use super::double_buffer::asks;
use crate::ir::{Buffer, Dot, Expr, ForKind, Intrinsic, Name, Scope, Stmt};
use crate::schedule::Schedule;

/// Subtracts from every sum what shifting adds to it, and shifts what is packed.
pub(super) fn shifted(body: Stmt, schedule: &Schedule) -> Stmt {
    packed(corrected(body, schedule))
}

/// Each sum without what shifting adds to it.
fn corrected(body: Stmt, schedule: &Schedule) -> Stmt {
    let all = zeros(&body, schedule);
    if all.is_empty() {
        return body;
    }
    match only(all).filter(|zeros| zeros.may_move && !writes(&body, &zeros.panel)) {
        Some(Zeros { buffer, fill, .. }) => {
            let body = Box::new(Stmt::seq([fill, subtracted(body, &buffer)]));
            Stmt::Allocate { buffer, body }
        }
        None => body.map_children(&mut |child| corrected(child, schedule)),
    }
}

/// A loop: its variable, extent and kind.
type Loop = (Name, Expr, ForKind);

/// Loops that do nothing but add to a tile by an instruction that shifts.
struct Sum {
    /// The outermost first, the one over lanes last.
    loops: Vec<Loop>,
    dot: Dot,
    tile: Arc<Buffer>,
    index: Vec<Expr>,
    /// The operand of the lanes, in a panel, whose last dimension are the steps of a lane.
    panel: Arc<Buffer>,
    panel_index: Vec<Expr>,
}

/// Sums for zeros in place of the operand that is shifted.
#[derive(PartialEq)]
struct Zeros {
    /// Where they are: a panel with the dimensions of that of the operand which is not shifted, but for those along the sum.
    buffer: Arc<Buffer>,
    /// Where in it those of a sum are.
    index: Vec<Expr>,
    /// What computes them.
    fill: Stmt,
    /// What that reads.
    panel: Arc<Buffer>,
    /// Whether nothing that it needs is bound inside of the statement that it is for.
    may_move: bool,
}

impl Sum {
    /// A statement that is such loops. What asks for data ahead may stand among them.
    fn of(stmt: &Stmt) -> Option<Sum> {
        let (mut loops, mut inner) = (Vec::new(), stmt);
        loop {
            match inner {
                Stmt::For { var, extent, kind, body } => {
                    loops.push((var.clone(), extent.clone(), *kind));
                    inner = body;
                }
                Stmt::Seq(stmts) if !loops.is_empty() => inner = only(stmts.iter().filter(|stmt| !asks(stmt)))?,
                _ => break,
            }
        }
        let Stmt::Intrinsic(Intrinsic::Dot { dot, to, to_index, a, a_index, b: Some((b, _)) }) = inner else {
            return None;
        };
        dot.row().shifts([a.dtype, b.dtype]).then(|| Sum {
            loops,
            dot: *dot,
            tile: to.clone(),
            index: to_index.clone(),
            panel: a.clone(),
            panel_index: a_index.clone(),
        })
    }

    /// Whether a loop is one along the sum.
    fn sums_over(&self, (var, ..): &Loop) -> bool {
        !self.index.iter().any(|e| e.uses(var))
    }

    /// The loops over which the operand of the lanes moves, and of which there are tiles at edges, as they are elsewhere.
    fn columns(&self, schedule: &Schedule) -> Vec<Loop> {
        let moves = |of: &&Loop| !self.sums_over(of) && self.panel_index.iter().any(|e| e.uses(&of.0));
        let whole = |(var, extent, kind): &Loop| {
            let whole = schedule.loops.iter().find(|l| l.name == *var).map_or(extent, |l| &l.extent);
            (var.clone(), whole.clone(), *kind)
        };
        self.loops.iter().filter(moves).map(whole).collect()
    }

    fn zeros(&self, schedule: &Schedule) -> Zeros {
        let columns = self.columns(schedule);
        let is_along = |e: &Expr| self.loops.iter().any(|of| self.sums_over(of) && e.uses(&of.0));
        let dims = self.panel.shape.iter().zip(&self.panel_index).rev().skip(1).rev();
        // What sets the runs of the panel apart is not in between here.
        let limit = |e: &Expr| schedule.loops.iter().find(|l| *e == Expr::Var(l.name.clone()))?.limit.clone();
        let of_dim = |(extent, e): (&Expr, &Expr)| (limit(e).unwrap_or_else(|| extent.clone()), e.clone());
        let (shape, index): (Vec<Expr>, Vec<Expr>) = dims.filter(|(_, e)| !is_along(e)).map(of_dim).unzip();
        let of = |name: &str, shape: Vec<Expr>, scope| {
            let name = schedule.fresh_name(&format!("{}_{name}", self.panel.name));
            Arc::new(Buffer { name, dtype: self.tile.dtype, shape, scope, swizzle: 0 })
        };
        let buffer = of("zeros", shape, Scope::Panel);
        let sums = of("sums", columns.iter().map(|(_, extent, _)| extent.clone()).collect(), Scope::Local);
        let at: Vec<Expr> = columns.iter().map(|(var, ..)| Expr::Var(var.clone())).collect();
        let store = |buffer: &Arc<Buffer>, index: &[Expr], value| {
            around(&columns, Stmt::Store { buffer: buffer.clone(), index: index.to_vec(), value })
        };
        let along = self.loops.iter().filter(|of| self.sums_over(of)).cloned();
        let summed = Stmt::Intrinsic(Intrinsic::Dot {
            dot: self.dot,
            to: sums.clone(),
            to_index: at.clone(),
            a: self.panel.clone(),
            a_index: self.panel_index.clone(),
            b: None,
        });
        let body = Stmt::seq([
            store(&sums, &at, Expr::Float(0.0)),
            around(&along.chain(columns.clone()).collect::<Vec<Loop>>(), summed),
            store(&buffer, &index, Expr::Load(sums.clone(), at.clone())),
        ]);
        let fill = Stmt::Allocate { buffer: sums, body: Box::new(body) };
        Zeros { buffer, index, fill, panel: self.panel.clone(), may_move: true }
    }

    /// The sum, and what is subtracted after it.
    fn subtracted(&self, zeros: &Arc<Buffer>) -> Stmt {
        let sum = Expr::Load(self.tile.clone(), self.index.clone());
        let is_along = |e: &Expr| self.loops.iter().any(|of| self.sums_over(of) && e.uses(&of.0));
        let (_, dims) = self.panel_index.split_last().unwrap_or((&Expr::Int(0), &[]));
        let at = dims.iter().filter(|e| !is_along(e)).cloned().collect();
        let value = sum.sub(Expr::Load(zeros.clone(), at));
        let loops: Vec<Loop> = self.loops.iter().filter(|of| !self.sums_over(of)).cloned().collect();
        around(&loops, Stmt::Store { buffer: self.tile.clone(), index: self.index.clone(), value })
    }
}

/// The sums for zeros that a statement needs, each once.
fn zeros(stmt: &Stmt, schedule: &Schedule) -> Vec<Zeros> {
    if let Some(sum) = Sum::of(stmt) {
        return vec![sum.zeros(schedule)];
    }
    let mut all = Vec::new();
    let mut add = |child: &Stmt, moved: &dyn Fn(Zeros) -> Zeros| {
        for zeros in zeros(child, schedule).into_iter().map(moved) {
            if !all.contains(&zeros) {
                all.push(zeros);
            }
        }
    };
    match stmt {
        Stmt::For { var, extent, kind, body } => add(body, &|zeros| {
            if !zeros.fill.uses(var) {
                return zeros;
            }
            // Each iteration has a place of its own.
            let is_apart = zeros.index.iter().any(|e| e.uses(var));
            let may_move = zeros.may_move && matches!(kind, ForKind::Serial | ForKind::Unrolled) && is_apart;
            let fill = Stmt::for_(var.clone(), extent.clone(), ForKind::Serial, zeros.fill);
            Zeros { fill, may_move, ..zeros }
        }),
        Stmt::Let { var, body, .. } => {
            add(body, &|zeros| Zeros { may_move: zeros.may_move && !zeros.fill.uses(var), ..zeros });
        }
        Stmt::Allocate { body, .. } | Stmt::View { body, .. } => add(body, &|zeros| zeros),
        Stmt::IfThenElse { then, otherwise, .. } => {
            add(then, &|zeros| zeros);
            otherwise.iter().for_each(|stmt| add(stmt, &|zeros| zeros));
        }
        Stmt::Seq(stmts) => stmts.iter().for_each(|stmt| add(stmt, &|zeros| zeros)),
        Stmt::Store { .. } | Stmt::Intrinsic(_) | Stmt::Sync => {}
    }
    all
}

/// Each sum, and after it what is subtracted.
fn subtracted(stmt: Stmt, zeros: &Arc<Buffer>) -> Stmt {
    match Sum::of(&stmt) {
        Some(sum) => {
            let subtracted = sum.subtracted(zeros);
            Stmt::seq([stmt, subtracted])
        }
        None => stmt.map_children(&mut |child| subtracted(child, zeros)),
    }
}

/// Panels of operands that are shifted, filled with what these are then. Elements outside of tensors keep what is multiplied with zeros.
fn packed(body: Stmt) -> Stmt {
    let mut panels: Vec<Arc<Buffer>> = Vec::new();
    body.visit(&mut |stmt| match stmt {
        Stmt::Intrinsic(Intrinsic::Dot { dot, a, b: Some((b, _)), .. })
            if b.scope == Scope::Panel && dot.row().shifts([a.dtype, b.dtype]) && !panels.contains(b) =>
        {
            panels.push(b.clone());
        }
        _ => {}
    });
    panels.into_iter().fold(body, |body, panel| {
        let shifted = Arc::new(Buffer { dtype: Dot::shifted(panel.dtype), ..(*panel).clone() });
        let body = body.map(&mut |stmt| match stmt {
            Stmt::Store { buffer, index, value: value @ Expr::Load(..) } if buffer == panel => {
                Stmt::Store { buffer, index, value: value.add(Expr::Float(Dot::SHIFT)) }
            }
            Stmt::Allocate { buffer, body } if buffer == panel => Stmt::Allocate { buffer: shifted.clone(), body },
            other => other,
        });
        body.rename(&panel, &shifted)
    })
}

/// Whether a statement allocates a panel, or writes to it.
fn writes(stmt: &Stmt, panel: &Arc<Buffer>) -> bool {
    let mut found = false;
    stmt.visit(&mut |stmt| {
        found |= match stmt {
            Stmt::Allocate { buffer, .. } | Stmt::Store { buffer, .. } => buffer == panel,
            Stmt::Intrinsic(intrinsic) => {
                intrinsic.accesses().iter().any(|(buffer, _, written)| *written && *buffer == panel)
            }
            _ => false,
        };
    });
    found
}

/// Loops around a statement.
fn around(loops: &[Loop], stmt: Stmt) -> Stmt {
    loops.iter().rev().fold(stmt, |body, (var, extent, kind)| Stmt::for_(var.clone(), extent.clone(), *kind, body))
}

/// The one of several, if there are no others.
fn only<T>(all: impl IntoIterator<Item = T>) -> Option<T> {
    let mut all = all.into_iter();
    all.next().filter(|_| all.next().is_none())
}
