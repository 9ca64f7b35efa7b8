//! Nests with declared constants, ranges that start anywhere, offsets of the output, and what errors tell to write.

use dietcode_core::dynamic_kernel;
use dietcode_core::runtime::{TensorMut, TensorRef};

mod dims {
    pub const K: usize = 4;
}
use dims::K;
/// Of another type than extents have.
const LAST: u8 = 3;
const EPS: f32 = 1e-5;

/// The norm of each row of a constant length.
#[dynamic_kernel(consts(EPS = 1e-5, K = 4, LAST = K - 1, HALF = 0.5))]
pub fn norms(x: &[[f32; K]; M], w: &[f32; K + 1], y: &mut [f32; M]) {
    for i in 0..M {
        let mut acc = HALF;
        for k in 0..K {
            acc += x[i][LAST - k] * x[i][k] * w[k + 1];
        }
        y[i] = (acc / K as f32 + EPS).abs().sqrt();
    }
}

pub fn expected_norms(x: &[f32], w: &[f32], y: &mut [f32]) {
    for (row, y) in x.chunks(K).zip(y) {
        let sum: f32 = (0..K).map(|k| row[usize::from(LAST) - k] * row[k] * w[k + 1]).sum();
        *y = ((0.5 + sum) / K as f32 + EPS).abs().sqrt();
    }
}

/// The inner points of a grid; the border is left as it is.
#[dynamic_kernel]
pub fn stencil(x: &[[f32; N]; M], y: &mut [[f32; N]; M]) {
    for i in 1..M - 1 {
        for j in 1..=N - 2 {
            let east = j + 1;
            y[i][j] = x[i - 1][j] + x[i + 1][j] + x[i][j - 1] + x[i][east] + i as f32;
        }
    }
}

/// Sums from the third element on, into every element but the first and the last.
#[dynamic_kernel]
pub fn tails(x: &[[f32; L]; M], y: &mut [f32; M + 2]) {
    for i in 0..M {
        let to = i + 1;
        for k in 2..L {
            y[to] += x[i][k];
        }
    }
}

/// The rows from `S` on, in columns that are stored elsewhere.
#[dynamic_kernel]
pub fn below(x: &[[f32; N]; M], s: &[f32; S], y: &mut [[f32; N + 3]; M]) {
    for i in S..M {
        for j in 0..N {
            y[i][j + 3] = x[i][j];
        }
    }
}

/// What the error at `for k in 0..i` tells to write.
#[dynamic_kernel]
pub fn lower_sums(x: &[[f32; M]; M], y: &mut [f32; M]) {
    for i in 0..M {
        let mut acc = 0.0;
        for k in 0..M {
            acc += if (k as f32) < i as f32 { x[i][k] } else { 0.0 };
        }
        y[i] = acc;
    }
}

/// What the error at `for j in i + 1..M` tells to write.
#[dynamic_kernel]
pub fn upper(x: &[[f32; M]; M], y: &mut [[f32; M]; M]) {
    for i in 0..M {
        for j in 1..M {
            y[i][j] = if (j as f32) >= (i + 1) as f32 { x[i][j] } else { y[i][j] };
        }
    }
}

/// Constants of a block.
pub fn in_a_block(x: &[f32], y: &mut [f32]) {
    const N: usize = 3;
    #[dynamic_kernel(consts(N = 3))]
    fn heads(x: &[f32; M], y: &mut [f32; N]) {
        for i in 0..N {
            y[i] = x[i];
        }
    }
    let x = TensorRef::new(x, &[x.len()]).unwrap();
    heads(&x, TensorMut::new(y, &[N]).unwrap()).unwrap();
    let computed = y.to_vec();
    y.fill(f32::NAN);
    heads::reference(&x, TensorMut::new(y, &[N]).unwrap()).unwrap();
    assert_eq!(computed, y);
}

/// Every element of a row divides by the same sum.
#[allow(deprecated)]
#[dynamic_kernel]
pub fn silent(x: &[[f32; D]; T], y: &mut [[f32; D]; T]) {
    for t in 0..T {
        for d in 0..D {
            let mut sum = 0.0;
            for e in 0..D {
                sum += x[t][e] * x[t][e];
            }
            y[t][d] = x[t][d] / sum.sqrt();
        }
    }
}

/// The same, said.
#[dynamic_kernel]
pub fn warned(x: &[[f32; D]; T], y: &mut [[f32; D]; T]) {
    for t in 0..T {
        for d in 0..D {
            let mut sum = 0.0;
            for e in 0..D {
                sum += x[t][e] * x[t][e];
            }
            y[t][d] = x[t][d] / sum.sqrt();
        }
    }
}
