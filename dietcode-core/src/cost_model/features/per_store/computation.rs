//! What is computed, and how the loops around it are carried out: group 1 of `per_store_feature.cc`.
//!
//! Operations are those of the stored value and of the indices of what it loads, times the iterations of all loops. Of loops that are
//! vectors (unrolled, parallel): how many, their product, the length of the innermost, and where they are, which is `kPosNone` or
//! `kPosMixed`: TVM has names for more places and never says them.

use super::super::operations::KINDS;
use super::{Around, Row};
use crate::ir::ForKind;

const OPERATIONS: [&str; KINDS] = [
    "float_mad",
    "float_addsub",
    "float_mul",
    "float_divmod",
    "float_cmp",
    "float_mathfunc",
    "float_otherfunc",
    "int_mad",
    "int_addsub",
    "int_mul",
    "int_divmod",
    "int_cmp",
    "int_mathfunc",
    "int_otherfunc",
    "bool_op",
    "select_op",
];

const ANNOTATIONS: [(&str, ForKind); 3] =
    [("vec", ForKind::Vectorized), ("unroll", ForKind::Unrolled), ("parallel", ForKind::Parallel)];

const PLACES: [&str; 8] = [
    "kPosNone",
    "kPosInnerSpatial",
    "kPosMiddleSpatial",
    "kPosOuterSpatial",
    "kPosInnerReduce",
    "kPosMiddleReduce",
    "kPosOuterReduce",
    "kPosMixed",
];

const BOUND: [&str; 8] = [
    "is_gpu",
    "blockIdx_x_len",
    "blockIdx_y_len",
    "blockIdx_z_len",
    "threadIdx_x_len",
    "threadIdx_y_len",
    "threadIdx_z_len",
    "vthread_len",
];

pub(super) fn names() -> Vec<String> {
    let annotation = |(name, _)| {
        let of_kind = ["num", "prod", "len"].map(|what| format!("{name}_{what}"));
        of_kind.into_iter().chain(PLACES.map(|place| format!("{name}_type.{place}")))
    };
    let annotations = ANNOTATIONS.into_iter().flat_map(annotation);
    OPERATIONS.map(String::from).into_iter().chain(annotations).chain(BOUND.map(String::from)).collect()
}

pub(super) fn features(around: &Around<'_>, is_gpu: bool, row: &mut Row) {
    for count in around.store.operations.0 {
        row.log(count as f64 * around.product);
    }
    for (_, kind) in ANNOTATIONS {
        let (mut number, mut product, mut innermost) = (0, 1.0, 0);
        for extent in around.extents(kind) {
            (number, product, innermost) = (number + 1, product * extent as f64, extent);
        }
        row.log(f64::from(number));
        row.log(if number == 0 { 0.0 } else { product });
        row.log(innermost as f64);
        row.one_hot(if number == 0 { 0 } else { PLACES.len() - 1 }, PLACES.len());
    }
    row.plain(f64::from(is_gpu));
    let along = |kind: ForKind, axis: usize| {
        let loops = around.store.path.iter().map(|at| &around.tree.loops[*at]);
        let mut bound = loops.filter(|this| this.kind == kind && (kind == ForKind::VThread || this.axis == axis));
        bound.next().map_or(1, |this| this.extent) as f64
    };
    for kind in [ForKind::BlockIdx, ForKind::ThreadIdx] {
        (0..3).for_each(|axis| row.log(along(kind, axis)));
    }
    row.log(along(ForKind::VThread, 0));
}
