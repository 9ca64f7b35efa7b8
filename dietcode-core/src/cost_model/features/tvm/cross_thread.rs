//! Sums over threads: TVM's pass `LowerCrossThreadReduction`.
//!
//! ```text
//! for s { for k { C[s] = C[s] + x } }, k and threadIdx.x summed over
//!
//!     for s { for k { in_thread_C[0] = in_thread_C[0] + x }      if there is a k, or a predicate
//!             cross_thread_C[0] = what the threads have together, by shuffles
//!             if threadIdx.x == 0 { C[s] = cross_thread_C[0] } }
//! ```

use std::sync::Arc;

use super::script::{Reduction, Script};
use crate::ir::{Buffer, Expr, Scope, Stmt};

pub(super) fn lower(script: &mut Script) {
    for reduction in std::mem::take(&mut script.reductions) {
        let body = std::mem::replace(&mut script.body, Stmt::Sync);
        script.body = place(body, &reduction);
    }
}

/// The statement with the sums placed around its outermost loop that is summed over.
fn place(stmt: Stmt, reduction: &Reduction) -> Stmt {
    let outermost = match &stmt {
        Stmt::For { var, .. } => reduction.loops.contains(var),
        Stmt::Store { .. } | Stmt::IfThenElse { .. } => true,
        _ => false,
    };
    let Some((buffer, index)) = updated(&stmt, reduction).filter(|_| outermost) else {
        return stmt.map_children(&mut |child| place(child, reduction));
    };
    let sum = |whose: &str| {
        let name = format!("{whose}_{}", buffer.name).into();
        Arc::new(Buffer { name, dtype: buffer.dtype, shape: vec![Expr::Int(1)], scope: Scope::Local, swizzle: 0 })
    };
    let (of_thread, of_all) = (sum("in_thread"), sum("cross_thread"));
    let first = || vec![Expr::Int(0)];
    let written = Stmt::Store { buffer, index, value: Expr::Load(of_all.clone(), first()) };
    let written = Stmt::Allocate { buffer: of_all, body: Box::new(written) };
    if matches!(stmt, Stmt::Store { .. }) {
        return written;
    }
    let partial = stmt.map(&mut |stmt| match stmt {
        Stmt::Store { buffer, value, .. } if buffer.name == reduction.buffer => {
            let value = value.map(&mut |e| match e {
                Expr::Load(of, _) if of.name == reduction.buffer => Some(Expr::Load(of_thread.clone(), first())),
                _ => None,
            });
            Stmt::Store { buffer: of_thread.clone(), index: first(), value }
        }
        other => other,
    });
    Stmt::Allocate { buffer: of_thread, body: Box::new(Stmt::seq([partial, written])) }
}

/// What is summed up inside of a statement.
fn updated(stmt: &Stmt, reduction: &Reduction) -> Option<(Arc<Buffer>, Vec<Expr>)> {
    let mut found = None;
    stmt.visit(&mut |stmt| {
        if let Stmt::Store { buffer, index, value } = stmt
            && buffer.name == reduction.buffer
            && value.any(&mut |e| matches!(e, Expr::Load(of, _) if of.name == reduction.buffer))
        {
            found = Some((buffer.clone(), index.clone()));
        }
    });
    found
}
