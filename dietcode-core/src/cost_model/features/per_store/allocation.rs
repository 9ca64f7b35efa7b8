//! The buffer's size and place, and what is around the store: groups 4 and 5 of `per_store_feature.cc`.

use super::{Around, Row};

pub(super) const NAMES: [&str; 7] = [
    "alloc_size",
    "alloc_prod",
    "alloc_outer_prod",
    "alloc_inner_prod",
    "outer_prod",
    "num_loops",
    "auto_unroll_max_step",
];

pub(super) fn features(around: &Around<'_>, row: &mut Row) {
    let buffer = &around.tree.buffers[around.store.accesses[0].buffer];
    let (size, product, outer) = match buffer.outer_prod {
        Some(outer) => {
            let elements = buffer.elements() as f64;
            (elements * buffer.bytes as f64, elements * outer as f64, outer as f64)
        }
        None => (0.0, 0.0, 1.0),
    };
    row.log(size);
    row.log(product);
    row.log(outer);
    row.log(around.product / outer);
    row.log(around.product);
    row.log(around.store.path.len() as f64);
    let mut steps = around.store.path.iter().rev().map(|at| around.tree.loops[*at].unroll_max_step);
    row.log(steps.find(|steps| *steps > 0).unwrap_or(0) as f64);
}
