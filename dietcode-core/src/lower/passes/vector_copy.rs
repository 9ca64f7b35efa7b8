//! Copies of neighbours become one access of all lanes.
//!
//! It stands after local padding, whose selects say how many lanes exist. What cannot be such a copy becomes a plain loop.
//!
//! ```text
//! vectorized v in 0..4                                                       x_shared[k][i] = copy x[…][8·k_0 + k],
//!   x_shared[k + v][i] = if 8·k_0 + k + v < K { x[…][8·k_0 + k + v] }   →        K − (8·k_0 + k) of 4 lanes, 64 apart
//!                        else { 0 }
//! ```

use std::ops::{Rem, Sub};
use std::sync::Arc;

use crate::ir::{Buffer, CompareOp, Expr, ForKind, Intrinsic, Name, Scope, Stmt, affine};
use crate::lower::guard;

/// Replaces every vectorized copy.
pub(super) fn vector_copy(body: Stmt) -> Stmt {
    body.map(&mut |stmt| match stmt {
        Stmt::For { var, extent, kind: ForKind::Vectorized, body } => {
            let copy = extent.as_int().and_then(|lanes| copy(&var, lanes, &body));
            copy.unwrap_or(Stmt::For { var, extent, kind: ForKind::Serial, body })
        }
        other => other,
    })
}

/// A single element's copy: the value is a tensor's, or a constant outside of it.
pub(super) fn single(stmt: &Stmt) -> Option<Stmt> {
    copy(&"".into(), 1, stmt)
}

/// What copies write outside of a tensor where nothing else is asked for.
const ZEROS: Expr = Expr::Float(0.0);

fn copy(lane: &Name, lanes: i64, body: &Stmt) -> Option<Stmt> {
    let (condition, store) = match body {
        Stmt::IfThenElse { condition, then, otherwise: None } => (condition.clone(), &**then),
        store => (Expr::Int(1), store),
    };
    let Stmt::Store { buffer: to, index, value } = store else { return None };
    let (condition, load, padding) = match value {
        Expr::Select(inside, load, otherwise) if matches!(**otherwise, Expr::Float(_)) => {
            (condition.and((**inside).clone()), &**load, Some(&**otherwise).filter(|padding| **padding != ZEROS))
        }
        load => (condition, load, None),
    };
    let Expr::Load(from, from_index) = load else { return None };
    // A guard around the store leaves memory as it is; only global memory is copied to in that way.
    if matches!(body, Stmt::IfThenElse { .. }) && to.scope != Scope::Global {
        return None;
    }
    let first = |index: &[Expr]| index.iter().map(|e| e.substitute(lane, &Expr::Int(0))).collect();
    let (valid, whole) = valid(&condition, lane, lanes)?;
    (step(from, from_index, lane)? == 1 || lanes == 1).then_some(())?;
    Some(Stmt::Intrinsic(Intrinsic::Copy {
        to: to.clone(),
        to_index: first(index),
        to_step: if lanes == 1 { 1 } else { step(to, index, lane)? },
        from: from.clone(),
        from_index: first(from_index),
        lanes,
        valid,
        whole,
        padding: padding.cloned(),
        asynchronous: false,
        tf32: false,
    }))
}

/// How far the lanes of an access lie apart in memory.
fn step(buffer: &Arc<Buffer>, index: &[Expr], lane: &str) -> Option<i64> {
    let mut stride = Some(1i64);
    let mut step = 0;
    for (dim, e) in index.iter().enumerate().rev() {
        match affine(e)?.coefficient(lane) {
            0 => {}
            c => step += c * stride?,
        }
        // Strides of tensors are known at run time only, but for the last.
        let extent = if buffer.scope == Scope::Global { None } else { buffer.shape[dim].as_int() };
        stride = stride.zip(extent).and_then(|(stride, extent)| stride.checked_mul(extent));
    }
    Some(step)
}

/// How many lanes fulfil a condition: those from 0 on; and where it is all or none: vectors begin at multiples of their lanes.
fn valid(condition: &Expr, lane: &str, lanes: i64) -> Option<(Expr, Expr)> {
    let mut all = Expr::Int(1);
    let mut valid = Expr::Int(lanes);
    let mut whole = Expr::Int(1);
    for part in guard::conjuncts(condition) {
        let Expr::Compare(CompareOp::Lt, value, bound) = &part else { return None };
        match affine(value).map(|form| form.coefficient(lane)) {
            Some(1) if !bound.uses(lane) => {
                let left = (**bound).clone().sub(value.substitute(lane, &Expr::Int(0)));
                valid = if valid == Expr::Int(lanes) { left } else { valid.min(left) };
                let rest = (**bound).clone().rem(Expr::Int(lanes));
                whole = whole.and(Expr::compare(CompareOp::Eq, rest, Expr::Int(0)));
            }
            _ if !part.uses(lane) => all = all.and(part),
            _ => return None,
        }
    }
    Some((if all == Expr::Int(1) { valid } else { Expr::select(all, valid, Expr::Int(0)) }, whole))
}
