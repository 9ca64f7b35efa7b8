//! The transposing pack: a copy whose two sides are contiguous along different loops, done in registers.
//!
//! It stands before partitioning, since the instruction sequence handles missing lanes by itself.
//!
//! ```text
//! for k in 0..n                                          w_panel[…][0][0] = transpose w[…][…], valid of 16 lanes, n columns
//!   vectorized j in 0..16                         →
//!     w_panel[…][k][j] = if j_0·16 + j < N { w[j_0·16 + j][k_0 + k] } else { 0 }
//! ```
//!
//! Where columns are missing too, as the last unrolled steps of a sum may be, the loops stay.

use crate::ir::{Buffer, CompareOp, Expr, ForKind, Intrinsic, Name, Scope, Stmt, affine};
use crate::lower::guard;
use std::ops::Sub;

/// Replaces every copy of that kind by the intrinsic.
pub(super) fn transpose(body: Stmt) -> Stmt {
    match body {
        Stmt::For { .. } => replace(&body).unwrap_or_else(|| body.map_children(&mut transpose)),
        other => other.map_children(&mut transpose),
    }
}

fn replace(stmt: &Stmt) -> Option<Stmt> {
    let (mut loops, leaf) = loops(stmt);
    let Stmt::Store { buffer: to, index: to_index, value } = leaf else { return None };
    let (condition, load) = match value {
        // Lanes run along a spatial loop: what is computed of those outside of the tensor is never stored, whatever they hold.
        Expr::Select(condition, load, otherwise) if matches!(**otherwise, Expr::Float(_)) => (&**condition, &**load),
        load => (&Expr::Int(1), load),
    };
    let Expr::Load(from, from_index) = load else { return None };
    if to.scope != Scope::Panel || from.scope != Scope::Global {
        return None;
    }
    let (lane, lanes, kind) = loops.pop()?;
    let lanes = lanes.as_int().filter(|_| kind == ForKind::Vectorized)?;
    let from_dim = only_dim(from_index, &lane).filter(|dim| dim + 1 < from_index.len())?;
    let at = loops.iter().rposition(|(name, ..)| only_dim(from_index, name) == Some(from_index.len() - 1))?;
    let (column, columns, _) = loops.remove(at);
    if loops[at..].iter().any(|(_, extent, _)| extent.uses(&column)) {
        return None;
    }
    let to_stride = stride_along(to, to_index, &column)?;
    let (across, along) = guard::conjuncts(condition).into_iter().partition(|part| part.uses(&column));
    let inside = all_columns(across, &lane, (&column, &columns))?;
    let valid = valid_lanes(along, &lane, lanes)?;
    let first = |index: &[Expr]| {
        let zero = Expr::Int(0);
        index.iter().map(|e| e.substitute(&lane, &zero).substitute(&column, &zero)).collect()
    };
    let copy = Stmt::Intrinsic(Intrinsic::TransposeCopy {
        to: to.clone(),
        to_index: first(to_index),
        to_stride,
        from: from.clone(),
        from_index: first(from_index),
        from_dim,
        lanes,
        valid,
        columns: columns.clone(),
    });
    let copy = match inside {
        Expr::Int(1) => copy,
        inside => {
            let lanes = Stmt::for_(lane, Expr::Int(lanes), ForKind::Serial, leaf.clone());
            let edge = Stmt::for_(column, columns, ForKind::Serial, lanes);
            Stmt::IfThenElse { condition: inside, then: Box::new(copy), otherwise: Some(Box::new(edge)) }
        }
    };
    Some(loops.into_iter().rev().fold(copy, |body, (name, extent, kind)| Stmt::for_(name, extent, kind, body)))
}

/// A chain of loops and the statement in it.
fn loops(stmt: &Stmt) -> (Vec<(Name, Expr, ForKind)>, &Stmt) {
    let mut loops = Vec::new();
    let mut inner = stmt;
    while let Stmt::For { var, extent, kind, body } = inner {
        loops.push((var.clone(), extent.clone(), *kind));
        inner = body;
    }
    (loops, inner)
}

/// The one dimension along which a variable moves an index, by one.
fn only_dim(index: &[Expr], name: &str) -> Option<usize> {
    let coefficients = index.iter().map(|e| Some(affine(e)?.coefficient(name))).collect::<Option<Vec<i64>>>()?;
    let dim = coefficients.iter().position(|c| *c == 1)?;
    (coefficients.iter().filter(|c| **c != 0).count() == 1).then_some(dim)
}

/// How far apart in a panel the neighbours along a variable lie.
fn stride_along(panel: &Buffer, index: &[Expr], name: &str) -> Option<i64> {
    let dim = only_dim(index, name)?;
    panel.shape[dim + 1..].iter().try_fold(1i64, |stride, extent| stride.checked_mul(extent.as_int()?))
}

/// When all columns lie inside, whatever the lane.
fn all_columns(across: Vec<Expr>, lane: &str, (column, columns): (&Name, &Expr)) -> Option<Expr> {
    let lanewise = across.iter().any(|part| part.uses(lane));
    let condition = across.into_iter().fold(Expr::Int(1), Expr::and);
    guard::at_corner(&condition, &[(column.clone(), columns.clone())]).filter(|_| !lanewise)
}

/// How many lanes lie inside: every guard is `base + lane < extent`.
fn valid_lanes(guards: Vec<Expr>, lane: &str, lanes: i64) -> Option<Expr> {
    guards.into_iter().try_fold(Expr::Int(lanes), |valid, part| {
        let Expr::Compare(CompareOp::Lt, value, extent) = part else { return None };
        if affine(&value)?.coefficient(lane) != 1 {
            return None;
        }
        let left = (*extent).clone().sub(value.substitute(lane, &Expr::Int(0)));
        Some(valid.min(left.max(Expr::Int(0))))
    })
}
