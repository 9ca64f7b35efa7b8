//! Kernels as candle's custom operations.

use std::ffi::c_void;
use std::ops::{BitXor, Shl};
use std::slice;

use candle_core::{D, DType as CandleDType, Device, Shape, Tensor, Var};
use dietcode_core::abi::{MicroKernel, Phase, Table};
use dietcode_core::runtime::candle::CustomOp;
use dietcode_core::runtime::cuda::CudaTableSource;
use dietcode_core::runtime::{Affine, DType, Kernel, Param, ShapeVar, Signature, SignatureLoop, TableSource};

use crate::fake::{self, GOOD, NATIVELESS, WINDOW};
use crate::scalars::BLENDED;

const M: Affine = Affine { terms: &[(0, 1)], constant: 0 };
const N: Affine = Affine { terms: &[(1, 1)], constant: 0 };

/// `y[i][j] = -x[i][j]`, of elements of 16 bits.
const fn negation(name: &'static str, params: &'static [Param]) -> Kernel {
    static ROW: MicroKernel = fake::row(c"rows", &[Phase { grid: fake::rows, run: negate::<u16> }]);
    static TABLE: Table = Table::new(&[&ROW]);
    static LINKED: TableSource = TableSource::Linked(&TABLE);
    static NO_CUDA: CudaTableSource = CudaTableSource::Skipped("its config has no CUDA target");
    let signature = Signature {
        name,
        source_hash: 0,
        shape_vars: &[ShapeVar { name: "M", param: 1, dim: 0 }, ShapeVar { name: "N", param: 1, dim: 1 }],
        params,
        loops: &[
            SignatureLoop { name: "i", extent: M, reduce: false },
            SignatureLoop { name: "j", extent: N, reduce: false },
        ],
        bounds: &[],
        prepared: &[],
    };
    Kernel { signature, table: &LINKED, dispatch: |_| 0, cuda: &NO_CUDA }
}

const fn param(name: &'static str, dtype: DType, dims: &'static [Affine], mutable: bool) -> Param {
    Param { name, dtype, dims, mutable }
}

static HALVES: Kernel =
    negation("halves", &[param("x", DType::F16, &[M, N], false), param("y", DType::F16, &[M, N], true)]);
static BFLOATS: Kernel =
    negation("bfloats", &[param("x", DType::BF16, &[M, N], false), param("y", DType::BF16, &[M, N], true)]);
static DOUBLES: Kernel = {
    static ROW: MicroKernel = fake::row(c"rows", &[Phase { grid: fake::rows, run: negate::<u64> }]);
    static TABLE: Table = Table::new(&[&ROW]);
    static LINKED: TableSource = TableSource::Linked(&TABLE);
    let of = negation("doubles", &[param("x", DType::F64, &[M, N], false), param("y", DType::F64, &[M, N], true)]);
    Kernel { table: &LINKED, ..of }
};
/// Its input says nothing of M. It is never carried out.
static REPEATED: Kernel = Kernel {
    table: GOOD.table,
    ..negation("repeated", &[param("x", DType::F32, &[N], false), param("y", DType::F32, &[M, N], true)])
};

unsafe extern "C" fn negate<T: Copy + From<u8> + Shl<usize, Output = T> + BitXor<Output = T>>(
    buffers: *const *mut c_void,
    strides: *const i64,
    shape: *const i64,
    _: *mut c_void,
    begin: i64,
    end: i64,
) {
    // SAFETY: the launch hands over what the signature of `negation` says.
    unsafe {
        let [x, y] = [0, 1].map(|p| (*buffers.add(p)).cast::<T>());
        let strides = slice::from_raw_parts(strides, 4);
        for i in begin..end {
            for j in 0..*shape.add(1) {
                let sign = T::from(1) << (8 * size_of::<T>() - 1);
                *y.offset((i * strides[2] + j) as isize) = *x.offset((i * strides[0] + j) as isize) ^ sign;
            }
        }
    }
}

/// Small integers, whose sums are exact in any order.
fn integers(shape: impl Into<Shape>) -> Tensor {
    let shape = shape.into();
    let data = (0..shape.elem_count()).map(|at| (at % 7) as f32 - 3.0).collect();
    Tensor::from_vec(data, shape, &Device::Cpu).unwrap()
}

fn zeros(shape: impl Into<Shape>, dtype: CandleDType) -> Tensor {
    Tensor::zeros(shape, dtype, &Device::Cpu).unwrap()
}

fn values(tensor: &Tensor) -> Vec<f32> {
    assert!(tensor.is_contiguous());
    tensor.to_dtype(CandleDType::F32).unwrap().flatten_all().unwrap().to_vec1().unwrap()
}

fn dense(x: &Tensor, w: &Tensor) -> candle_core::Result<Tensor> {
    x.apply_op2(w, CustomOp::new(&GOOD))
}

/// The sentence, without the places that candle adds where the environment asks for them.
fn said<T: std::fmt::Debug>(result: candle_core::Result<T>) -> String {
    result.unwrap_err().to_string().lines().next().unwrap_or_default().to_owned()
}

/// What candle computes.
fn product(x: &Tensor, w: &Tensor) -> Vec<f32> {
    values(&x.matmul(&w.t().unwrap()).unwrap())
}

#[test]
fn tensors_are_read_where_they_lie() {
    let (x, w) = (integers((8, 9)), integers((5, 9)));
    assert_eq!(dense(&x, &w).unwrap().dims(), [8, 5]);
    let [columns, of_w] = [&x, &w].map(|tensor| tensor.narrow(1, 2, 4).unwrap());
    let of_batch = integers((3, 8, 9)).get(1).unwrap();
    for (x, w) in [
        (&x, &w),
        (&x.narrow(0, 3, 4).unwrap(), &w.narrow(0, 1, 2).unwrap()),
        (&columns, &of_w),
        (&columns.narrow(0, 7, 1).unwrap(), &of_w),
        (&of_batch, &w),
        (&x.narrow(0, 0, 1).unwrap().broadcast_as((1, 9)).unwrap(), &w),
    ] {
        assert_eq!(values(&dense(x, w).unwrap()), product(x, w), "{:?} {:?}", x.layout(), w.layout());
    }
}

#[test]
fn other_orders_are_errors_unless_they_are_to_be_copied() {
    let w = integers((5, 9));
    let row = integers((1, 9)).narrow(0, 0, 1).unwrap();
    for (x, strides) in [
        (integers((9, 8)).t().unwrap(), "[8, 9] has strides [1, 8]"),
        (row.broadcast_as((4, 9)).unwrap(), "[4, 9] has strides [0, 1]"),
        (integers((4, 1)).broadcast_as((4, 9)).unwrap(), "[4, 9] has strides [1, 0]"),
        (integers((9, 9)).narrow(0, 2, 7).unwrap().t().unwrap(), "[9, 7] has strides [1, 9]"),
    ] {
        let w = &w.narrow(1, 0, x.dim(1).unwrap()).unwrap();
        let message = dense(&x, w).unwrap_err().to_string();
        let expected =
            format!("dense: `x`: tensors are row-major, but the array of shape {strides}; call `contiguous()`");
        assert!(message.starts_with(&expected), "{message}");
        let copied = x.apply_op2(w, CustomOp::new(&GOOD).with_copies()).unwrap();
        assert_eq!(values(&copied), product(&x.contiguous().unwrap(), w));
    }
}

#[test]
fn elements_of_16_bits_are_taken() {
    for (kernel, dtype) in [(&HALVES, CandleDType::F16), (&BFLOATS, CandleDType::BF16)] {
        let x = integers((6, 5)).to_dtype(dtype).unwrap();
        for x in [x.clone(), x.narrow(1, 1, 3).unwrap(), x.narrow(0, 2, 3).unwrap()] {
            let y = x.apply_op1(CustomOp::new(kernel)).unwrap();
            assert_eq!((y.dtype(), y.dims()), (dtype, x.dims()));
            assert_eq!(values(&y), values(&x.neg().unwrap().contiguous().unwrap()));
        }
    }
}

#[test]
fn elements_of_64_bits_are_taken_and_keep_their_bits() {
    let x = ((integers((6, 5)).to_dtype(CandleDType::F64).unwrap() * 0.1).unwrap() + 9_007_199_254.1).unwrap();
    for x in [x.clone(), x.narrow(1, 1, 3).unwrap(), x.narrow(0, 2, 3).unwrap()] {
        let y = x.apply_op1(CustomOp::new(&DOUBLES)).unwrap();
        assert_eq!((y.dtype(), y.dims()), (CandleDType::F64, x.dims()));
        let bits = |of: &Tensor| of.flatten_all().unwrap().to_vec1::<f64>().unwrap();
        assert_eq!(bits(&y), bits(&x.neg().unwrap().contiguous().unwrap()));
    }
}

#[test]
fn what_is_wrong_is_said_as_in_any_call() {
    let (x, w) = (integers((8, 9)), integers((5, 9)));
    for (result, message) in [
        (
            dense(&x, &integers((5, 8))),
            "dense: dimension 1 of `w` is 8, but must be K = 9; K = 9 is dimension 1 of `x`",
        ),
        (dense(&x, &integers(45)), "dense: `w` must have 2 dimensions, but has 1 (shape [45])"),
        (dense(&zeros((8, 9), CandleDType::U8), &w), "dense: the elements of `x` must be f32, but are u8"),
        (dense(&x, &zeros((5, 9), CandleDType::F64)), "dense: the elements of `w` must be f32, but are f64"),
        (dense(&x, &zeros((5, 9), CandleDType::F16)), "dense: the elements of `w` must be f32, but are f16"),
        (
            dense(&zeros(vec![1; 9], CandleDType::F32), &w),
            "dense: `x`: a tensor has at most 8 dimensions, but this shape has 9",
        ),
        (
            x.apply_op1(CustomOp::new(&GOOD)),
            "dense: an operation on 1 tensors is none on `x`, `w`, which `with` can give it",
        ),
        (
            x.apply_op3(&w, &w, CustomOp::new(&GOOD)),
            "dense: an operation on 3 tensors is none on `x`, `w`, which `with` can give it",
        ),
        (
            x.apply_op2(&w, CustomOp::new(&NATIVELESS)),
            "dense: there is no native code: DIETCODE_SKIP_NATIVE is set; unset it and build again",
        ),
        (
            dense(&zeros((1 << 40, 0), CandleDType::F32), &zeros((1 << 40, 0), CandleDType::F32)),
            "a tensor of shape [1099511627776, 1099511627776] spans more than 9223372036854775807 elements",
        ),
        (
            dense(&zeros((1 << 30, 0), CandleDType::F32), &zeros((1 << 32, 0), CandleDType::F32)),
            "dense: an output of shape [1073741824, 4294967296] is too large for memory",
        ),
        (
            integers(1).apply_op2(&integers(3), CustomOp::new(&WINDOW)),
            "window: dimension 0 of `y` is 0, but must be H - 2 = -1; H = 1 is dimension 0 of `x`",
        ),
    ] {
        let error = said(result);
        assert!(error.starts_with(message), "{error}");
    }
}

#[test]
fn outputs_without_elements_are_outputs() {
    let y = dense(&zeros((0, 9), CandleDType::F32), &integers((5, 9))).unwrap();
    assert_eq!(y.dims(), [0, 5]);
    let y = dense(&zeros((2, 0), CandleDType::F32), &zeros((3, 0), CandleDType::F32)).unwrap();
    assert_eq!((y.dims(), values(&y)), (&[2, 3][..], vec![0.0; 6]));
}

#[test]
fn a_shape_that_follows_from_no_input_is_given() {
    let x = integers(3);
    let error = said(x.apply_op1(CustomOp::new(&REPEATED)));
    assert_eq!(
        error,
        "repeated: the shape of `y` does not follow from its inputs, none of which says what `M` is; give it"
    );
    let op = || CustomOp::new(&REPEATED);
    let y = x.apply_op1(op().with_output_shape(&[0, 3])).unwrap();
    assert_eq!(y.dims(), [0, 3]);
    let error = said(x.apply_op1(op().with_output_shape(&[0, 4])));
    assert!(error.starts_with("repeated: dimension 0 of `x` is 3, but must be N = 4"), "{error}");
}

#[test]
fn scalars_are_held_by_the_operation_and_outputs_written_in_place() {
    let op = || CustomOp::new(&BLENDED).with("alpha", 2.0f32)?.with("beta", 10.0f32);
    let x = integers((5, 3));
    assert_eq!(values(&x.apply_op1(op().unwrap()).unwrap()), values(&(&x * 2.0).unwrap()));

    let whole = integers((5, 8));
    let y = whole.narrow(1, 2, 3).unwrap();
    let expected = ((&x * 2.0).unwrap() + (&y * 10.0).unwrap()).unwrap();
    let beside = values(&whole.narrow(1, 5, 3).unwrap().contiguous().unwrap());
    y.inplace_op2(&x, &op().unwrap()).unwrap();
    assert_eq!(values(&y.contiguous().unwrap()), values(&expected));
    assert_eq!(values(&whole.narrow(1, 5, 3).unwrap().contiguous().unwrap()), beside);

    let of = |name: &str| CustomOp::<1>::new(&BLENDED).with(name, 1.0f32).err().map(|error| error.to_string());
    let none = |name: &str| Some(format!("blend: there is no input `{name}`; its inputs are `alpha`, `x`, `beta`"));
    assert_eq!([of("gamma"), of("y")], ["gamma", "y"].map(none));
    let error = said(x.apply_op1(CustomOp::new(&BLENDED).with("x", 1.0f32).unwrap().with("beta", 1.0f32).unwrap()));
    assert_eq!(error, "blend: `alpha` must be a scalar, an f32, but is a tensor of shape [5, 3]");
}

#[test]
fn gradients_go_through_what_the_operation_is_given() {
    let (x, w) = (Var::from_tensor(&integers((4, 3))).unwrap(), Var::from_tensor(&integers((2, 3))).unwrap());
    let loss = |op: CustomOp<2>| x.apply_op2(&w, op)?.sqr()?.sum_all()?.backward();
    let error = said(loss(CustomOp::new(&GOOD)).map(|_| ()));
    assert!(error.contains("backward is not supported for dense"), "{error}");

    let op =
        CustomOp::new(&GOOD).with_backward(|[x, w], _, grad| Ok([Some(grad.matmul(w)?), Some(grad.t()?.matmul(x)?)]));
    let ours = loss(op).unwrap();
    let candles = x.matmul(&w.t().unwrap()).unwrap().sqr().unwrap().sum_all().unwrap().backward().unwrap();
    for var in [&x, &w] {
        assert_eq!(values(ours.get(var).unwrap()), values(&candles.get(var).unwrap().contiguous().unwrap()));
    }
    assert_eq!(ours.get(&x).unwrap().sum(D::Minus1).unwrap().dims(), [4]);
}

#[test]
#[cfg(not(feature = "candle-cuda"))]
fn devices_need_their_feature() {
    let on_device = candle_core::CustomOp1::cuda_fwd(
        &CustomOp::new(&HALVES),
        &candle_core::CudaStorage,
        &candle_core::Layout::contiguous((2, 2)),
    );
    assert_eq!(said(on_device), "no cuda implementation for halves");
}
