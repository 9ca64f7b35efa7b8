//! `dense` for the emulated device: one launch, a persistent grid, and split sums in a workspace.

use std::ffi::{c_char, c_int};

use dietcode_core::runtime::Kernel;
use dietcode_core::runtime::cuda::{
    CudaImage, CudaLaunch, CudaMicroKernel, CudaTable, CudaTableSource, HostArg, HostEntry,
};

use crate::fake::{DENSE, LINKED};

/// Rows of the output that a block computes.
const ROWS: i64 = 4;

/// The parameters of `dense`, as a launch takes them.
pub(crate) struct Dense {
    pub(crate) x: *const f32,
    pub(crate) w: *const f32,
    pub(crate) y: *mut f32,
    pub(crate) workspace: *mut f32,
    pub(crate) strides: [i64; 3],
    pub(crate) shape: [i64; 3],
}

impl Dense {
    /// # Safety
    /// `args` are those of a launch of `dense`, with a workspace if it is said to have one.
    unsafe fn read(args: *const HostArg, has_workspace: bool) -> Dense {
        let workspace = usize::from(has_workspace);
        // SAFETY: each parameter is read as what it is.
        unsafe {
            let pointer = |at: usize| *(*args.add(at)).value.cast::<*mut f32>();
            let stride = |at: usize| *(*args.add(3 + workspace + at)).value.cast::<i64>();
            let var = |at: usize| i64::from(*(*args.add(6 + workspace + at)).value.cast::<i32>());
            Dense {
                x: pointer(0),
                w: pointer(1),
                y: pointer(2),
                workspace: if has_workspace { pointer(3) } else { std::ptr::null_mut() },
                strides: [0, 1, 2].map(stride),
                shape: [0, 1, 2].map(var),
            }
        }
    }

    /// `Σ x[i][k] · w[j][k]` over some of the `k`.
    unsafe fn sum(&self, i: i64, j: i64, range: std::ops::Range<i64>) -> f32 {
        // SAFETY: the indices are in the shape.
        let element = |k: i64| unsafe {
            *self.x.offset((i * self.strides[0] + k) as isize) * *self.w.offset((j * self.strides[1] + k) as isize)
        };
        range.map(element).sum()
    }

    fn blocks(&self) -> i64 {
        (self.shape[0] + ROWS - 1) / ROWS
    }

    unsafe fn store(&self, i: i64, j: i64, value: f32) {
        // SAFETY: the indices are in the shape.
        unsafe { *self.y.offset((i * self.strides[2] + j) as isize) = value };
    }
}

/// Every block computes four rows; a block of a smaller grid strides over the rest.
unsafe extern "C" fn whole(
    grid: u32,
    block: u32,
    shared_bytes: u64,
    args: *const HostArg,
    _: *mut c_char,
    _: u64,
) -> c_int {
    assert_eq!((block, shared_bytes), (64, 1024));
    // SAFETY: it is a launch of `dense`.
    let dense = unsafe { Dense::read(args, false) };
    for first in 0..i64::from(grid) {
        for at in (first..dense.blocks()).step_by(grid as usize) {
            for i in at * ROWS..((at + 1) * ROWS).min(dense.shape[0]) {
                // SAFETY: the indices are in the shape.
                (0..dense.shape[2]).for_each(|j| unsafe { dense.store(i, j, dense.sum(i, j, 0..dense.shape[1])) });
            }
        }
    }
    0
}

/// The first launch of split sums: half of each sum a block, in the workspace, which is full of NaNs.
unsafe extern "C" fn halves(grid: u32, _: u32, _: u64, args: *const HostArg, _: *mut c_char, _: u64) -> c_int {
    // SAFETY: it is a launch of `dense` with a workspace of two floats per element of the output.
    unsafe {
        let dense = Dense::read(args, true);
        let [m, k, n] = dense.shape;
        assert_eq!(grid, 2);
        for half in 0..2 {
            for at in 0..m * n {
                let place = dense.workspace.offset((half * m * n + at) as isize);
                assert!((*place).is_nan());
                *place = dense.sum(at / n, at % n, k * half / 2..k * (half + 1) / 2);
            }
        }
    }
    0
}

/// The second one adds them.
unsafe extern "C" fn add(grid: u32, _: u32, _: u64, args: *const HostArg, _: *mut c_char, _: u64) -> c_int {
    assert_eq!(grid, 1);
    // SAFETY: as above.
    unsafe {
        let dense = Dense::read(args, true);
        let [m, _, n] = dense.shape;
        for at in 0..m * n {
            let part = |half: i64| *dense.workspace.offset((half * m * n + at) as isize);
            dense.store(at / n, at % n, part(0) + part(1));
        }
    }
    0
}

/// Says what is wrong, at more length than there is room for.
unsafe extern "C" fn fails(_: u32, _: u32, _: u64, _: *const HostArg, error: *mut c_char, len: u64) -> c_int {
    let sentence = "thread 5 of block 2 missed a barrier".bytes().chain(std::iter::repeat(b'!'));
    for (at, byte) in sentence.take(len as usize).enumerate() {
        // SAFETY: there are `len` bytes.
        unsafe { *error.add(at) = byte as c_char };
    }
    1
}

const fn launch(symbol: &'static str, blocks: fn(&[i64]) -> i64, host: Option<HostEntry>) -> CudaLaunch {
    CudaLaunch { symbol, threads: 64, shared_bytes: 1024, blocks, persistent: false, host }
}

const fn micro_kernel(name: &'static str, launches: &'static [CudaLaunch]) -> CudaMicroKernel {
    CudaMicroKernel { name, launches, uses_workspace: false, workspace_bytes: |_| 0, image: None }
}

const COVER: fn(&[i64]) -> i64 = |shape| shape[0].saturating_add(ROWS - 1) / ROWS;
const CUBIN: CudaImage<'static> = CudaImage { bytes: &[0; 8], capabilities: &[(8, 0), (9, 0)], ptx: None };

pub(crate) static ROWS_OF_TABLE: [CudaMicroKernel; 9] = [
    micro_kernel("whole", &[launch("whole", COVER, Some(whole))]),
    micro_kernel("persistent", &[CudaLaunch { persistent: true, ..launch("whole", COVER, Some(whole)) }]),
    CudaMicroKernel {
        uses_workspace: true,
        workspace_bytes: |shape| 8_i64.saturating_mul(shape[0]).saturating_mul(shape[2]),
        ..micro_kernel("split", &[launch("halves", |_| 2, Some(halves)), launch("add", |_| 1, Some(add))])
    },
    micro_kernel("fails", &[launch("fails", COVER, Some(fails))]),
    micro_kernel("wide", &[launch("whole", |shape| shape[0].saturating_mul(i64::MAX / 2), Some(whole))]),
    micro_kernel("unemulated", &[launch("device_only", COVER, None)]),
    CudaMicroKernel { image: Some(CUBIN), ..micro_kernel("ampere", &[launch("whole", COVER, Some(whole))]) },
    micro_kernel("crowded", &[CudaLaunch { threads: 2048, ..launch("whole", COVER, Some(whole)) }]),
    CudaMicroKernel {
        uses_workspace: true,
        workspace_bytes: |_| 1024,
        image: Some(CUBIN),
        ..micro_kernel("split ampere", &[launch("halves", |_| 2, Some(halves)), launch("add", |_| 1, Some(add))])
    },
];

/// A kernel `dense` whose dispatcher always picks the same row.
macro_rules! dense {
    ($($name:ident: $row:expr;)*) => {$(
        pub(crate) static $name: Kernel = {
            static TABLE: CudaTable = CudaTable { micro_kernels: &ROWS_OF_TABLE, dispatch: |_, _| $row };
            static SOURCE: CudaTableSource = CudaTableSource::Linked(&TABLE);
            Kernel { signature: DENSE, table: &LINKED, dispatch: |_| 0, cuda: &SOURCE }
        };
    )*};
}

dense! {
    WHOLE: 0;
    PERSISTENT: 1;
    SPLIT: 2;
    FAILS: 3;
    WIDE: 4;
    UNEMULATED: 5;
    AMPERE: 6;
    CROWDED: 7;
    SPLIT_AMPERE: 8;
    LOST: 9;
}

/// Whole sums on devices before 8.0, split ones on others.
pub(crate) static BY_CAPABILITY: Kernel = {
    static TABLE: CudaTable = CudaTable {
        micro_kernels: &ROWS_OF_TABLE,
        dispatch: |shape, capability| if capability >= (8, 0) && shape[1] > 1 { 2 } else { 5 },
    };
    static SOURCE: CudaTableSource = CudaTableSource::Linked(&TABLE);
    Kernel { signature: DENSE, table: &LINKED, dispatch: |_| 0, cuda: &SOURCE }
};
