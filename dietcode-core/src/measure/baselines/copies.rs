//! Products of matrices that lie between each other, on copies that do not: what a program has to do for a BLAS to
//! multiply matrices of an interleaved batch.

use std::ffi::c_void;

use super::{Batch, Gemm, Matrix};

/// The matrices of a batch, one behind the other.
#[derive(Debug, Default)]
pub(super) struct Copies<T>([Vec<T>; 3]);

/// One of the three tensors of a product: the first elements of its matrices, and how they lie.
struct Tensor {
    starts: Vec<i64>,
    matrix: Matrix,
    rows: usize,
    cols: usize,
}

/// The same products on copies, which are the parameters 0, 1 and 2.
pub(super) fn dense(gemm: &Gemm) -> Gemm {
    let Gemm { m, n, k, alpha, beta, double, .. } = *gemm;
    let dense = |param, cols| Matrix { param, offset: 0, row: cols, col: 1 };
    let batch = Batch { extent: starts(gemm)[0].len() as i64, a: m * k, b: k * n, c: m * n };
    Gemm { m, n, k, a: dense(0, k), b: dense(1, n), c: dense(2, n), alpha, beta, batch: vec![batch], double }
}

impl<T: Copy + Default> Copies<T> {
    /// Copies the factors, and of the result what is added to; gives the pointers of the copies.
    ///
    /// # Safety
    ///
    /// `buffers` has one tensor per parameter of the nest that `gemm` was made from, at the same instance.
    pub(super) unsafe fn fill(&mut self, gemm: &Gemm, reads_result: bool, buffers: &[*mut c_void]) -> [*mut c_void; 3] {
        for (n, (copy, tensor)) in self.0.iter_mut().zip(tensors(gemm)).enumerate() {
            let data = buffers[tensor.matrix.param].cast::<T>();
            copy.resize(tensor.starts.len() * tensor.rows * tensor.cols, T::default());
            if n < 2 || reads_result {
                // SAFETY: the matcher made offsets and strides from those of the tensors.
                tensor.each(|to, from| copy[to] = unsafe { *data.offset(from) });
            }
        }
        self.0.each_mut().map(|copy| copy.as_mut_ptr().cast())
    }

    /// Copies the result back.
    ///
    /// # Safety
    ///
    /// As [`Copies::fill`].
    pub(super) unsafe fn write_back(&self, gemm: &Gemm, buffers: &[*mut c_void]) {
        let [_, _, result] = tensors(gemm);
        let data = buffers[result.matrix.param].cast::<T>();
        // SAFETY: as above.
        result.each(|from, to| unsafe { *data.offset(to) = self.0[2][from] });
    }
}

fn starts(gemm: &Gemm) -> [Vec<i64>; 3] {
    let mut starts = [vec![], vec![], vec![]];
    gemm.for_each_product(|a, b, c| starts.iter_mut().zip([a, b, c]).for_each(|(all, start)| all.push(start)));
    starts
}

fn tensors(gemm: &Gemm) -> [Tensor; 3] {
    let [a, b, c] = starts(gemm);
    let tensor = |starts, matrix, rows: i64, cols: i64| {
        let (rows, cols) = (rows as usize, cols as usize);
        Tensor { starts, matrix, rows, cols }
    };
    [tensor(a, gemm.a, gemm.m, gemm.k), tensor(b, gemm.b, gemm.k, gemm.n), tensor(c, gemm.c, gemm.m, gemm.n)]
}

impl Tensor {
    /// Calls `f` with where an element lies in the copy, and where in the tensor; elements of a batch by turns, as they are
    /// neighbours.
    fn each(&self, mut f: impl FnMut(usize, isize)) {
        for row in 0..self.rows {
            for col in 0..self.cols {
                let inside = row as i64 * self.matrix.row + col as i64 * self.matrix.col;
                for (n, start) in self.starts.iter().enumerate() {
                    f((n * self.rows + row) * self.cols + col, (start + inside) as isize);
                }
            }
        }
    }
}
