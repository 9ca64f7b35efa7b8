//! The crate `matrixmultiply`: what a Rust program has without any system library.

use std::ffi::c_void;

use super::Gemm;

#[rustfmt::skip]
type Product<T> = unsafe fn(
    m: usize, k: usize, n: usize,
    alpha: T, a: *const T, rsa: isize, csa: isize, b: *const T, rsb: isize, csb: isize,
    beta: T, c: *mut T, rsc: isize, csc: isize,
);

/// Carries out a product on as many threads as `MATMUL_NUM_THREADS` said when the process started.
///
/// # Safety
///
/// `buffers` has one tensor per parameter of the nest that `gemm` was made from, at the same instance.
pub(in crate::measure) unsafe fn run(gemm: &Gemm, buffers: &[*mut c_void]) {
    // SAFETY: as the caller vouches.
    unsafe {
        match gemm.double {
            true => multiply::<f64>(gemm, buffers, matrixmultiply::dgemm),
            false => multiply::<f32>(gemm, buffers, matrixmultiply::sgemm),
        }
    }
}

/// The same by the function of a type.
///
/// # Safety
///
/// As [`run`]; the elements are of that type.
unsafe fn multiply<T: Copy + From<u8>>(gemm: &Gemm, buffers: &[*mut c_void], product: Product<T>) {
    let at = |param: usize, offset: i64| {
        // SAFETY: the matcher computed the offset from an index inside the tensor.
        unsafe { buffers[param].cast::<T>().offset(offset as isize) }
    };
    // SAFETY: as the caller vouches.
    let [alpha, beta]: [T; 2] = [gemm.alpha, gemm.beta].map(|factor| unsafe { factor.value(buffers) });
    gemm.for_each_product(|a, b, c| {
        // SAFETY: as the caller vouches; the output is a tensor of its own.
        unsafe {
            product(
                gemm.m as usize,
                gemm.k as usize,
                gemm.n as usize,
                alpha,
                at(gemm.a.param, a),
                gemm.a.row as isize,
                gemm.a.col as isize,
                at(gemm.b.param, b),
                gemm.b.row as isize,
                gemm.b.col as isize,
                beta,
                at(gemm.c.param, c),
                gemm.c.row as isize,
                gemm.c.col as isize,
            );
        }
    });
}
