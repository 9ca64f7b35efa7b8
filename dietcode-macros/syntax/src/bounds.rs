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
            let extent = |name: &str| def.loops.iter().find(|l| l.name == name).map(|l| &l.extent);
            let [least, greatest] = extremes(index, extent).expect("parse_kernel limits coefficients");
            let bound = Bound { param, dim, least, greatest, index: index.clone() };
            if !holds(def, &bound).expect("parse_kernel limits coefficients") && !bounds.contains(&bound) {
                bounds.push(bound);
            }
        }
    }
    bounds
}

fn loads<'a>(expr: &'a Expr, into: &mut Vec<(usize, &'a [Affine])>) {
    if let Expr::Load { param, index } = expr {
        into.push((*param, index));
    }
    expr.parts().into_iter().for_each(|part| loads(part, into));
}

/// The least and the greatest value of an index over all iterations of loops, whose extents are given by their variables: each of
/// these is replaced by the end of its range that makes the index least or greatest.
pub(crate) fn extremes<'a>(index: &Affine, extent: impl Fn(&str) -> Option<&'a Affine>) -> Option<[Affine; 2]> {
    let mut ends = [Affine::constant(index.constant), Affine::constant(index.constant)];
    for (name, coefficient) in &index.terms {
        match extent(name) {
            Some(extent) => {
                let end = &mut ends[usize::from(*coefficient > 0)];
                *end = end.add_scaled(&extent.plus(-1)?, *coefficient)?;
            }
            None => {
                for end in &mut ends {
                    *end = end.add_scaled(&Affine::var(name), *coefficient)?;
                }
            }
        }
    }
    Some(ends)
}

/// Whether `0 <= least` and `greatest < extent` at every shape.
fn holds(def: &KernelDef, bound: &Bound) -> Option<bool> {
    let room = def.params[bound.param].dims[bound.dim].add_scaled(&bound.greatest, -1)?.plus(-1)?;
    Some(never_negative(&bound.least) && never_negative(&room))
}

/// Whether a value is not negative at any shape.
pub(crate) fn never_negative(affine: &Affine) -> bool {
    affine.constant >= 0 && affine.terms.iter().all(|(_, coefficient)| *coefficient >= 0)
}
