//! The kernels under test, each with its nest and what its parameters look like.

use std::sync::LazyLock;

use dietcode::Result;
use dietcode::ops::*;
use dietcode::runtime::Tensor;
use dietcode::runtime::cuda::CudaTensor;
use dietcode::runtime::tunable::KernelOp;

use crate::products::image;

/// A kernel, or the nest it was made from, on these inputs and this output.
pub(crate) type Call = fn(&[Tensor<f32>], &mut Tensor<f32>) -> Result<()>;

/// A kernel on inputs and an output on a device.
pub(crate) type CallThere = fn(&[CudaTensor<f32>], &mut CudaTensor<f32>) -> Result<()>;

pub(crate) struct Op {
    pub(crate) name: &'static str,
    pub(crate) kernel: Call,
    pub(crate) reference: Call,
    /// The kernel as an operation that is tuned at run time.
    pub(crate) tunable: Call,
    /// The kernel on a device, if it was compiled for one.
    pub(crate) there: Option<CallThere>,
    /// How many shape variables there are.
    pub(crate) vars: usize,
    /// The shapes of the inputs, then that of the output, at values of the shape variables.
    pub(crate) shapes: fn(&[usize]) -> Vec<Vec<usize>>,
    /// How many roundings stand between the inputs and one element of the output.
    pub(crate) roundings: fn(&[usize]) -> usize,
    /// Whether the output is added to.
    pub(crate) accumulates: bool,
    /// The unit roundoff of what an element of the output is rounded to when it is stored; 0 if it is an `f32`.
    pub(crate) stored: f64,
}

macro_rules! calls {
    ($op:ident($($input:tt),*)) => {
        (
            |inputs, y| $op($(&inputs[$input],)* y),
            |inputs, y| $op::reference($(&inputs[$input],)* y),
            |inputs, y| {
                static OP: LazyLock<KernelOp> = LazyLock::new($op::tunable);
                $op::tuned(&OP, $(&inputs[$input],)* y)
            },
            |inputs, y| $op($(&inputs[$input],)* y),
        )
    };
}

macro_rules! op {
    ($op:ident($($input:tt),*), $vars:tt, $shapes:expr, $roundings:expr, accumulates: $accumulates:tt) => {{
        let (kernel, reference, tunable, there): (Call, Call, Call, CallThere) = calls!($op($($input),*));
        let name = stringify!($op);
        Op {
            name,
            kernel,
            reference,
            tunable,
            there: Some(there),
            vars: $vars,
            shapes: $shapes,
            roundings: $roundings,
            accumulates: $accumulates,
            stored: 0.0,
        }
    }};
}

pub(crate) const OPS: &[Op] = &[
    op!(
        dense(0, 1),
        3,
        |d| vec![vec![d[0], d[2]], vec![d[1], d[2]], vec![d[0], d[1]]],
        |d| d[2],
        accumulates: false
    ),
    Op {
        name: "dense_prepared",
        kernel: |inputs, y| dense_prepared(&inputs[0], &dense_prepared::prepare_w(&inputs[1])?, y),
        reference: |inputs, y| dense_prepared::reference(&inputs[0], &inputs[1], y),
        tunable: |inputs, y| {
            static OP: LazyLock<KernelOp> = LazyLock::new(dense_prepared::tunable);
            dense_prepared::tuned(&OP, &inputs[0], &dense_prepared::prepare_w(&inputs[1])?, y)
        },
        // Operands are prepared for CPUs.
        there: None,
        vars: 3,
        shapes: |d| vec![vec![d[0], d[2]], vec![d[1], d[2]], vec![d[0], d[1]]],
        roundings: |d| d[2],
        accumulates: false,
        stored: 0.0,
    },
    op!(
        dense_bias_relu(0, 1, 2),
        3,
        |d| vec![vec![d[0], d[2]], vec![d[1], d[2]], vec![d[1]], vec![d[0], d[1]]],
        |d| d[2] + 1,
        accumulates: false
    ),
    op!(
        batch_matmul(0, 1),
        4,
        |d| vec![vec![d[0], d[1], d[3]], vec![d[0], d[3], d[2]], vec![d[0], d[1], d[2]]],
        |d| d[3] + 1,
        accumulates: true
    ),
    op!(
        conv2d(0, 1),
        6,
        |d| {
            let [o, c, h, w, r, s] = d else { unreachable!("six shape variables") };
            vec![vec![*c, image(*h, *r), image(*w, *s)], vec![*o, *c, *r, *s], vec![*o, *h, *w]]
        },
        |d| d[1] * d[4] * d[5] + 1,
        accumulates: true
    ),
    op!(row_sum(0), 2, |d| vec![vec![d[0], d[1]], vec![d[0]]], |d| d[1], accumulates: false),
    op!(outer(0, 1), 2, |d| vec![vec![d[0]], vec![d[1]], vec![d[0], d[1]]], |_| 1, accumulates: false),
    // The argument of tanh takes six roundings, none of them in a difference, and tanh does not enlarge a relative error;
    // tanh itself and the rest take ten at most. The bound is relative to |x|, and the result at |x| is at least half that.
    op!(gelu(0), 1, |d| vec![vec![d[0]], vec![d[0]]], |_| 32, accumulates: false),
    // erf falls behind its argument: two roundings of the argument, and six of its own, are at most eight of a number that is
    // at most 1. Two more come after it; and so does what the reference does.
    op!(gelu_exact(0), 1, |d| vec![vec![d[0]], vec![d[0]]], |_| 32, accumulates: false),
];
