//! Reads of operands that were laid out before the call: where an element lies in its panels.
//!
//! It belongs to the first pass. Where tiles along the axis are whole panels, or parts of one, the number of the panel and the place in it are
//! sums of loop variables, and lanes of a vector are neighbours; else both are computed by division.
//!
//! ```text
//! j = j_0·48 + j_1·16 + j_2      w[j][k]     →     w[min(j_0·3 + j_1, ⌈N / 16⌉ − 1)][k][j_2]
//! ```
//!
//! Behind the extent of the axis a panel holds zeros, and a tile that hangs over the edge by whole panels reads the last one again, as
//! along any other spatial axis the last element: what it computes there is never stored.

use std::ops::{Add, Div, Mul, Rem, Sub};

use dietcode_syntax::{Prepared as Layout, Role};

use crate::ir::{Expr, IterVar, Prepared, affine};
use crate::lower::guard::Guard;
use crate::schedule::{Relation, Schedule};

/// The update of a sum with such reads, in terms of the loops where it indexes them, and of iteration variables elsewhere.
pub(super) fn read(schedule: &Schedule, guards: &[Guard], update: &Expr) -> Expr {
    if schedule.program.prepared.is_empty() {
        return update.clone();
    }
    update.map(&mut |e| match e {
        Expr::Load(buffer, index) => {
            let prepared = schedule.program.prepared(&buffer.name).filter(|prepared| prepared.tensor == *buffer)?;
            Some(Expr::Load(prepared.laid_out.clone(), place(schedule, guards, prepared, index)))
        }
        _ => None,
    })
}

/// The index of an element where it was laid out.
fn place(schedule: &Schedule, guards: &[Guard], prepared: &Prepared, index: &[Expr]) -> Vec<Expr> {
    let layout = &prepared.layout;
    let inside = |dim: &usize| {
        let hangs_over = |iter: &&IterVar| guards.iter().any(|guard| guard.root == iter.name);
        let clamped = schedule.block.iters_of(Role::Spatial).filter(hangs_over).fold(index[*dim].clone(), |e, iter| {
            let last = Expr::Var(iter.name.clone()).min(iter.extent.clone().sub(Expr::Int(1)));
            e.substitute(&iter.name, &last)
        });
        schedule.unsplit(&clamped)
    };
    let [panel, lane] = parts(schedule, &layout.axis, layout.panel);
    let panel = if hangs_over_by_panels(schedule, layout) {
        let panels = prepared.tensor.shape[layout.dim].clone().ceil_div(layout.panel);
        panel.min(panels.sub(Expr::Int(1)))
    } else {
        panel
    };
    let outer = layout.outer.iter().map(inside);
    outer.chain([panel]).chain(layout.inner.iter().map(inside)).chain([lane]).collect()
}

/// The quotient of an axis and its remainder.
fn parts(schedule: &Schedule, axis: &str, panel: i64) -> [Expr; 2] {
    let value = schedule.unsplit(&Expr::var(axis));
    let most = |name: &str| schedule.loops.iter().find(|l| *l.name == *name)?.limit.as_ref()?.as_int();
    let sums = || {
        let form = affine(&value).filter(|form| form.constant == 0)?;
        let (whole, rest): (Vec<_>, Vec<_>) = form.terms.into_iter().partition(|(_, step)| step % panel == 0);
        let farthest = rest.iter().try_fold(0i64, |sum, (name, step)| {
            let last = most(name)?.checked_sub(1)?;
            (*step > 0).then_some(sum.checked_add(step.checked_mul(last)?)?)
        })?;
        let sum = |terms: Vec<(String, i64)>, by: i64| {
            let term = |(name, step): (String, i64)| Expr::var(name.as_str()).mul(Expr::Int(step / by));
            terms.into_iter().map(term).fold(Expr::Int(0), Expr::add)
        };
        (farthest < panel).then(|| [sum(whole, panel), sum(rest, 1)])
    };
    sums().unwrap_or_else(|| [value.clone().div(Expr::Int(panel)), value.clone().rem(Expr::Int(panel))])
}

/// Whether tiles that hang over the edge of the axis may begin a panel that is not there.
fn hangs_over_by_panels(schedule: &Schedule, layout: &Layout) -> bool {
    let mut padded = schedule.relations.iter().filter_map(|relation| match relation {
        Relation::Split { parent, factor, guard: true, .. }
            if schedule.roots(parent).iter().any(|root| **root == *layout.axis) =>
        {
            Some(factor.as_int())
        }
        _ => None,
    });
    match (padded.next(), padded.next()) {
        (None, _) => false,
        (Some(Some(tile)), None) => layout.panel % tile != 0,
        _ => true,
    }
}
