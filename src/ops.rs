//! The kernels that dietcode ships: they serve the benchmarks and the tests, and show what a nest may look like.

mod batched;
mod convolution;
mod gemm;
mod matmul;

use dietcode_core::dynamic_kernel;

pub use batched::*;
pub use convolution::*;
pub use gemm::*;
pub use matmul::*;

/// Y = X · Wᵀ: the dense layer of a transformer, at any sequence length.
#[dynamic_kernel(config = "configs/bert_dense.json")]
pub fn dense(x: &[[f32; K]; M], w: &[[f32; K]; N], y: &mut [[f32; N]; M]) {
    for i in 0..M {
        for j in 0..N {
            let mut acc = 0.0;
            for k in 0..K {
                acc += x[i][k] * w[j][k];
            }
            y[i][j] = acc;
        }
    }
}

/// Y = X · Wᵀ with a W that is laid out once, by [`dense_prepared::prepare_w`]: a layer whose weights stay the same.
#[dynamic_kernel(prepared(w))]
pub fn dense_prepared(x: &[[f32; K]; M], w: &[[f32; K]; N], y: &mut [[f32; N]; M]) {
    for i in 0..M {
        for j in 0..N {
            let mut acc = 0.0;
            for k in 0..K {
                acc += x[i][k] * w[j][k];
            }
            y[i][j] = acc;
        }
    }
}

/// Y = relu(X · Wᵀ + b): a dense layer with its bias and activation in the same pass.
#[dynamic_kernel]
pub fn dense_bias_relu(x: &[[f32; K]; M], w: &[[f32; K]; N], b: &[f32; N], y: &mut [[f32; N]; M]) {
    for i in 0..M {
        for j in 0..N {
            let mut acc = 0.0;
            for k in 0..K {
                acc += x[i][k] * w[j][k];
            }
            let v = acc + b[j];
            y[i][j] = if v > 0.0 { v } else { 0.0 };
        }
    }
}

/// Y\[b\] += X\[b\] · W\[b\] for every b.
#[dynamic_kernel]
pub fn batch_matmul(x: &[[[f32; K]; M]; B], w: &[[[f32; N]; K]; B], y: &mut [[[f32; N]; M]; B]) {
    for b in 0..B {
        for i in 0..M {
            for j in 0..N {
                for k in 0..K {
                    y[b][i][j] += x[b][i][k] * w[b][k][j];
                }
            }
        }
    }
}

/// A 2-D convolution, without padding and with stride 1, added to y: x is \[channels\]\[height\]\[width\], k is
/// \[output channels\]\[channels\]\[height\]\[width\].
#[dynamic_kernel]
pub fn conv2d(x: &[[[f32; W + S - 1]; H + R - 1]; C], k: &[[[[f32; S]; R]; C]; O], y: &mut [[[f32; W]; H]; O]) {
    for o in 0..O {
        for h in 0..H {
            for w in 0..W {
                for c in 0..C {
                    for r in 0..R {
                        for s in 0..S {
                            y[o][h][w] += x[c][h + r][w + s] * k[o][c][r][s];
                        }
                    }
                }
            }
        }
    }
}

/// The sum of each row.
#[dynamic_kernel]
pub fn row_sum(x: &[[f32; N]; M], y: &mut [f32; M]) {
    for i in 0..M {
        let mut acc = 0.0;
        for j in 0..N {
            acc += x[i][j];
        }
        y[i] = acc;
    }
}

/// Y = a · bᵀ: every product of an element of a and one of b.
#[dynamic_kernel]
pub fn outer(a: &[f32; M], b: &[f32; N], y: &mut [[f32; N]; M]) {
    for i in 0..M {
        for j in 0..N {
            y[i][j] = a[i] * b[j];
        }
    }
}

/// The activation GELU of every element, by its approximation with tanh (Hendrycks and Gimpel, 2016).
#[dynamic_kernel]
pub fn gelu(x: &[f32; N], y: &mut [f32; N]) {
    for i in 0..N {
        let v = x[i];
        let inner = 0.7978846 * (v + 0.044715 * v * v * v);
        y[i] = 0.5 * v * (1.0 + inner.tanh());
    }
}

/// The activation GELU of every element as it is defined, x · Φ(x), with the normal distribution Φ by the error function.
#[dynamic_kernel]
pub fn gelu_exact(x: &[f32; N], y: &mut [f32; N]) {
    fn normal(v: f32) -> f32 {
        0.5 * (1.0 + (v * 0.70710677).erf())
    }
    for i in 0..N {
        y[i] = x[i] * normal(x[i]);
    }
}

/// Y = X · Wᵀ, of `f64` elements summed in `f64`.
#[dynamic_kernel]
pub fn dense_f64(x: &[[f64; K]; M], w: &[[f64; K]; N], y: &mut [[f64; N]; M]) {
    for i in 0..M {
        for j in 0..N {
            let mut acc = 0.0;
            for k in 0..K {
                acc += x[i][k] * w[j][k];
            }
            y[i][j] = acc;
        }
    }
}

/// Y\[i\]\[j\] = exp(α · (X\[i\]\[j\] − top\[i\])), whose elements are `f32`: computed in `f64` and rounded once.
#[dynamic_kernel]
pub fn scaled_exp_f64(x: &[[f32; N]; M], top: &[f64; M], alpha: f64, y: &mut [[f32; N]; M]) {
    for i in 0..M {
        for j in 0..N {
            y[i][j] = (alpha * (f64::from(x[i][j]) - top[i])).exp() as f32;
        }
    }
}
