//! The curve of arithmetic intensity: group 3 of `per_store_feature.cc`.
//!
//! Under each loop, from the innermost outwards, so many operations on elements are computed with so many bytes touched. Of their
//! ratio over the operations, joined by straight lines, ten points are taken, at a tenth of all operations, at two, ….

use super::{Around, Row};

const POINTS: usize = 10;

pub(super) fn names() -> Vec<String> {
    (0..POINTS).map(|at| format!("arith_intensity_curve_{at}")).collect()
}

/// `bytes` that are touched under each loop, the outermost first.
pub(super) fn features(around: &Around<'_>, bytes: &[f64], row: &mut Row) {
    let each = around.store.operations.floats() as f64;
    let mut operations = each;
    let curve: Vec<(f64, f64)> = around
        .store
        .path
        .iter()
        .zip(bytes)
        .rev()
        .map(|(at, bytes)| {
            operations *= around.tree.loops[*at].extent as f64;
            (operations, operations / bytes)
        })
        .collect();
    if each <= 0.0 || curve.is_empty() {
        return row.skip(POINTS);
    }
    let mut next = 0;
    for point in 1..=POINTS {
        let wanted = point as f64 / POINTS as f64 * operations;
        while next + 1 < curve.len() && curve[next].0 < wanted - 1e-4 {
            next += 1;
        }
        row.log(match next.checked_sub(1) {
            None => curve[0].1,
            Some(before) => {
                let ((from, low), (to, high)) = (curve[before], curve[next]);
                low + (high - low) / (to - from) * (wanted - from)
            }
        });
    }
}
