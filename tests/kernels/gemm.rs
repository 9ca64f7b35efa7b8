//! The general products under test, with factors that are neither 0 nor 1.

use std::sync::LazyLock;

use dietcode::ops::*;
use dietcode::runtime::tunable::KernelOp;

use crate::ops::{Call, Op};

const ALPHA: f32 = 0.75;
const BETA: f32 = 0.5;

/// The shapes of A, B and C; an interleaved batch lies innermost.
fn shapes(d: &[usize], a_transposed: bool, b_transposed: bool, interleaved: bool) -> Vec<Vec<usize>> {
    let [batch, m, n, k] = d else { unreachable!("four shape variables") };
    let matrix = |rows: usize, columns: usize, transposed: bool| {
        let matrix = if transposed { [columns, rows] } else { [rows, columns] };
        let (before, after) = if interleaved { (None, Some(*batch)) } else { (Some(*batch), None) };
        before.into_iter().chain(matrix).chain(after).collect()
    };
    vec![matrix(*m, *k, a_transposed), matrix(*k, *n, b_transposed), matrix(*m, *n, false)]
}

macro_rules! product {
    ($op:ident, $a:tt, $b:tt, $interleaved:tt) => {{
        let kernel: Call = |inputs, c| $op(ALPHA, &inputs[0], &inputs[1], BETA, c);
        let reference: Call = |inputs, c| $op::reference(ALPHA, &inputs[0], &inputs[1], BETA, c);
        let tunable: Call = |inputs, c| {
            static OP: LazyLock<KernelOp> = LazyLock::new($op::tunable);
            $op::tuned(&OP, ALPHA, &inputs[0], &inputs[1], BETA, c)
        };
        let shapes: fn(&[usize]) -> Vec<Vec<usize>> = |d| shapes(d, $a, $b, $interleaved);
        let roundings: fn(&[usize]) -> usize = |d| d[3] + 3;
        let name = stringify!($op);
        let (vars, accumulates, stored) = (4, true, 0.0);
        Op { name, kernel, reference, tunable, there: None, vars, shapes, roundings, accumulates, stored }
    }};
}

pub(crate) const GEMMS: &[Op] = &[
    product!(gemm_nn, false, false, false),
    product!(gemm_nt, false, true, false),
    product!(gemm_tn, true, false, false),
    product!(gemm_tt, true, true, false),
    product!(gemm_nn_interleaved, false, false, true),
    product!(gemm_nt_interleaved, false, true, true),
    product!(gemm_tn_interleaved, true, false, true),
    product!(gemm_tt_interleaved, true, true, true),
];
