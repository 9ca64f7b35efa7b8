//! A register cache: what a thread of a GPU reads of an operand into registers of its own, by vectors. It is zero where the
//! tile hangs over the edge.
//!
//! It belongs to the first pass. The lanes it makes become one access where copies become vectors; there is no other thread to
//! wait for, so there is no barrier.
//!
//! ```text
//! for i_i in 0..4                              for i_i in 0..4
//!   for k_1 in 0..8                      →       for x_step in 0..2
//!     x_held[i_i][k_1] = x[…][…]                   vectorized x_lane in 0..4
//!                                                    x_held[i_i][4·x_step + x_lane] = x[…][…]
//! ```

use std::ops::{Add, Mul};

use crate::ir::{Expr, ForKind, Stmt, affine};
use crate::schedule::{Loop, Schedule};

/// Lanes are neighbours in the tensor, at an address that is a multiple of their width if the rows' addresses are.
pub(super) fn check_vector(schedule: &Schedule, dims: &[usize], index: &[Expr], lanes: i64) -> Result<(), String> {
    if lanes == 1 {
        return Ok(());
    }
    let Some((last, (contiguous, outer))) = dims.last().zip(index.split_last()) else {
        return Err("a single element is no vector".into());
    };
    let l = &schedule.loops[*last];
    let form = affine(contiguous).filter(|form| form.coefficient(&l.name) == 1);
    let aligned = form.is_some_and(|form| {
        form.constant % lanes == 0 && form.terms.iter().all(|(name, c)| **name == *l.name || c % lanes == 0)
    });
    if !aligned || outer.iter().any(|e| e.uses(&l.name)) {
        return Err(format!("vectors of {lanes}: `{contiguous}` is not an aligned run of neighbours"));
    }
    match l.extent.as_int() {
        Some(extent) if extent % lanes == 0 => Ok(()),
        _ => Err(format!("vectors of {lanes} do not divide its {} elements along `{}`", l.extent, l.name)),
    }
}

/// The loop along which the copy is contiguous around its statement, by vectors.
pub(super) fn by_vectors(schedule: &Schedule, l: &Loop, lanes: i64, copy: Stmt) -> Stmt {
    let [step, lane] = ["step", "lane"].map(|part| schedule.fresh_name(&format!("{}_{part}", l.name)));
    let here = Expr::Var(step.clone()).mul(Expr::Int(lanes)).add(Expr::Var(lane.clone()));
    let steps = l.extent.as_int().unwrap_or(lanes) / lanes;
    let vector = Stmt::for_(lane, Expr::Int(lanes), ForKind::Vectorized, copy.substitute(&l.name, &here));
    Stmt::for_(step, Expr::Int(steps), ForKind::Serial, vector)
}
