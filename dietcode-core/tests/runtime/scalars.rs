//! Calls with scalars: `y = alpha · x + beta · y`, which every place is handed in its own way.

use std::ffi::c_void;
use std::slice;

use dietcode_core::abi::{MicroKernel, Phase, Table};
use dietcode_core::runtime::tunable::{KernelCall, KernelOp, Outcome, Report, tuning};
use dietcode_core::runtime::{
    Affine, Arg, DType, Kernel, Param, ShapeVar, Signature, SignatureLoop, TableSource, Tensor, TensorMut, TensorRef,
    with_threads,
};

const M: Affine = Affine { terms: &[(0, 1)], constant: 0 };
const N: Affine = Affine { terms: &[(1, 1)], constant: 0 };

const BLEND: Signature = Signature {
    name: "blend",
    source_hash: 0x5678,
    shape_vars: &[ShapeVar { name: "M", param: 1, dim: 0 }, ShapeVar { name: "N", param: 1, dim: 1 }],
    params: &[
        Param { name: "alpha", dtype: DType::F32, dims: &[], mutable: false },
        Param { name: "x", dtype: DType::F32, dims: &[M, N], mutable: false },
        Param { name: "beta", dtype: DType::F32, dims: &[], mutable: false },
        Param { name: "y", dtype: DType::F32, dims: &[M, N], mutable: true },
    ],
    loops: &[
        SignatureLoop { name: "i", extent: M, reduce: false },
        SignatureLoop { name: "j", extent: N, reduce: false },
    ],
    bounds: &[],
    prepared: &[],
};

/// A row of `y` a tile.
unsafe extern "C" fn run(
    buffers: *const *mut c_void,
    strides: *const i64,
    shape: *const i64,
    _: *mut c_void,
    begin: i64,
    end: i64,
) {
    // SAFETY: the launch hands over what the signature of `blend` says.
    unsafe {
        let [alpha, x, beta, y] = [0, 1, 2, 3].map(|p| (*buffers.add(p)).cast::<f32>());
        let strides = slice::from_raw_parts(strides, 4);
        assert_eq!((strides[1], strides[3]), (1, 1));
        blend(*alpha, (x, strides[0]), *beta, (y, strides[2]), begin..end, *shape.add(1));
    }
}

/// Some rows of it; tensors are first elements and distances of rows.
///
/// # Safety
/// All their elements are there.
unsafe fn blend(
    alpha: f32,
    x: (*const f32, i64),
    beta: f32,
    y: (*mut f32, i64),
    rows: std::ops::Range<i64>,
    columns: i64,
) {
    for i in rows {
        for j in 0..columns {
            // SAFETY: as the caller vouches.
            unsafe {
                let to = y.0.offset((i * y.1 + j) as isize);
                *to = alpha * *x.0.offset((i * x.1 + j) as isize) + beta * *to;
            }
        }
    }
}

static PHASES: [Phase; 1] = [Phase { grid: crate::fake::rows, run }];
static ROW: MicroKernel = crate::fake::row(c"rows", &PHASES);
static TABLE: Table = Table::new(&[&ROW]);
static LINKED: TableSource = TableSource::Linked(&TABLE);
#[cfg(not(feature = "cuda"))]
static DEVICE: dietcode_core::runtime::cuda::CudaTableSource =
    dietcode_core::runtime::cuda::CudaTableSource::Skipped("there is no device here");

pub(crate) static BLENDED: Kernel = Kernel { signature: BLEND, table: &LINKED, dispatch: |_| 0, cuda: &DEVICE };

fn tensors() -> (Tensor<f32>, Tensor<f32>) {
    let x = Tensor::from_fn(&[5, 3], |at| at as f32).unwrap();
    (x, Tensor::full(&[5, 3], 100.0).unwrap())
}

fn expected(alpha: f32, beta: f32) -> Vec<f32> {
    (0..15).map(|at| alpha * at as f32 + beta * 100.0).collect()
}

fn error(args: &mut [Arg<'_>]) -> String {
    BLENDED.call(args).unwrap_err().to_string()
}

#[test]
fn scalars_stand_in_their_places() {
    for (alpha, beta) in [(2.0, 0.5), (0.0, 1.0), (-1.0, f32::MIN_POSITIVE)] {
        let (x, mut y) = tensors();
        BLENDED.call(&mut [alpha.into(), x.view().into(), beta.into(), y.view_mut().into()]).unwrap();
        assert_eq!(y.as_slice(), expected(alpha, beta), "{alpha} {beta}");
    }
}

#[test]
fn a_scalar_and_a_tensor_are_not_the_same() {
    let (x, mut y) = tensors();
    let one = Tensor::from_slice(&[1.0_f32], &[]).unwrap();
    assert_eq!(
        error(&mut [one.view().into(), x.view().into(), 1.0f32.into(), y.view_mut().into()]),
        "blend: `alpha` must be a scalar, an f32, but is a tensor of shape []"
    );
    assert_eq!(
        error(&mut [1.0f32.into(), 1.0f32.into(), 1.0f32.into(), y.view_mut().into()]),
        "blend: `x` must be a tensor of 2 dimensions, but is a scalar, an f32"
    );
    assert_eq!(
        error(&mut [1.0f32.into(), x.view().into(), 1.0f32.into(), 1.0f32.into()]),
        "blend: `y` must be a tensor of 2 dimensions, but is a scalar, an f32"
    );
    assert_eq!(
        error(&mut [x.view().into(), y.view_mut().into()]),
        "blend: it takes 4 arguments, but was called with 2"
    );
}

#[test]
fn a_scalar_has_one_of_two_types() {
    let (single, double) = (|| Arg::from(0.1f32), || Arg::from(0.1f64));
    assert_eq!((single().dtype(), double().dtype()), (DType::F32, DType::F64));
    assert_eq!((f32::try_from(single()).unwrap(), f64::try_from(double()).unwrap()), (0.1, 0.1));
    assert_eq!(f32::try_from(double()).unwrap_err().to_string(), "Arg { scalar: 0.1 } is no scalar of f32");
    assert!(f64::try_from(single()).is_err());
    let (x, mut y) = (Tensor::<f32>::zeros(&[2, 3]).unwrap(), Tensor::<f32>::zeros(&[2, 3]).unwrap());
    let mut args = [double(), x.view().into(), Arg::from(1.0f32), y.view_mut().into()];
    assert_eq!(error(&mut args), "blend: the elements of `alpha` must be f32, but are f64");
}

#[test]
fn a_scalar_prints_as_what_it_is() {
    let scalar = Arg::from(1.5f32);
    assert_eq!(format!("{scalar:?}"), "Arg { scalar: 1.5 }");
    assert!(scalar.is_scalar() && scalar.shape().is_empty() && !scalar.is_mutable());
}

#[cfg(feature = "cuda")]
use device::DEVICE;

/// The same on the emulated device.
#[cfg(feature = "cuda")]
mod device {
    use std::ffi::{c_char, c_int};

    use dietcode_core::runtime::cuda::{
        CudaLaunch, CudaMicroKernel, CudaTable, CudaTableSource, CudaTensor, Device, HostArg,
    };
    use dietcode_core::runtime::{Input, Output};

    use super::{BLENDED, blend, expected, tensors};

    unsafe extern "C" fn whole(_: u32, _: u32, _: u64, args: *const HostArg, _: *mut c_char, _: u64) -> c_int {
        // SAFETY: each parameter is read as what it is: scalars as themselves, tensors as pointers.
        unsafe {
            let scalar = |at: usize| *(*args.add(at)).value.cast::<f32>();
            let pointer = |at: usize| *(*args.add(at)).value.cast::<*mut f32>();
            let stride = |at: usize| *(*args.add(at)).value.cast::<i64>();
            let var = |at: usize| i64::from(*(*args.add(at)).value.cast::<i32>());
            blend(scalar(0), (pointer(1), stride(4)), scalar(2), (pointer(3), stride(5)), 0..var(6), var(7));
        }
        0
    }

    static TABLE: CudaTable = CudaTable {
        micro_kernels: &[CudaMicroKernel {
            name: "whole",
            launches: &[CudaLaunch {
                symbol: "whole",
                threads: 32,
                shared_bytes: 0,
                blocks: |_| 1,
                persistent: false,
                host: Some(whole),
            }],
            uses_workspace: false,
            workspace_bytes: |_| 0,
            image: None,
        }],
        dispatch: |_, _| 0,
    };
    pub(super) static DEVICE: CudaTableSource = CudaTableSource::Linked(&TABLE);

    #[test]
    fn scalars_go_where_the_tensors_are() {
        let (x, y) = tensors();
        let device = Device::cuda_host();
        let (x, mut y) = (CudaTensor::upload(&device, &x).unwrap(), CudaTensor::upload(&device, &y).unwrap());
        let args = &mut [2.0f32.into(), Input::from(&x).into(), 0.5f32.into(), Output::from(&mut y).into()];
        BLENDED.call(args).unwrap();
        assert_eq!(y.download().unwrap().as_slice(), expected(2.0, 0.5));
    }

    #[test]
    fn a_scalar_has_no_place_that_an_error_could_name() {
        let (x, mut y) = tensors();
        let x = CudaTensor::upload(&Device::cuda_host(), &x).unwrap();
        let args = &mut [2.0f32.into(), Input::from(&x).into(), 0.5f32.into(), y.view_mut().into()];
        assert_eq!(
            BLENDED.call(args).unwrap_err().to_string(),
            "blend: its tensors must be in one place, but `x` is on cuda-host, `y` is in host memory; copy them to one device"
        );
    }
}

/// `y = alpha · x + beta · y` reads what it writes, and has the same bits with tuning on and off.
#[test]
fn an_output_that_is_read_is_written_once_when_it_is_tuned_and_classes_of_scalars_have_results_of_their_own() {
    fn blend(call: &mut KernelCall<'_>, of_alpha: fn(f32) -> f32) -> dietcode_core::Result<()> {
        let [alpha, x, beta, y] = call.operands()?;
        let (alpha, beta) = (of_alpha(f32::try_from(alpha)?), f32::try_from(beta)?);
        let (x, mut y) = (TensorRef::<f32>::try_from(x)?, TensorMut::<f32>::try_from(y)?);
        assert!(TensorRef::<half::f16>::try_from(Arg::from(x)).is_err(), "its elements have another type");
        assert!(TensorMut::<f32>::try_from(Arg::from(x)).is_err(), "it is not to be written");
        for i in 0..y.shape()[0] {
            for j in 0..y.shape()[1] {
                y[[i, j]] = alpha * x[[i, j]] + beta * y[[i, j]];
            }
        }
        Ok(())
    }
    let mut op = KernelOp::new(&BLENDED, |call| blend(call, |alpha| alpha));
    op.register("of alpha's magnitude", |call: &mut KernelCall<'_>| blend(call, f32::abs)).unwrap();
    let mut known = 0;
    for (alpha, beta, is_new) in [
        (2.0, 0.5, true),
        (3.0, 7.0, false),
        (2.0, 1.0, true),
        (2.0, 0.0, true),
        (2.0, -0.0, false),
        (1.0, 0.5, true),
        (0.0, 0.5, true),
        (-2.0, 0.5, true),
        (-1.0, 0.5, false),
        (2.0, f32::NEG_INFINITY, true),
        (f32::NAN, 0.5, false),
    ] {
        let called = |on: bool| {
            let (x, mut y) = tensors();
            let args = &mut [alpha.into(), x.view().into(), beta.into(), y.view_mut().into()];
            tuning::scope(on, || with_threads(1, || op.call_args(args))).unwrap();
            y.as_slice().iter().map(|y| y.to_bits()).collect::<Vec<_>>()
        };
        assert_eq!(called(true), called(false), "{alpha}, {beta}");
        let before = std::mem::replace(&mut known, op.reports().len());
        assert_eq!(known > before, is_new, "{alpha}, {beta}");
    }
    assert!(op.reports().iter().any(|report| report.key.contains("alpha=other x=f32/dense/64 beta=0 y=")));
    let is_wrong = |report: &Report| matches!(report.candidates.last(), Some((_, Outcome::Wrong(_))));
    let wrong: Vec<Report> = op.reports().into_iter().filter(is_wrong).collect();
    assert!(wrong.len() == 1 && wrong[0].key.contains("alpha=negative"), "{wrong:?}");
}

#[test]
fn element_types_and_nests_have_results_of_their_own() {
    type Elements = (DType, &'static [Param]);
    const WIDE: Elements = (
        DType::F32,
        &[
            Param { name: "x", dtype: DType::F32, dims: &[M, N], mutable: false },
            Param { name: "y", dtype: DType::F32, dims: &[M, N], mutable: true },
        ],
    );
    const NARROW: Elements = (
        DType::F16,
        &[
            Param { name: "x", dtype: DType::F16, dims: &[M, N], mutable: false },
            Param { name: "y", dtype: DType::F32, dims: &[M, N], mutable: true },
        ],
    );
    const VARS: &[ShapeVar] = &[ShapeVar { name: "M", param: 0, dim: 0 }, ShapeVar { name: "N", param: 0, dim: 1 }];
    static SKIPPED: TableSource = TableSource::Skipped("it has nothing but a nest");
    let key = |source_hash: u64, (dtype, params): Elements| {
        let signature = Signature { name: "k", source_hash, shape_vars: VARS, params, ..BLEND };
        let kernel = Box::leak(Box::new(Kernel { signature, table: &SKIPPED, dispatch: |_| 0, cuda: &DEVICE }));
        let op = KernelOp::new(kernel, |_| Ok(()));
        let (wide, narrow) = (Tensor::<f32>::zeros(&[2, 3]).unwrap(), Tensor::<half::f16>::zeros(&[2, 3]).unwrap());
        let x = if dtype == DType::F32 { Arg::from(wide.view()) } else { Arg::from(narrow.view()) };
        let mut y = Tensor::<f32>::zeros(&[2, 3]).unwrap();
        let error = tuning::scope(true, || op.call_args(&mut [x, y.view_mut().into()])).unwrap_err();
        assert!(error.to_string().contains("it has nothing but a nest"), "{error}");
        let report = &op.reports()[0];
        assert_eq!((report.untried.is_some(), report.chosen.as_str()), (true, "<dispatcher>"));
        report.key.clone()
    };
    let keys = [key(1, WIDE), key(2, WIDE), key(1, NARROW)];
    assert!(keys[0] != keys[1] && keys[0] != keys[2], "{keys:?}");
}
