//! NVIDIA's library of matrix products, found when a worker runs: nothing is linked against it.
//!
//! It is loaded by the names of all its versions, and from the folders in which toolkits and Python's wheels put it, of which
//! the dynamic linker may know nothing. Only functions are called whose signatures are the same in all of them.
//!
//! Parts of sums are to meet in `f32`, as ours do: by default, it may round them to 16 bits before.
//!
//! cuBLAS takes matrices by columns. A row-major matrix read by columns is its transpose, and Cᵀ = Bᵀ · Aᵀ: so a row-major
//! product is called for with its factors exchanged, each with the transposition that it has by rows.

use std::ffi::{c_int, c_longlong, c_void};
use std::path::PathBuf;

use dietcode_syntax::DType;
use libloading::Library;

use crate::measure::Failure;
use crate::measure::baselines::blas::{Call, Factor};
use crate::measure::baselines::{Coefficient, Gemm, Matrix};
use crate::measure::cuda::libraries::{load_beside, of_wheels};

/// Names of the library, the newest first.
const NAMES: [&str; 4] = ["libcublas.so.13", "libcublas.so.12", "libcublas.so.11", "libcublas.so"];

/// A loaded cuBLAS with a handle on the device of this thread.
pub(super) struct CuBlas {
    functions: Functions,
    handle: *mut c_void,
    /// Such as 130000 for 13.0.
    pub(super) version: i32,
    _library: Library,
    /// What it needs from beside it.
    _needed: Vec<Library>,
}

#[derive(Clone, Copy)]
struct Functions {
    destroy: unsafe extern "C" fn(*mut c_void) -> c_int,
    gemm: GemmStridedBatchedEx,
}

#[rustfmt::skip]
type GemmStridedBatchedEx = unsafe extern "C" fn(
    handle: *mut c_void, trans_a: c_int, trans_b: c_int, m: c_int, n: c_int, k: c_int,
    alpha: *const c_void, a: *const c_void, a_type: c_int, lda: c_int, stride_a: c_longlong,
    b: *const c_void, b_type: c_int, ldb: c_int, stride_b: c_longlong,
    beta: *const c_void, c: *mut c_void, c_type: c_int, ldc: c_int, stride_c: c_longlong,
    batch: c_int, compute: c_int, algorithm: c_int,
) -> c_int;

/// `CUBLAS_COMPUTE_32F`, `CUBLAS_COMPUTE_32F_FAST_TF32`, `CUBLAS_COMPUTE_64F`, `CUBLAS_GEMM_DEFAULT`.
const COMPUTE_F32: c_int = 68;
const COMPUTE_TF32: c_int = 77;
const COMPUTE_F64: c_int = 70;
const ALGORITHM: c_int = -1;

/// `CUBLAS_DEFAULT_MATH | CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION`.
const MATH_MODE: c_int = 16;

impl CuBlas {
    /// Loads it, on the null stream of the context that is current; or says why it is not there.
    pub(super) fn load() -> Result<CuBlas, String> {
        let (library, needed) = find()?;
        let missing = |e: libloading::Error| format!("the cuBLAS that was found lacks a function: {e}");
        // SAFETY: all versions of the library declare these functions so.
        unsafe {
            let create =
                *library.get::<unsafe extern "C" fn(*mut *mut c_void) -> c_int>(b"cublasCreate_v2").map_err(missing)?;
            let get_version = *library
                .get::<unsafe extern "C" fn(*mut c_void, *mut c_int) -> c_int>(b"cublasGetVersion_v2")
                .map_err(missing)?;
            let set_math_mode = *library
                .get::<unsafe extern "C" fn(*mut c_void, c_int) -> c_int>(b"cublasSetMathMode")
                .map_err(missing)?;
            let functions = Functions {
                destroy: *library.get(b"cublasDestroy_v2").map_err(missing)?,
                gemm: *library.get(b"cublasGemmStridedBatchedEx").map_err(missing)?,
            };
            let mut handle = std::ptr::null_mut();
            match create(&raw mut handle) {
                0 => {}
                status => return Err(format!("cuBLAS does not start: its status is {status}")),
            }
            let mut cublas = CuBlas { functions, handle, version: 0, _library: library, _needed: needed };
            get_version(handle, &raw mut cublas.version);
            match set_math_mode(handle, MATH_MODE) {
                0 => Ok(cublas),
                status => Err(format!("cuBLAS {} does not sum in f32: its status is {status}", cublas.version)),
            }
        }
    }

    /// Starts a product on the null stream.
    ///
    /// # Safety
    /// `data` are the addresses of the tensors, dense, on the device of this thread, that the product was made from, and of the
    /// scalars in this process's memory.
    pub(super) unsafe fn launch(&self, product: &Product, data: &[*mut c_void]) -> Result<(), Failure> {
        let Product { dtype, transposed, m, n, k, operands, batch, alpha, beta, tf32 } = *product;
        let kind = match dtype {
            DType::F32 => 0,
            DType::F16 => 2,
            DType::BF16 => 14,
            DType::F64 => 1,
            DType::U8 | DType::I8 | DType::I32 => unreachable!("a product of integers is none of the baselines'"),
        };
        let [a, b, c] = operands;
        let at = |operand: Operand| data[operand.param].wrapping_byte_add((operand.offset * dtype.bytes()) as usize);
        let [ta, tb] = transposed.map(c_int::from);
        let compute = match dtype {
            DType::F64 => COMPUTE_F64,
            _ if tf32 => COMPUTE_TF32,
            _ => COMPUTE_F32,
        };
        let (single, double): ([f32; 2], [f64; 2]) = match dtype {
            // SAFETY: scalars of a product of f64 are such.
            DType::F64 => ([0.0; 2], unsafe { [alpha.value(data), beta.value(data)] }),
            // SAFETY: and of all others f32.
            _ => (unsafe { [alpha.value(data), beta.value(data)] }, [0.0; 2]),
        };
        let [alpha, beta]: [*const c_void; 2] = match dtype {
            DType::F64 => [0, 1].map(|at| (&raw const double[at]).cast()),
            _ => [0, 1].map(|at| (&raw const single[at]).cast()),
        };
        // SAFETY: as the caller vouches; the library reads the two factors, which are of its arithmetic's type, at once.
        let status = unsafe {
            (self.functions.gemm)(
                self.handle,
                ta,
                tb,
                m,
                n,
                k,
                alpha,
                at(a),
                kind,
                a.leading,
                a.stride,
                at(b),
                kind,
                b.leading,
                b.stride,
                beta,
                at(c),
                kind,
                c.leading,
                c.stride,
                batch,
                compute,
                ALGORITHM,
            )
        };
        match status {
            0 => Ok(()),
            _ => Err(Failure::Launch { message: format!("cuBLAS refuses the product: its status is {status}") }),
        }
    }
}

impl Drop for CuBlas {
    fn drop(&mut self) {
        // SAFETY: the handle is of this library, and is not used again.
        unsafe { (self.functions.destroy)(self.handle) };
    }
}

/// A product as cuBLAS takes it: all matrices by columns.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Product {
    dtype: DType,
    /// Of the first and the second factor.
    transposed: [bool; 2],
    m: c_int,
    n: c_int,
    k: c_int,
    /// The factors and the result.
    operands: [Operand; 3],
    batch: c_int,
    alpha: Coefficient,
    beta: Coefficient,
    tf32: bool,
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct Operand {
    param: usize,
    /// Of the first element; like the strides in elements.
    offset: i64,
    leading: c_int,
    /// From one matrix of the batch to the next.
    stride: c_longlong,
}

impl Product {
    /// The call for a product of a nest; none if its strides are not cuBLAS's, or products follow each other in more than one
    /// stride.
    pub(super) fn of(gemm: &Gemm, dtype: DType, tf32: bool) -> Option<Product> {
        let call = Call::of(gemm)?;
        let [batch, a, b, c] = match gemm.batch[..] {
            [] => [1, 0, 0, 0],
            [one] => [one.extent, one.a, one.b, one.c],
            _ => return None,
        };
        let (left, right) = if call.swapped { ((&gemm.b, b), (&gemm.a, a)) } else { ((&gemm.a, a), (&gemm.b, b)) };
        let operand = |factor: &Factor, (matrix, stride): (&Matrix, i64)| {
            let leading = c_int::try_from(factor.leading).ok()?;
            Some(Operand { param: factor.param, offset: matrix.offset, leading, stride })
        };
        let result =
            Operand { param: gemm.c.param, offset: gemm.c.offset, leading: c_int::try_from(call.ldc).ok()?, stride: c };
        Some(Product {
            dtype,
            transposed: [call.b.is_transposed(), call.a.is_transposed()],
            m: c_int::try_from(call.n).ok()?,
            n: c_int::try_from(call.m).ok()?,
            k: c_int::try_from(gemm.k).ok()?,
            operands: [operand(&call.b, right)?, operand(&call.a, left)?, result],
            batch: c_int::try_from(batch).ok()?,
            alpha: gemm.alpha,
            beta: gemm.beta,
            tf32,
        })
    }
}

/// The first of the library's names and places that loads, with what it needs.
fn find() -> Result<(Library, Vec<Library>), String> {
    let files = folders().flat_map(|folder| NAMES.map(|name| folder.join(name)));
    for place in NAMES.map(PathBuf::from).into_iter().chain(files) {
        let needed = load_beside(&place, "libcublasLt.so.");
        // SAFETY: NVIDIA's library may be loaded at any time; that something else has its name is why a worker does this.
        if let Ok(library) = unsafe { Library::new(&place) } {
            return Ok((library, needed));
        }
    }
    Err(format!("no cuBLAS is found ({}, also where toolkits and Python's wheels put it)", NAMES.join(", ")))
}

/// Where toolkits and wheels put it.
fn folders() -> impl Iterator<Item = PathBuf> {
    let toolkits = ["CUDA_HOME", "CUDA_PATH"].into_iter().filter_map(std::env::var_os).map(PathBuf::from);
    let toolkits = toolkits.chain([PathBuf::from("/usr/local/cuda")]);
    toolkits
        .flat_map(|home| [home.join("lib64"), home.join("lib")])
        .chain(of_wheels(["nvidia/cu13/lib", "nvidia/cublas/lib"]))
}

#[cfg(test)]
mod tests;
