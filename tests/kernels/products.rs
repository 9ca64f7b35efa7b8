//! The matrix products under test: every form, batched or not, in every element type; and convolutions of f16.

use std::sync::LazyLock;

use dietcode::ops::*;
use dietcode::runtime::tunable::KernelOp;
use dietcode::runtime::{Element, Tensor};
use dietcode::{Result, bf16, f16};

use crate::ops::{Call, Op};

/// A product of x and w into y.
type Product<T> = fn(&Tensor<T>, &Tensor<T>, &mut Tensor<T>) -> Result<()>;

/// Runs a kernel of another element type: inputs are rounded to it, and what is in its output is given back.
fn through<T: Element + Into<f32>>(
    round: fn(f32) -> T,
    inputs: &[Tensor<f32>],
    y: &mut Tensor<f32>,
    call: Product<T>,
) -> Result<()> {
    let rounded = |tensor: &Tensor<f32>| Tensor::from_fn(tensor.shape(), |at| round(tensor.as_slice()[at]));
    let mut out = rounded(y)?;
    call(&rounded(&inputs[0])?, &rounded(&inputs[1])?, &mut out)?;
    *y = Tensor::from_fn(out.shape(), |at| out.as_slice()[at].into())?;
    Ok(())
}

/// The shapes of x, w and y at m, n, k and maybe the size of a batch.
fn shapes(d: &[usize], x_transposed: bool, w_transposed: bool) -> Vec<Vec<usize>> {
    let (m, n, k) = (d[0], d[1], d[2]);
    let matrix = |rows: usize, columns: usize, transposed: bool| {
        let matrix = if transposed { [columns, rows] } else { [rows, columns] };
        d[3..].iter().copied().chain(matrix).collect()
    };
    vec![matrix(m, k, x_transposed), matrix(k, n, w_transposed), matrix(m, n, false)]
}

macro_rules! product {
    ($op:ident, $vars:tt, $shapes:expr, $roundings:expr, $ty:ty, $round:expr, $unit:expr) => {{
        let kernel: Call = |inputs, y| through::<$ty>($round, inputs, y, |x, w, y| $op(x, w, y));
        let reference: Call = |inputs, y| through::<$ty>($round, inputs, y, |x, w, y| $op::reference(x, w, y));
        let tunable: Call = |inputs, y| {
            static OP: LazyLock<KernelOp> = LazyLock::new($op::tunable);
            through::<$ty>($round, inputs, y, |x, w, y| $op::tuned(&OP, x, w, y))
        };
        let (shapes, roundings): (fn(&[usize]) -> Vec<Vec<usize>>, fn(&[usize]) -> usize) = ($shapes, $roundings);
        let name = stringify!($op);
        let (vars, accumulates, stored) = ($vars, false, $unit);
        Op { name, kernel, reference, tunable, there: None, vars, shapes, roundings, accumulates, stored }
    }};
}

/// The four forms of one type: neither, the second, the first, both transposed.
macro_rules! forms {
    ($vars:tt, $ty:ty, $round:expr, $unit:expr, $nn:ident, $nt:ident, $tn:ident, $tt:ident) => {
        [
            product!($nn, $vars, |d| shapes(d, false, false), |d| d[2], $ty, $round, $unit),
            product!($nt, $vars, |d| shapes(d, false, true), |d| d[2], $ty, $round, $unit),
            product!($tn, $vars, |d| shapes(d, true, false), |d| d[2], $ty, $round, $unit),
            product!($tt, $vars, |d| shapes(d, true, true), |d| d[2], $ty, $round, $unit),
        ]
    };
}

const F16: f64 = 1.0 / (1 << 11) as f64;
const BF16: f64 = 1.0 / (1 << 8) as f64;

#[rustfmt::skip]
pub(crate) const PRODUCTS: [[Op; 4]; 6] = [
    forms!(3, f32, |v| v, 0.0, matmul_nn, matmul_nt, matmul_tn, matmul_tt),
    forms!(3, f16, f16::from_f32, F16, matmul_nn_f16, matmul_nt_f16, matmul_tn_f16, matmul_tt_f16),
    forms!(3, bf16, bf16::from_f32, BF16, matmul_nn_bf16, matmul_nt_bf16, matmul_tn_bf16, matmul_tt_bf16),
    forms!(4, f32, |v| v, 0.0, batch_matmul_nn, batch_matmul_nt, batch_matmul_tn, batch_matmul_tt),
    forms!(4, f16, f16::from_f32, F16, batch_matmul_nn_f16, batch_matmul_nt_f16, batch_matmul_tn_f16, batch_matmul_tt_f16),
    forms!(4, bf16, bf16::from_f32, BF16, batch_matmul_nn_bf16, batch_matmul_nt_bf16, batch_matmul_tn_bf16, batch_matmul_tt_bf16),
];

/// The length of an image's side that a filter goes over.
pub(crate) fn image(extent: usize, filter: usize) -> usize {
    (extent + filter).saturating_sub(1)
}

/// Of planes, and of channels.
pub(crate) const CONVOLUTIONS: [Op; 2] = [
    product!(
        conv2d_f16,
        6,
        |d| {
            let [o, c, h, w, r, s] = *d else { unreachable!("six shape variables") };
            vec![vec![c, image(h, r), image(w, s)], vec![o, c, r, s], vec![o, h, w]]
        },
        |d| d[1] * d[4] * d[5],
        f16,
        f16::from_f32,
        F16
    ),
    product!(
        conv2d_nhwc_f16,
        6,
        |d| {
            let [o, c, h, w, r, s] = *d else { unreachable!("six shape variables") };
            vec![vec![image(h, r), image(w, s), c], vec![o, r, s, c], vec![h, w, o]]
        },
        |d| d[1] * d[4] * d[5],
        f16,
        f16::from_f32,
        F16
    ),
];
