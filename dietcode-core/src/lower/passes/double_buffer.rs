//! Two of each packed panel: the next is packed before the current is computed with.
//!
//! It stands after local padding, which completes the copies, and before they become transposing copies and vectors, which
//! works for one panel as for one of two. What a GPU overlaps by a pipeline, a CPU's out-of-order execution does.
//!
//! ```text
//! for k_0 in 0..n                          if 0 < n: pack x[0] for 0
//!   pack x                                 for k_0 in 0..n
//!   … x …                           →        let half = k_0 % 2
//!                                            if k_0 + 1 < n: pack x[1 - half] for k_0 + 1
//!                                            … x[half] …
//! ```

use std::ops::{Add, Rem, Sub};
use std::sync::Arc;

use crate::ir::{Buffer, Expr, ForKind, Intrinsic, Name, Scope, Stmt};
use crate::schedule::{Pipeline, Schedule};
use crate::{Error, Result};

const HALVES: i64 = 2;

/// Doubles the panels, if the schedule asks for it.
///
/// # Errors
/// There is no serial loop that does nothing but pack panels and use them.
pub(super) fn double_buffer(body: Stmt, schedule: &Schedule) -> Result<Stmt> {
    if schedule.pipeline != Some(Pipeline::Panels) {
        return Ok(body);
    }
    let mut found = false;
    let body = outermost(body, &mut |stmt| {
        let steps = Steps::of(stmt)?;
        found = true;
        Some(steps.doubled(&schedule.fresh_name(&format!("{}_half", steps.var))))
    });
    if found {
        return Ok(body);
    }
    Err(Error::input(format!("schedule of `{}`: pipeline: no loop packs panels", schedule.block.name)))
}

/// Replaces statements from the outside in; what was replaced is not looked into.
fn outermost(stmt: Stmt, replace: &mut dyn FnMut(&Stmt) -> Option<Stmt>) -> Stmt {
    match replace(&stmt) {
        Some(stmt) => stmt,
        None => stmt.map_children(&mut |child| outermost(child, replace)),
    }
}

/// A loop that packs panels and uses them.
struct Steps {
    var: Name,
    extent: Expr,
    panels: Vec<Arc<Buffer>>,
    packs: Vec<Stmt>,
    uses: Stmt,
}

impl Steps {
    /// Windows that stand between or before the panels belong to what uses these, and so does what is asked for before them.
    fn of(stmt: &Stmt) -> Option<Steps> {
        let Stmt::For { var, extent, kind: ForKind::Serial, body } = stmt else { return None };
        let (mut panels, mut packs, mut windows) = (Vec::new(), Vec::new(), Vec::new());
        let (asked, mut uses) = asked_first(body);
        loop {
            match &uses {
                Stmt::Allocate { buffer, body } if buffer.scope == Scope::Panel => match &**body {
                    Stmt::Seq(stmts) if stmts.first().is_some_and(|pack| packs_panel(pack, buffer)) => {
                        panels.push(buffer.clone());
                        packs.push(stmts[0].clone());
                        uses = Stmt::seq(stmts[1..].to_vec());
                    }
                    Stmt::View { .. } => {
                        windows.push(uses.clone());
                        uses = (**body).clone();
                    }
                    _ => break,
                },
                Stmt::View { body, .. } => {
                    windows.push(uses.clone());
                    uses = (**body).clone();
                }
                _ => break,
            }
        }
        let uses = windows.into_iter().rev().fold(uses, |uses, window| around(window, uses));
        let uses = Stmt::seq(asked.into_iter().chain([uses]));
        (!panels.is_empty()).then(|| Steps { var: var.clone(), extent: extent.clone(), panels, packs, uses })
    }

    fn doubled(&self, half: &Name) -> Stmt {
        let here = Expr::Var(self.var.clone());
        let next = here.clone().add(Expr::Int(1));
        // Affine, unlike `(k_0 + 1) % 2`: what is packed there may still become a transposing copy.
        let ahead = self.pack(&next, &Expr::Int(1).sub(Expr::Var(half.clone())));
        let first = self.pack(&Expr::Int(0), &Expr::Int(0));
        let uses = self.of_half(self.uses.clone(), &Expr::Var(half.clone()));
        let body = Stmt::seq([ahead, uses]);
        let body = Stmt::Let { var: half.clone(), value: here.rem(Expr::Int(HALVES)), body: Box::new(body) };
        let steps = Stmt::for_(self.var.clone(), self.extent.clone(), ForKind::Serial, body);
        let allocate = |body, panel: &Arc<Buffer>| Stmt::Allocate {
            buffer: panel.with_dimension(0, HALVES),
            body: Box::new(body),
        };
        self.panels.iter().rev().fold(Stmt::seq([first, steps]), allocate)
    }

    /// Packs the panels of a step, if there is one.
    fn pack(&self, step: &Expr, half: &Expr) -> Stmt {
        let packs = self.packs.iter().map(|pack| self.of_half(pack.clone().substitute(&self.var, step), half));
        Stmt::if_(step.clone().lt(self.extent.clone()), Stmt::seq(packs))
    }

    fn of_half(&self, stmt: Stmt, half: &Expr) -> Stmt {
        self.panels.iter().fold(stmt, |stmt, panel| stmt.with_dimension(panel, 0, HALVES, half))
    }
}

/// The statements at the beginning that ask for what later tiles read, and the others.
fn asked_first(stmt: &Stmt) -> (Vec<Stmt>, Stmt) {
    let Stmt::Seq(stmts) = stmt else { return (Vec::new(), stmt.clone()) };
    let asked: Vec<Stmt> = stmts.iter().take_while(|stmt| asks(stmt)).cloned().collect();
    let others = Stmt::seq(stmts[asked.len()..].to_vec());
    (asked, others)
}

pub(super) fn asks(stmt: &Stmt) -> bool {
    match stmt {
        Stmt::Intrinsic(Intrinsic::Prefetch { .. }) => true,
        Stmt::For { body, .. } | Stmt::IfThenElse { then: body, otherwise: None, .. } => asks(body),
        Stmt::Seq(stmts) => stmts.iter().all(asks),
        _ => false,
    }
}

/// A window, or the copy behind it, around other statements.
fn around(window: Stmt, uses: Stmt) -> Stmt {
    let body = Box::new(uses);
    match window {
        Stmt::Allocate { buffer, .. } => Stmt::Allocate { buffer, body },
        Stmt::View { view, inside, whole, edge, fill, .. } => Stmt::View { view, inside, whole, edge, fill, body },
        _ => *body,
    }
}

/// Whether a statement is the copy that fills a panel.
fn packs_panel(stmt: &Stmt, panel: &Arc<Buffer>) -> bool {
    let mut inner = stmt;
    while let Stmt::For { body, .. } | Stmt::Let { body, .. } = inner {
        inner = body;
    }
    matches!(inner, Stmt::Store { buffer, .. } if buffer == panel)
}
