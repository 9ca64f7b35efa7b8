//! Puts a program's own buffers where they are needed, and makes them as large as what is touched there: TVM's passes
//! `PlanAndUpdateBufferAllocationLocation` and `CompactBufferAllocation`.
//!
//! A buffer stands inside of all loops that are around every access of it; one in global memory stands around the blocks of a grid. An
//! index moves, inside of that place, with the loops inside, and for memory that threads share with the loops over threads too. What
//! is left of it when the other loops stand at their beginning is the index into the compact buffer.

use std::sync::Arc;

use super::script::Script;
use crate::ir::{BinaryOp, Buffer, Expr, ForKind, Name, Scope, Stmt};
use crate::{Error, Result};

/// A loop around an access.
#[derive(Clone, PartialEq)]
struct Around {
    name: Name,
    extent: i64,
    kind: ForKind,
}

/// # Errors
/// An index that is no sum of what moves outside of the place and what moves inside.
pub(super) fn compact(script: &mut Script) -> Result<()> {
    for buffer in std::mem::take(&mut script.allocated) {
        let body = std::mem::replace(&mut script.body, Stmt::Sync);
        script.body = place(body, &buffer)?;
    }
    Ok(())
}

fn place(body: Stmt, buffer: &Arc<Buffer>) -> Result<Stmt> {
    let mut accesses = Vec::new();
    collect(&body, buffer, false, &mut Vec::new(), &mut accesses);
    let Some(first) = accesses.first() else { return Ok(body) };
    let common = |other: &[Around]| first.around.iter().zip(other).take_while(|(a, b)| a == b).count();
    let mut depth = accesses.iter().map(|access| common(&access.around)).min().unwrap_or(0);
    if buffer.scope == Scope::Panel {
        let block = first.around.iter().position(|around| around.kind == ForKind::BlockIdx);
        depth = depth.min(block.unwrap_or(depth));
    }
    let threads = |kind| buffer.scope == Scope::Shared && matches!(kind, ForKind::ThreadIdx | ForKind::VThread);
    let fixed: Vec<Name> =
        first.around[..depth].iter().filter(|around| !threads(around.kind)).map(|around| around.name.clone()).collect();
    let site = depth.checked_sub(1).map(|last| first.around[last].name.clone());

    // An access may reach beyond the buffer where a predicate stops it; what it touches is touched by others too.
    let guarded = accesses.iter().all(|access| access.guarded);
    let mut least = vec![i64::MAX; buffer.shape.len()];
    let mut most = vec![i64::MIN; buffer.shape.len()];
    let fixed: Vec<&[Name]> =
        (0..buffer.shape.len()).map(|dim| if move_as_one(&accesses, dim, &fixed) { &fixed[..] } else { &[] }).collect();
    for access in accesses.iter().filter(|access| !access.guarded || guarded) {
        for (dim, index) in access.index.iter().enumerate() {
            let (low, high) = range(&inside(index, fixed[dim]), &access.around)?;
            (least[dim], most[dim]) = (least[dim].min(low), most[dim].max(high));
        }
    }
    let extent = |dim: usize| {
        let whole = buffer.shape[dim].as_int().unwrap_or(i64::MAX);
        Expr::Int((most[dim] - least[dim] + 1).min(whole))
    };
    let shape = (0..buffer.shape.len()).map(extent).collect();
    let small = Arc::new(Buffer { shape, ..(**buffer).clone() });
    let moved = |index: &[Expr]| -> Vec<Expr> {
        let of_dim = |((index, least), fixed): ((&Expr, &i64), &&[Name])| {
            Expr::binary(BinaryOp::Sub, inside(index, fixed), Expr::Int(*least))
        };
        index.iter().zip(&least).zip(&fixed).map(of_dim).collect()
    };
    let loads = |e: &Expr| match e {
        Expr::Load(of, index) if of == buffer => Some(Expr::Load(small.clone(), moved(index))),
        _ => None,
    };
    let body = body.rewrite_exprs(&mut |e| e.rewrite(&mut |e| loads(e)));
    let body = body.map(&mut |stmt| match stmt {
        Stmt::Store { buffer: of, index, value } if of == *buffer => {
            Stmt::Store { buffer: small.clone(), index: moved(&index), value }
        }
        Stmt::For { var, extent, kind, body } if site.as_ref() == Some(&var) => {
            let body = Box::new(Stmt::Allocate { buffer: small.clone(), body });
            Stmt::For { var, extent, kind, body }
        }
        other => other,
    });
    Ok(match site {
        None => Stmt::Allocate { buffer: small, body: Box::new(body) },
        Some(_) => body,
    })
}

struct Access {
    around: Vec<Around>,
    index: Vec<Expr>,
    /// Whether a predicate is around it.
    guarded: bool,
}

fn collect(stmt: &Stmt, buffer: &Arc<Buffer>, guarded: bool, around: &mut Vec<Around>, accesses: &mut Vec<Access>) {
    match stmt {
        Stmt::For { var, extent, kind, body } => {
            around.push(Around { name: var.clone(), extent: extent.as_int().unwrap_or(1), kind: *kind });
            collect(body, buffer, guarded, around, accesses);
            around.pop();
        }
        Stmt::Store { buffer: of, index, value } => {
            let mut add = |index: &[Expr]| {
                accesses.push(Access { around: around.clone(), index: index.to_vec(), guarded });
            };
            if of == buffer {
                add(index);
            }
            value.visit(&mut |e| {
                if let Expr::Load(of, index) = e
                    && of == buffer
                {
                    add(index);
                }
            });
        }
        Stmt::Allocate { body, .. } => collect(body, buffer, guarded, around, accesses),
        Stmt::IfThenElse { then, .. } => collect(then, buffer, true, around, accesses),
        Stmt::Seq(stmts) => stmts.iter().for_each(|stmt| collect(stmt, buffer, guarded, around, accesses)),
        _ => {}
    }
}

/// An index where the loops outside stand at their beginning.
fn inside(index: &Expr, fixed: &[Name]) -> Expr {
    index.map(&mut |e| match e {
        Expr::Var(name) if fixed.contains(name) => Some(Expr::Int(0)),
        _ => None,
    })
}

/// Whether all accesses move by the same along a dimension when the loops outside do, so that it is left out of the index: tried at the
/// ends of these loops.
fn move_as_one(accesses: &[Access], dim: usize, fixed: &[Name]) -> bool {
    let moved = |access: &Access, last: &dyn Fn(usize) -> bool| {
        let at = |at_end: bool| {
            access.index[dim].map(&mut |e| match e {
                Expr::Var(name) => {
                    let position = fixed.iter().position(|known| known == name).filter(|position| last(*position));
                    let extent = access.around.iter().find(|around| around.name == *name).map_or(1, |a| a.extent);
                    Some(Expr::Int(position.filter(|_| at_end).map_or(0, |_| extent - 1)))
                }
                _ => None,
            })
        };
        Expr::binary(BinaryOp::Sub, at(true), at(false))
    };
    (0..fixed.len()).all(|this| {
        let mut moves = accesses.iter().map(|access| moved(access, &|position| position == this));
        let first = moves.next();
        moves.all(|moved| Some(moved) == first)
    })
}

/// The smallest and the largest value, operand by operand.
fn range(index: &Expr, around: &[Around]) -> Result<(i64, i64)> {
    let refused = || Error::input("an index of a buffer of the program's own is no arithmetic of loops".to_owned());
    Ok(match index {
        Expr::Int(value) => (*value, *value),
        Expr::Var(name) => {
            let found = around.iter().find(|around| around.name == *name).ok_or_else(refused)?;
            (0, found.extent - 1)
        }
        Expr::Binary(op, a, b) => {
            let (a, b) = (range(a, around)?, range(b, around)?);
            match op {
                BinaryOp::Add => (a.0 + b.0, a.1 + b.1),
                BinaryOp::Sub => (a.0 - b.1, a.1 - b.0),
                BinaryOp::Mul if b.0 == b.1 && b.0 >= 0 => (a.0 * b.0, a.1 * b.0),
                BinaryOp::Div if b.0 == b.1 && b.0 > 0 => (a.0.div_euclid(b.0), a.1.div_euclid(b.0)),
                BinaryOp::Mod if b.0 == b.1 && b.0 > 0 => match a.0.div_euclid(b.0) == a.1.div_euclid(b.0) {
                    true => (a.0.rem_euclid(b.0), a.1.rem_euclid(b.0)),
                    false => (0, b.0 - 1),
                },
                _ => return Err(refused()),
            }
        }
        _ => return Err(refused()),
    })
}
