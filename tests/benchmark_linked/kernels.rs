//! A set that was written by hand: micro-kernels of `gemm_nt` with one tile, most of them broken in one way.

use std::ffi::{CStr, c_char, c_int, c_void};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::sleep;
use std::time::Duration;

use dietcode::core::abi::{Array, MicroKernel, Phase, Table};
use dietcode::ops::gemm_nt;
use dietcode::runtime::cuda::{CudaLaunch, CudaMicroKernel, CudaTable, CudaTableSource, HostArg, HostEntry};
use dietcode::runtime::set::{Configuration, CpuRow, Entry, Set};
use dietcode::runtime::{Kernel, TableSource};

/// A configuration with a function that carries out its only tile, the CPU features that it is said to need, and its row of
/// `EMULATED`, if it has one.
macro_rules! configuration {
    ($name:literal, $cache_line:literal, $run:ident, $features:expr) => {
        configuration!($name, $cache_line, $run, $features, None)
    };
    ($name:literal, $cache_line:literal, $run:ident, $features:expr, $cuda:expr) => {
        Configuration {
            name: $name,
            family: "naive",
            parameters: concat!(r#"{"naive": [{"cache_line_size": ["#, $cache_line, "]}]}"),
            entries: &[Entry {
                kernel: "gemm_nt",
                source_hash: gemm_nt::KERNEL.signature.source_hash,
                cpu: Some({
                    static PHASES: [Phase; 1] = [Phase { grid, run: $run }];
                    static ROW: MicroKernel = MicroKernel {
                        name: NAME.as_ptr(),
                        cpu_features: $features,
                        scratch_bytes: 0,
                        phases: Array::new(&PHASES),
                        workspace_bytes: None,
                        parameters: Array::new(&[]),
                    };
                    static ROWS: Table = Table::new(&[&ROW]);
                    static TABLE: TableSource = TableSource::Linked(&ROWS);
                    CpuRow { table: &TABLE, row: 0 }
                }),
                cuda: $cuda,
            }],
        }
    };
}

pub(crate) static SET: Set = Set {
    config: "configs/by_hand.json",
    cpu: Ok(()),
    cuda: Err("it was left out by hand"),
    cuda_host: Ok(()),
    configurations: &[
        configuration!("right", 64, right, 0, Some(&EMULATED[0])),
        configuration!("crashing", 68, crashing, 0),
        configuration!("hanging", 72, hanging, 0),
        configuration!("wrong", 76, wrong, 0, Some(&EMULATED[1])),
        configuration!("slow", 80, slow, 0),
        configuration!("hanging_later", 84, hanging_later, 0),
        configuration!("beside", 88, beside, 0),
        configuration!("of_a_newer_cpu", 92, right, 1 << 63),
        Configuration {
            name: "of_another_kernel",
            family: "naive",
            parameters: r#"{"naive": [{"cache_line_size": [96]}]}"#,
            entries: &[],
        },
        configuration!("held_up", 100, held_up, 0),
        configuration!("last", 104, right, 0),
    ],
};

/// `gemm_nt`, whose dispatcher chooses the first row on the emulated device.
pub(crate) static GEMM_NT: Kernel = {
    static TABLE: CudaTable = CudaTable { micro_kernels: &EMULATED, dispatch: |_, _| 0 };
    static SOURCE: CudaTableSource = CudaTableSource::Linked(&TABLE);
    let Kernel { signature, table, dispatch, .. } = &gemm_nt::KERNEL;
    Kernel { signature: *signature, table, dispatch: *dispatch, cuda: &SOURCE }
};

/// Micro-kernels for the emulated device, each a grid of one block.
static EMULATED: [CudaMicroKernel; 2] =
    [emulated("right", &[launch(right_on_device)]), emulated("wrong", &[launch(wrong_on_device)])];

const fn emulated(name: &'static str, launches: &'static [CudaLaunch]) -> CudaMicroKernel {
    CudaMicroKernel { name, launches, uses_workspace: false, workspace_bytes: |_| 0, image: None }
}

const fn launch(host: HostEntry) -> CudaLaunch {
    CudaLaunch { symbol: "by_hand", threads: 32, shared_bytes: 0, blocks: |_| 1, persistent: false, host: Some(host) }
}

unsafe extern "C" fn right_on_device(_: u32, _: u32, _: u64, args: *const HostArg, _: *mut c_char, _: u64) -> c_int {
    // SAFETY: it is a launch of `gemm_nt`.
    unsafe { product_on_device(args) };
    0
}

unsafe extern "C" fn wrong_on_device(_: u32, _: u32, _: u64, args: *const HostArg, _: *mut c_char, _: u64) -> c_int {
    // SAFETY: it is a launch of `gemm_nt`, and the last element is one of C's.
    unsafe {
        let (c, _, elements) = product_on_device(args);
        *c.add(elements - 1) += 0.01;
    }
    0
}

/// As [`product`], of the parameters of a launch: those of the nest, two strides of each matrix, the shape.
///
/// # Safety
/// The matrices are dense.
unsafe fn product_on_device(args: *const HostArg) -> (*mut f32, usize, usize) {
    // SAFETY: each parameter is read as what it is.
    unsafe {
        let tensor = |at: usize| *(*args.add(at)).value.cast::<*mut c_void>();
        let buffers = [(*args).value, tensor(1), tensor(2), (*args.add(3)).value, tensor(4)];
        let shape = [11, 12, 13, 14].map(|at| i64::from(*(*args.add(at)).value.cast::<i32>()));
        product(buffers.as_ptr(), shape.as_ptr())
    }
}

/// Nobody reads it but for messages of the C side.
const NAME: &CStr = c"by_hand";

unsafe extern "C" fn grid(_shape: *const i64) -> i64 {
    1
}

/// A micro-kernel that computes the product and then does something else with C and its four extents.
macro_rules! tile {
    ($name:ident, |$c:ident, $n:ident, $elements:ident| $after:expr) => {
        unsafe extern "C" fn $name(
            buffers: *const *mut c_void,
            _strides: *const i64,
            shape: *const i64,
            _scratch: *mut c_void,
            _begin: i64,
            _end: i64,
        ) {
            // SAFETY: the worker gives dense tensors, as the nest declares them.
            let ($c, $n, $elements): (*mut f32, usize, usize) = unsafe { product(buffers, shape) };
            $after
        }
    };
}

tile!(right, |_c, _n, _elements| ());
tile!(crashing, |_c, _n, _elements| {
    // SAFETY: none: this is what the worker has to survive.
    unsafe { std::ptr::null_mut::<i32>().write_volatile(1) }
});
tile!(hanging, |_c, _n, _elements| sleep(Duration::MAX));
tile!(wrong, |c, n, elements| {
    // SAFETY: the second of two matrices has such an element.
    unsafe { *c.add(elements / 2 + 2 * n + 3) += 0.01 }
});
tile!(slow, |_c, _n, _elements| sleep(Duration::from_millis(5)));
tile!(beside, |c, _n, elements| {
    // SAFETY: none: the worker keeps memory there that tells.
    unsafe { *c.add(elements) = 1.0 }
});
tile!(held_up, |_c, _n, _elements| {
    static CALLED: AtomicBool = AtomicBool::new(false);
    if !CALLED.swap(true, Ordering::Relaxed) {
        sleep(Duration::from_millis(500));
    }
});
tile!(hanging_later, |_c, _n, _elements| {
    static CALLED: AtomicBool = AtomicBool::new(false);
    if CALLED.swap(true, Ordering::Relaxed) {
        sleep(Duration::MAX);
    }
});

/// C = α · A · Bᵀ + β · C for every matrix of the batch; gives C, its columns, and its elements in all.
///
/// # Safety
/// The buffers are those of `gemm_nt`, dense.
unsafe fn product(buffers: *const *mut c_void, shape: *const i64) -> (*mut f32, usize, usize) {
    let extent = |name: &str| {
        let at = gemm_nt::KERNEL.shape_vars().iter().position(|var| var.name == name).unwrap();
        // SAFETY: there is one extent for each shape variable.
        usize::try_from(unsafe { *shape.add(at) }).unwrap()
    };
    let [batch, m, n, k] = ["B", "M", "N", "K"].map(extent);
    // SAFETY: as the caller vouches.
    unsafe {
        let [alpha, a, b, beta, c] = [0, 1, 2, 3, 4].map(|at| (*buffers.add(at)).cast::<f32>());
        let rows = |of: *mut f32, count: usize| std::slice::from_raw_parts(of, batch * count * k);
        let (a, b) = (rows(a, m), rows(b, n));
        for at in 0..batch * m * n {
            let (row, column) = (at / n, at / (m * n) * n + at % n);
            let terms = a[row * k..][..k].iter().zip(&b[column * k..][..k]);
            let sum = if *alpha == 0.0 { 0.0 } else { *alpha * terms.map(|(x, y)| x * y).sum::<f32>() };
            *c.add(at) = if *beta == 0.0 { sum } else { sum + *beta * *c.add(at) };
        }
        (c, n, batch * m * n)
    }
}
