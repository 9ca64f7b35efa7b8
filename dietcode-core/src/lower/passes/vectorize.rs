//! Vectorization: which loops can be one statement on vectors.
//!
//! It stands after partitioning, which leaves plain stores inside of the tensor, and at its edge stores of the first lanes. A loop
//! marked as vectorized whose body is anything else becomes serial here (the C compiler may still find something); what is left, the
//! code generator prints as it stands.

use crate::ir::{ForKind, Stmt};
use crate::lower::lanes;

/// Keeps a loop vectorized only if its body is one store of lane-wise arithmetic to neighbouring elements.
pub(super) fn vectorize(body: Stmt) -> Stmt {
    body.map(&mut |stmt| match stmt {
        Stmt::For { var, extent, kind: ForKind::Vectorized, body } => {
            let kind = if lanes::is_plain(&body, &var) { ForKind::Vectorized } else { ForKind::Serial };
            Stmt::For { var, extent, kind, body }
        }
        other => other,
    })
}
