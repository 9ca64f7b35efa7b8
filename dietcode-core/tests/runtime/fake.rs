//! Kernels with hand-written signatures and micro-kernels.

use std::ffi::{CStr, c_void};
use std::slice;

use dietcode_core::abi::{Array, MicroKernel, Phase, Table};
use dietcode_core::runtime::cuda::CudaTableSource;
use dietcode_core::runtime::{Affine, Bound, DType, Kernel, Param, ShapeVar, Signature, SignatureLoop, TableSource};
use dietcode_core::runtime::{TensorMut, TensorRef};
use dietcode_core::{Error, Result};

const ROWS: i64 = 4;
const M: Affine = Affine { terms: &[(0, 1)], constant: 0 };
const K: Affine = Affine { terms: &[(1, 1)], constant: 0 };
const N: Affine = Affine { terms: &[(2, 1)], constant: 0 };
const fn spatial(name: &'static str, extent: Affine) -> SignatureLoop {
    SignatureLoop { name, extent, reduce: false }
}

/// A tile for each of what the first variable of a shape counts.
pub(crate) unsafe extern "C" fn rows(shape: *const i64) -> i64 {
    // SAFETY: a shape has a variable.
    unsafe { *shape }
}

unsafe extern "C" fn dense_grid(shape: *const i64) -> i64 {
    // SAFETY: a shape of `dense` has three variables.
    (unsafe { *shape } + ROWS - 1) / ROWS
}

/// Four rows of `y = x · wᵀ` a tile, computed in scratch memory.
unsafe extern "C" fn dense_run(
    buffers: *const *mut c_void,
    strides: *const i64,
    shape: *const i64,
    scratch: *mut c_void,
    begin: i64,
    end: i64,
) {
    // SAFETY: the launch hands over what the signature of `dense` says.
    unsafe {
        let [x, w, y] = [0, 1, 2].map(|p| (*buffers.add(p)).cast::<f32>());
        let strides = slice::from_raw_parts(strides, 6);
        let [m, k, n] = [0, 1, 2].map(|v| *shape.add(v));
        assert!(scratch.addr().is_multiple_of(64));
        for i in begin * ROWS..(end * ROWS).min(m) {
            for j in 0..n {
                let sum = scratch.cast::<f32>();
                *sum = 0.0;
                for step in 0..k {
                    *sum += *x.offset((i * strides[0] + step) as isize) * *w.offset((j * strides[2] + step) as isize);
                }
                *y.offset((i * strides[4] + j) as isize) = *sum;
            }
        }
    }
}

/// A row without workspace or parameters.
pub(crate) const fn row(name: &'static CStr, phases: &'static [Phase]) -> MicroKernel {
    MicroKernel {
        name: name.as_ptr(),
        cpu_features: 0,
        scratch_bytes: 64,
        phases: Array::new(phases),
        workspace_bytes: None,
        parameters: Array::new(&[]),
    }
}

static DENSE_PHASES: [Phase; 1] = [Phase { grid: dense_grid, run: dense_run }];
static TABLE: Table = {
    static GOOD: MicroKernel = row(c"good", &DENSE_PHASES);
    static FUTURE: MicroKernel =
        MicroKernel { cpu_features: 1 << 63 | 1 << 62, ..row(c"from_the_future", &DENSE_PHASES) };
    static GREEDY: MicroKernel = MicroKernel { scratch_bytes: 1 << 40, ..row(c"greedy", &DENSE_PHASES) };
    Table::new(&[&GOOD, &FUTURE, &GREEDY])
};
pub(crate) static LINKED: TableSource = TableSource::Linked(&TABLE);
static SKIPPED: TableSource = TableSource::Skipped("DIETCODE_SKIP_NATIVE is set; unset it and build again");

pub(crate) const DENSE: Signature = Signature {
    name: "dense",
    source_hash: 0x1234,
    shape_vars: &[
        ShapeVar { name: "M", param: 0, dim: 0 },
        ShapeVar { name: "K", param: 0, dim: 1 },
        ShapeVar { name: "N", param: 1, dim: 0 },
    ],
    params: &[
        Param { name: "x", dtype: DType::F32, dims: &[M, K], mutable: false },
        Param { name: "w", dtype: DType::F32, dims: &[N, K], mutable: false },
        Param { name: "y", dtype: DType::F32, dims: &[M, N], mutable: true },
    ],
    loops: &[spatial("i", M), spatial("j", N), SignatureLoop { name: "k", extent: K, reduce: true }],
    bounds: &[],
    prepared: &[],
};

static NO_CUDA: CudaTableSource = CudaTableSource::Skipped("its config has no CUDA target");

pub(crate) static GOOD: Kernel = Kernel { signature: DENSE, table: &LINKED, dispatch: |_| 0, cuda: &NO_CUDA };
pub(crate) static FUTURE: Kernel = Kernel { signature: DENSE, table: &LINKED, dispatch: |_| 1, cuda: &NO_CUDA };
pub(crate) static GREEDY: Kernel = Kernel { signature: DENSE, table: &LINKED, dispatch: |_| 2, cuda: &NO_CUDA };
pub(crate) static LOST: Kernel = Kernel { signature: DENSE, table: &LINKED, dispatch: |_| 3, cuda: &NO_CUDA };
pub(crate) static NATIVELESS: Kernel = Kernel { signature: DENSE, table: &SKIPPED, dispatch: |_| 0, cuda: &NO_CUDA };

/// `y[i] = Σ_r x[i + r + 1]` with `y` of extent `H - 2`: its index is not in bounds by construction.
pub(crate) static WINDOW: Kernel = Kernel {
    signature: Signature {
        name: "window",
        source_hash: 0,
        shape_vars: &[ShapeVar { name: "H", param: 0, dim: 0 }, ShapeVar { name: "R", param: 1, dim: 0 }],
        params: &[
            Param { name: "x", dtype: DType::F32, dims: &[Affine { terms: &[(0, 1)], constant: 0 }], mutable: false },
            Param { name: "f", dtype: DType::F32, dims: &[Affine { terms: &[(1, 1)], constant: 0 }], mutable: false },
            Param { name: "y", dtype: DType::F32, dims: &[Affine { terms: &[(0, 1)], constant: -2 }], mutable: true },
        ],
        loops: &[
            spatial("i", Affine { terms: &[(0, 1)], constant: -2 }),
            SignatureLoop { name: "r", extent: Affine { terms: &[(1, 1)], constant: 0 }, reduce: true },
        ],
        bounds: &[Bound {
            param: 0,
            dim: 0,
            least: Affine { terms: &[], constant: 1 },
            greatest: Affine { terms: &[(0, 1), (1, 1)], constant: -3 },
            index: "i + r + 1",
        }],
        prepared: &[],
    },
    table: &SKIPPED,
    dispatch: |_| 0,
    cuda: &NO_CUDA,
};

/// What the macro's function does.
pub(crate) fn call(kernel: &Kernel, x: TensorRef<'_, f32>, w: TensorRef<'_, f32>, y: TensorMut<'_, f32>) -> Result<()> {
    kernel.call(&mut [x.into(), w.into(), y.into()])
}

/// Calls with tensors of these shapes.
pub(crate) fn call_shapes(kernel: &Kernel, x: &[usize], w: &[usize], y: &[usize]) -> Result<Vec<f32>, Error> {
    let data = |shape: &[usize]| -> Vec<f32> { (0..shape.iter().product()).map(|at| (at % 7) as f32 - 2.5).collect() };
    let (x_data, w_data, mut y_data) = (data(x), data(w), data(y));
    call(kernel, TensorRef::new(&x_data, x)?, TensorRef::new(&w_data, w)?, TensorMut::new(&mut y_data, y)?)?;
    Ok(y_data)
}

/// The same as [`call_shapes`] with a good dense, computed here.
pub(crate) fn expected(m: usize, k: usize, n: usize) -> Vec<f32> {
    let at = |index: usize| (index % 7) as f32 - 2.5;
    let element = |i: usize, j: usize| (0..k).fold(0.0, |sum, step| sum + at(i * k + step) * at(j * k + step));
    (0..m * n).map(|index| element(index / n, index % n)).collect()
}
