//! Promotion of the accumulators' tile to registers.
//!
//! It stands after vectorization, which decides what the lanes are. A tile qualifies if each of its indices is a constant
//! where the loops around are unrolled, that is, such a loop's variable, and the last may be the lane of a vector;
//! otherwise it stays where it is, on the stack.

use std::sync::Arc;

use crate::ir::{Buffer, Expr, ForKind, Intrinsic, Name, Scope, Stmt};

/// More vectors than this, and the compiler would spill them anyway.
pub(crate) const MOST_VECTORS: i64 = 64;
/// The same for the scalars of a GPU's thread.
const MOST_SCALARS: i64 = 256;

/// Promotes what qualifies.
pub(super) fn registers(body: Stmt, gpu: bool) -> Stmt {
    let most = if gpu { MOST_SCALARS } else { MOST_VECTORS };
    body.map(&mut |stmt| match stmt {
        Stmt::Allocate { buffer, body } if buffer.scope == Scope::Local && qualifies(&buffer, &body, most) => {
            let promoted = Arc::new(Buffer { scope: Scope::Register, ..(*buffer).clone() });
            let body = body.rename(&buffer, &promoted);
            Stmt::Allocate { buffer: promoted, body: Box::new(body) }
        }
        other => other,
    })
}

/// A loop around an access: its variable, kind, and extent if that is a constant.
type Around = (Name, ForKind, Option<i64>);

fn qualifies(buffer: &Arc<Buffer>, body: &Stmt, most: i64) -> bool {
    let mut lanes = None;
    if !accesses_qualify(buffer, body, &mut Vec::new(), &mut lanes) {
        return false;
    }
    let elements: i64 = buffer.shape.iter().filter_map(Expr::as_int).product();
    elements / lanes.flatten().unwrap_or(1) <= most
}

/// Checks every access; `lanes` is how many lanes all of them agree on.
fn accesses_qualify(
    buffer: &Arc<Buffer>,
    stmt: &Stmt,
    loops: &mut Vec<Around>,
    lanes: &mut Option<Option<i64>>,
) -> bool {
    match stmt {
        Stmt::For { var, extent, kind, body } => {
            loops.push((var.clone(), *kind, extent.as_int()));
            let ok = accesses_qualify(buffer, body, loops, lanes);
            loops.pop();
            ok
        }
        Stmt::Store { buffer: to, index, value } => {
            (to != buffer || constant(index, loops, lanes)) && loads_qualify(buffer, value, loops, lanes)
        }
        Stmt::Let { body, .. } | Stmt::Allocate { body, .. } => accesses_qualify(buffer, body, loops, lanes),
        Stmt::View { fill, body, .. } => {
            accesses_qualify(buffer, fill, loops, lanes) && accesses_qualify(buffer, body, loops, lanes)
        }
        Stmt::IfThenElse { then, otherwise, .. } => {
            accesses_qualify(buffer, then, loops, lanes)
                && otherwise.iter().all(|stmt| accesses_qualify(buffer, stmt, loops, lanes))
        }
        Stmt::Seq(stmts) => stmts.iter().all(|stmt| accesses_qualify(buffer, stmt, loops, lanes)),
        Stmt::Intrinsic(intrinsic) => {
            let mut ok = true;
            intrinsic.values().into_iter().for_each(|value| ok &= loads_qualify(buffer, value, loops, lanes));
            // It writes elements one behind the other in memory.
            ok &= !matches!(intrinsic, Intrinsic::MeetLanes { to, .. } if to == buffer);
            let own = intrinsic.accesses().into_iter().filter(|(accessed, ..)| *accessed == buffer);
            ok && own.into_iter().all(|(_, index, _)| constant(index, loops, lanes))
        }
        Stmt::Sync => true,
    }
}

fn loads_qualify(buffer: &Arc<Buffer>, value: &Expr, loops: &[Around], lanes: &mut Option<Option<i64>>) -> bool {
    let mut ok = true;
    value.visit(&mut |e| {
        if let Expr::Load(from, index) = e {
            ok &= from != buffer || constant(index, loops, lanes);
        }
    });
    ok
}

fn constant(index: &[Expr], loops: &[Around], lanes: &mut Option<Option<i64>>) -> bool {
    let mut found = None;
    let known = index.iter().enumerate().all(|(dim, e)| match e {
        Expr::Int(_) => true,
        Expr::Var(name) => match loops.iter().rev().find(|(var, ..)| var == name) {
            Some((_, ForKind::Unrolled | ForKind::VThread, _)) => true,
            Some((_, ForKind::Vectorized, extent)) if dim + 1 == index.len() => {
                found = *extent;
                true
            }
            _ => false,
        },
        _ => false,
    });
    known && *lanes.get_or_insert(found) == found
}
