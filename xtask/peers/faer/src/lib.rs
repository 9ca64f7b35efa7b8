//! Products of matrices by faer, timed for worker.py.

use std::time::Instant;

use faer::linalg::matmul::matmul;
use faer::{Accum, MatMut, MatRef, Par};
use rayon::prelude::*;

/// `batch` products Y\[m\]\[n\] = X\[m\]\[k\] · W, with W as \[k\]\[n\], or transposed as \[n\]\[k\]: as in loops.c.
#[repr(C)]
pub struct Product {
    batch: i64,
    m: i64,
    n: i64,
    k: i64,
    transposed: i64,
    threads: i64,
    x: *const f32,
    w: *const f32,
    y: *mut f32,
}

// SAFETY: each product of a batch has a part of Y for itself, and the others are read only.
unsafe impl Sync for Product {}

/// The seconds of so many calls.
///
/// # Safety
/// The pointers are to as many elements as the extents say.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn time_product(calls: i64, product: *const Product) -> f64 {
    // SAFETY: the caller says so.
    let product = unsafe { &*product };
    let (several, batch) = (product.threads > 1, product.batch as usize);
    let start = Instant::now();
    for _ in 0..calls {
        match batch {
            1 => product.one(0, if several { Par::rayon(product.threads as usize) } else { Par::Seq }),
            // What faer does with the products of a batch is up to its caller.
            _ if several => (0..batch).into_par_iter().for_each(|at| product.one(at, Par::Seq)),
            _ => (0..batch).for_each(|at| product.one(at, Par::Seq)),
        }
    }
    start.elapsed().as_secs_f64()
}

impl Product {
    fn one(&self, at: usize, parallelism: Par) {
        let [m, n, k] = [self.m, self.n, self.k].map(|extent| extent as usize);
        let (rows, columns) = if self.transposed != 0 { (1, k as isize) } else { (n as isize, 1) };
        // SAFETY: the caller of `time_product` says how large they are; `at` is below `batch`.
        let (y, x, w) = unsafe {
            (
                MatMut::from_raw_parts_mut(self.y.add(at * m * n), m, n, n as isize, 1),
                MatRef::from_raw_parts(self.x.add(at * m * k), m, k, k as isize, 1),
                MatRef::from_raw_parts(self.w.add(at * n * k), k, n, rows, columns),
            )
        };
        matmul(y, Accum::Replace, x, w, 1.0, parallelism);
    }
}
