//! The general product of BLAS: C = α · op(A) · op(B) + β · C for every matrix of a batch.
//!
//! The letters say which of A and B are stored transposed, A's first. The matrices of a batch lie one behind the other, or,
//! in the kernels `…_interleaved`, element by element: the first elements of all matrices, then the second ones. As in BLAS, C
//! is not read if β is 0, and neither A nor B if α is.

use dietcode_core::dynamic_kernel;

/// C\[s\] = α · A\[s\] · B\[s\] + β · C\[s\] for every s.
#[dynamic_kernel(config = "configs/gemm_nn.json")]
pub fn gemm_nn(alpha: f32, a: &[[[f32; K]; M]; B], b: &[[[f32; N]; K]; B], beta: f32, c: &mut [[[f32; N]; M]; B]) {
    for s in 0..B {
        for i in 0..M {
            for j in 0..N {
                let mut acc = 0.0;
                if alpha != 0.0 {
                    for k in 0..K {
                        acc += a[s][i][k] * b[s][k][j];
                    }
                }
                c[s][i][j] = if beta == 0.0 { alpha * acc } else { alpha * acc + beta * c[s][i][j] };
            }
        }
    }
}

/// C\[s\] = α · A\[s\] · B\[s\]ᵀ + β · C\[s\] for every s.
#[dynamic_kernel(config = "configs/gemm_nt.json")]
pub fn gemm_nt(alpha: f32, a: &[[[f32; K]; M]; B], b: &[[[f32; K]; N]; B], beta: f32, c: &mut [[[f32; N]; M]; B]) {
    for s in 0..B {
        for i in 0..M {
            for j in 0..N {
                let mut acc = 0.0;
                if alpha != 0.0 {
                    for k in 0..K {
                        acc += a[s][i][k] * b[s][j][k];
                    }
                }
                c[s][i][j] = if beta == 0.0 { alpha * acc } else { alpha * acc + beta * c[s][i][j] };
            }
        }
    }
}

/// C\[s\] = α · A\[s\]ᵀ · B\[s\] + β · C\[s\] for every s.
#[dynamic_kernel(config = "configs/gemm_tn.json")]
pub fn gemm_tn(alpha: f32, a: &[[[f32; M]; K]; B], b: &[[[f32; N]; K]; B], beta: f32, c: &mut [[[f32; N]; M]; B]) {
    for s in 0..B {
        for i in 0..M {
            for j in 0..N {
                let mut acc = 0.0;
                if alpha != 0.0 {
                    for k in 0..K {
                        acc += a[s][k][i] * b[s][k][j];
                    }
                }
                c[s][i][j] = if beta == 0.0 { alpha * acc } else { alpha * acc + beta * c[s][i][j] };
            }
        }
    }
}

/// C\[s\] = α · A\[s\]ᵀ · B\[s\]ᵀ + β · C\[s\] for every s.
#[dynamic_kernel(config = "configs/gemm_tt.json")]
pub fn gemm_tt(alpha: f32, a: &[[[f32; M]; K]; B], b: &[[[f32; K]; N]; B], beta: f32, c: &mut [[[f32; N]; M]; B]) {
    for s in 0..B {
        for i in 0..M {
            for j in 0..N {
                let mut acc = 0.0;
                if alpha != 0.0 {
                    for k in 0..K {
                        acc += a[s][k][i] * b[s][j][k];
                    }
                }
                c[s][i][j] = if beta == 0.0 { alpha * acc } else { alpha * acc + beta * c[s][i][j] };
            }
        }
    }
}

/// C\[s\] = α · A\[s\] · B\[s\] + β · C\[s\] for every s, the batch innermost.
#[dynamic_kernel(config = "configs/gemm_nn_interleaved.json")]
pub fn gemm_nn_interleaved(
    alpha: f32,
    a: &[[[f32; B]; K]; M],
    b: &[[[f32; B]; N]; K],
    beta: f32,
    c: &mut [[[f32; B]; N]; M],
) {
    for i in 0..M {
        for j in 0..N {
            for s in 0..B {
                let mut acc = 0.0;
                if alpha != 0.0 {
                    for k in 0..K {
                        acc += a[i][k][s] * b[k][j][s];
                    }
                }
                c[i][j][s] = if beta == 0.0 { alpha * acc } else { alpha * acc + beta * c[i][j][s] };
            }
        }
    }
}

/// C\[s\] = α · A\[s\] · B\[s\]ᵀ + β · C\[s\] for every s, the batch innermost.
#[dynamic_kernel(config = "configs/gemm_nt_interleaved.json")]
pub fn gemm_nt_interleaved(
    alpha: f32,
    a: &[[[f32; B]; K]; M],
    b: &[[[f32; B]; K]; N],
    beta: f32,
    c: &mut [[[f32; B]; N]; M],
) {
    for i in 0..M {
        for j in 0..N {
            for s in 0..B {
                let mut acc = 0.0;
                if alpha != 0.0 {
                    for k in 0..K {
                        acc += a[i][k][s] * b[j][k][s];
                    }
                }
                c[i][j][s] = if beta == 0.0 { alpha * acc } else { alpha * acc + beta * c[i][j][s] };
            }
        }
    }
}

/// C\[s\] = α · A\[s\]ᵀ · B\[s\] + β · C\[s\] for every s, the batch innermost.
#[dynamic_kernel(config = "configs/gemm_tn_interleaved.json")]
pub fn gemm_tn_interleaved(
    alpha: f32,
    a: &[[[f32; B]; M]; K],
    b: &[[[f32; B]; N]; K],
    beta: f32,
    c: &mut [[[f32; B]; N]; M],
) {
    for i in 0..M {
        for j in 0..N {
            for s in 0..B {
                let mut acc = 0.0;
                if alpha != 0.0 {
                    for k in 0..K {
                        acc += a[k][i][s] * b[k][j][s];
                    }
                }
                c[i][j][s] = if beta == 0.0 { alpha * acc } else { alpha * acc + beta * c[i][j][s] };
            }
        }
    }
}

/// C\[s\] = α · A\[s\]ᵀ · B\[s\]ᵀ + β · C\[s\] for every s, the batch innermost.
#[dynamic_kernel(config = "configs/gemm_tt_interleaved.json")]
pub fn gemm_tt_interleaved(
    alpha: f32,
    a: &[[[f32; B]; M]; K],
    b: &[[[f32; B]; K]; N],
    beta: f32,
    c: &mut [[[f32; B]; N]; M],
) {
    for i in 0..M {
        for j in 0..N {
            for s in 0..B {
                let mut acc = 0.0;
                if alpha != 0.0 {
                    for k in 0..K {
                        acc += a[k][i][s] * b[j][k][s];
                    }
                }
                c[i][j][s] = if beta == 0.0 { alpha * acc } else { alpha * acc + beta * c[i][j][s] };
            }
        }
    }
}
