//! The ranges of indices that a call has to check, because the types alone do not settle them.
//!
//! In `x[c][h + r]` with `h` in `0..H` and `r` in `0..R`, the second index runs from 0 to `H + R - 2`; whether that is
//! inside the tensor depends on the extents that a call brings. A side that holds for every shape is pruned.
//!
//! Assumed: extents are not negative (they are lengths), and all loops run at least once. If some loop has no
//! iteration its accesses do not happen, and the range may be reported although nothing is read there. The same holds for
//! a sum whose condition does not hold.

use crate::{Affine, Expr, KernelDef};

/// The range of one index, over all iterations of the loops, in terms of shape variables.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bound {
    /// The parameter that is indexed.
    pub param: usize,
    /// The dimension that is indexed.
    pub dim: usize,
    /// The least value of the index; a call checks that it is not negative.
    pub least: Affine,
    /// The greatest value of the index; a call checks that it is below the extent.
    pub greatest: Affine,
    /// The index, in terms of loop variables.
    pub index: Affine,
}

/// The bounds that a call of the kernel has to check, each once, outputs first.
///
/// # Panics
/// If a coefficient does not fit into an `i64`, which cannot happen for what [`crate::parse_kernel`] accepts: it limits
/// coefficients to [`crate::MAX_COEFFICIENT`] and the depth of the nest to [`crate::MAX_LOOPS`].
pub fn bounds(def: &KernelDef) -> Vec<Bound> {
    let mut accesses = Vec::new();
    accesses.push((def.output, def.output_index.as_slice()));
    def.values().for_each(|value| loads(value, &mut accesses));
    accesses.extend(def.idle_reads.iter().map(|(param, index)| (*param, index.as_slice())));

    let mut bounds = Vec::new();
    for (param, indices) in accesses {
        for (dim, index) in indices.iter().enumerate() {
            let bound = bound(def, param, dim, index).expect("parse_kernel limits coefficients");
            if !holds(def, &bound).expect("parse_kernel limits coefficients") && !bounds.contains(&bound) {
                bounds.push(bound);
            }
        }
    }
    bounds
}

fn loads<'a>(expr: &'a Expr, into: &mut Vec<(usize, &'a [Affine])>) {
    match expr {
        Expr::Acc | Expr::Literal(_) | Expr::Index(_) => {}
        Expr::Load { param, index } => into.push((*param, index)),
        Expr::Binary(_, lhs, rhs) => [lhs, rhs].into_iter().for_each(|side| loads(side, into)),
        Expr::Call(_, arguments) => arguments.iter().for_each(|argument| loads(argument, into)),
        Expr::Select { lhs, rhs, then, otherwise, .. } => {
            [lhs, rhs, then, otherwise].into_iter().for_each(|part| loads(part, into));
        }
    }
}

/// Each loop variable is replaced by the end of its range that makes the index least or greatest.
fn bound(def: &KernelDef, param: usize, dim: usize, index: &Affine) -> Option<Bound> {
    let (mut least, mut greatest) = (Affine::constant(index.constant), Affine::constant(index.constant));
    for (name, coefficient) in &index.terms {
        match def.loops.iter().find(|l| l.name == *name) {
            Some(l) => {
                let last = l.extent.add_scaled(&Affine::constant(1), -1)?;
                let end = if *coefficient < 0 { &mut least } else { &mut greatest };
                *end = end.add_scaled(&last, *coefficient)?;
            }
            None => {
                least = least.add_scaled(&Affine::var(name), *coefficient)?;
                greatest = greatest.add_scaled(&Affine::var(name), *coefficient)?;
            }
        }
    }
    Some(Bound { param, dim, least, greatest, index: index.clone() })
}

/// Whether `0 <= least` and `greatest < extent` at every shape.
fn holds(def: &KernelDef, bound: &Bound) -> Option<bool> {
    let room = def.params[bound.param].dims[bound.dim].add_scaled(&bound.greatest, -1)?;
    let room = room.add_scaled(&Affine::constant(1), -1)?;
    Some(never_negative(&bound.least) && never_negative(&room))
}

/// Whether a value is not negative at any shape.
pub(crate) fn never_negative(affine: &Affine) -> bool {
    affine.constant >= 0 && affine.terms.iter().all(|(_, coefficient)| *coefficient >= 0)
}
