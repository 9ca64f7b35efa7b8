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
//! Loops around it along the source's dimensions before the columns go with it: where its rows follow each other in memory, what is called has
//! as many columns as all of them.
//!
//! Where columns are missing too, as the last unrolled steps of a sum may be, the loops stay. Where an instruction takes several steps of a
//! sum in each lane, what is exchanged are as many neighbours at a time:
//!
//! ```text
//! for k_1 in 0..n                                          w_panel[…][0][0][0] = transpose w[…][…], valid of 16 lanes, n columns of 2
//!   vectorized j in 0..16                           →
//!     for k_2 in 0..2
//!       w_panel[…][k_1][j][k_2] = w[j_0·16 + j][k_0 + 2·k_1 + k_2]
//! ```

use crate::ir::{Buffer, CompareOp, Dot, Expr, ForKind, Intrinsic, Name, Run, Scope, Stmt, coefficient};
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
    let step = neighbours(&mut loops, (to, to_index), from_index);
    let neighbours = step.as_ref().map_or(1, |(_, count)| *count);
    let (lane, lanes, kind) = loops.pop()?;
    let lanes = lanes.as_int().filter(|_| kind == ForKind::Vectorized)?;
    let has_function =
        |dot: Dot| [dot.row().lanes, dot.row().steps] == [lanes, neighbours] && dot.has_lanes_of(to.dtype);
    if step.is_some() && !Dot::ALL.into_iter().any(has_function) {
        return None;
    }
    let from_dim = only_dim(from_index, &lane, 1).filter(|dim| dim + 1 < from_index.len())?;
    let at =
        loops.iter().rposition(|(name, ..)| only_dim(from_index, name, neighbours) == Some(from_index.len() - 1))?;
    let (column, columns, _) = loops.remove(at);
    if loops[at..].iter().any(|(_, extent, _)| extent.uses(&column)) {
        return None;
    }
    let to_stride = stride_along(to, to_index, &column)?;
    let (across, along) = guard::conjuncts(condition).into_iter().partition(|part| part.uses(&column));
    let mut inner = vec![(column.clone(), columns.clone())];
    inner.extend(step.iter().map(|(name, count)| (name.clone(), Expr::Int(*count))));
    let inside = all_columns(across, &lane, &inner)?;
    let valid = valid_lanes(along, &lane, lanes)?;
    // Columns that are missing need loops of their own.
    let (runs, names) = if inside == Expr::Int(1) {
        take_runs(&mut loops, (to, to_index), from_index, [&valid, &columns])
    } else {
        Default::default()
    };
    let first = |index: &[Expr]| {
        let at_zero = |e: Expr, name: &Name| e.substitute(name, &Expr::Int(0));
        let moving = inner.iter().map(|(name, _)| name).chain([&lane]).chain(&names);
        index.iter().map(|e| moving.clone().fold(e.clone(), at_zero)).collect()
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
        neighbours,
        runs,
    });
    let copy = match inside {
        Expr::Int(1) => copy,
        inside => {
            let steps = step
                .into_iter()
                .fold(leaf.clone(), |leaf, (name, count)| Stmt::for_(name, Expr::Int(count), ForKind::Serial, leaf));
            let lanes = Stmt::for_(lane, Expr::Int(lanes), ForKind::Serial, steps);
            let edge = Stmt::for_(column, columns, ForKind::Serial, lanes);
            Stmt::IfThenElse { condition: inside, then: Box::new(copy), otherwise: Some(Box::new(edge)) }
        }
    };
    Some(loops.into_iter().rev().fold(copy, |body, (name, extent, kind)| Stmt::for_(name, extent, kind, body)))
}

/// The loops, taken off, along the last dimensions of the source but for its columns, outermost first, with their names: rows that may follow
/// each other in memory, as the window and the channels of a convolution's weights do, and are short by themselves.
fn take_runs(
    loops: &mut Vec<(Name, Expr, ForKind)>,
    (to, to_index): (&Buffer, &[Expr]),
    from_index: &[Expr],
    inner: [&Expr; 2],
) -> (Vec<Run>, Vec<Name>) {
    let (mut runs, mut names) = (Vec::new(), Vec::new());
    while runs.len() < Run::MOST {
        let Some(dim) = (from_index.len() - 1).checked_sub(runs.len() + 1) else { break };
        let is_free = |(name, extent, kind): &(Name, Expr, ForKind)| {
            let named = inner.iter().any(|e| e.uses(name)) || loops.iter().any(|(_, of, _)| of.uses(name));
            let uses = loops.iter().any(|(other, ..)| extent.uses(other));
            *kind == ForKind::Serial && !named && !uses
        };
        let along = |(name, ..): &(Name, Expr, ForKind)| only_dim(from_index, name, 1) == Some(dim);
        let Some(at) = loops.iter().position(|each| along(each) && is_free(each)) else { break };
        let Some(to_dim) = only_dim(to_index, &loops[at].0, 1).filter(|dim| dim + 1 < to.shape.len()) else { break };
        let (name, extent, _) = loops.remove(at);
        runs.insert(0, Run { extent, to_dim, from_dim: dim });
        names.push(name);
    }
    (runs, names)
}

/// The innermost loop, taken off, if it runs over elements that are neighbours on both sides; and its iterations.
fn neighbours(
    loops: &mut Vec<(Name, Expr, ForKind)>,
    (to, to_index): (&Buffer, &[Expr]),
    from_index: &[Expr],
) -> Option<(Name, i64)> {
    let (name, extent, kind) = loops.last()?;
    let count = extent.as_int().filter(|_| *kind == ForKind::Serial)?;
    let last = |index: &[Expr]| only_dim(index, name, 1).is_some_and(|dim| dim + 1 == index.len());
    if !last(to_index) || !last(from_index) || to.shape.last() != Some(extent) {
        return None;
    }
    let name = name.clone();
    loops.pop();
    Some((name, count))
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

/// The one dimension along which a variable moves an index, by so much.
fn only_dim(index: &[Expr], name: &str, step: i64) -> Option<usize> {
    let coefficients = index.iter().map(|e| coefficient(e, name)).collect::<Option<Vec<i64>>>()?;
    let dim = coefficients.iter().position(|c| *c == step)?;
    (coefficients.iter().filter(|c| **c != 0).count() == 1).then_some(dim)
}

/// How far apart in a panel the neighbours along a variable lie.
fn stride_along(panel: &Buffer, index: &[Expr], name: &str) -> Option<i64> {
    let dim = only_dim(index, name, 1)?;
    panel.shape[dim + 1..].iter().try_fold(1i64, |stride, extent| stride.checked_mul(extent.as_int()?))
}

/// When all columns lie inside, with all elements of each, whatever the lane.
fn all_columns(across: Vec<Expr>, lane: &str, inner: &[(Name, Expr)]) -> Option<Expr> {
    let lanewise = across.iter().any(|part| part.uses(lane));
    let condition = across.into_iter().fold(Expr::Int(1), Expr::and);
    guard::at_corner(&condition, inner).filter(|_| !lanewise)
}

/// How many lanes lie inside: every guard is `base + lane < extent`.
fn valid_lanes(guards: Vec<Expr>, lane: &str, lanes: i64) -> Option<Expr> {
    guards.into_iter().try_fold(Expr::Int(lanes), |valid, part| {
        let Expr::Compare(CompareOp::Lt, value, extent) = part else { return None };
        if coefficient(&value, lane)? != 1 {
            return None;
        }
        let left = (*extent).clone().sub(value.substitute(lane, &Expr::Int(0)));
        Some(valid.min(left.max(Expr::Int(0))))
    })
}
