//! Products of matrices in batches: those of `matmul`, with an outer dimension more on all three.

use dietcode_core::{bf16, dynamic_kernel, f16};

/// Y\[b\] = X\[b\] · W\[b\] for every b.
#[dynamic_kernel]
pub fn batch_matmul_nn(x: &[[[f32; K]; M]; B], w: &[[[f32; N]; K]; B], y: &mut [[[f32; N]; M]; B]) {
    for b in 0..B {
        for i in 0..M {
            for j in 0..N {
                let mut acc = 0.0;
                for k in 0..K {
                    acc += x[b][i][k] * w[b][k][j];
                }
                y[b][i][j] = acc;
            }
        }
    }
}

/// Y\[b\] = X\[b\] · W\[b\]ᵀ for every b.
#[dynamic_kernel]
pub fn batch_matmul_nt(x: &[[[f32; K]; M]; B], w: &[[[f32; K]; N]; B], y: &mut [[[f32; N]; M]; B]) {
    for b in 0..B {
        for i in 0..M {
            for j in 0..N {
                let mut acc = 0.0;
                for k in 0..K {
                    acc += x[b][i][k] * w[b][j][k];
                }
                y[b][i][j] = acc;
            }
        }
    }
}

/// Y\[b\] = X\[b\]ᵀ · W\[b\] for every b.
#[dynamic_kernel]
pub fn batch_matmul_tn(x: &[[[f32; M]; K]; B], w: &[[[f32; N]; K]; B], y: &mut [[[f32; N]; M]; B]) {
    for b in 0..B {
        for i in 0..M {
            for j in 0..N {
                let mut acc = 0.0;
                for k in 0..K {
                    acc += x[b][k][i] * w[b][k][j];
                }
                y[b][i][j] = acc;
            }
        }
    }
}

/// Y\[b\] = X\[b\]ᵀ · W\[b\]ᵀ for every b.
#[dynamic_kernel]
pub fn batch_matmul_tt(x: &[[[f32; M]; K]; B], w: &[[[f32; K]; N]; B], y: &mut [[[f32; N]; M]; B]) {
    for b in 0..B {
        for i in 0..M {
            for j in 0..N {
                let mut acc = 0.0;
                for k in 0..K {
                    acc += x[b][k][i] * w[b][j][k];
                }
                y[b][i][j] = acc;
            }
        }
    }
}

/// Y\[b\] = X\[b\] · W\[b\] for every b, of `f16` elements summed in `f32`.
#[dynamic_kernel]
pub fn batch_matmul_nn_f16(x: &[[[f16; K]; M]; B], w: &[[[f16; N]; K]; B], y: &mut [[[f16; N]; M]; B]) {
    for b in 0..B {
        for i in 0..M {
            for j in 0..N {
                let mut acc = 0.0;
                for k in 0..K {
                    acc += f32::from(x[b][i][k]) * f32::from(w[b][k][j]);
                }
                y[b][i][j] = f16::from_f32(acc);
            }
        }
    }
}

/// Y\[b\] = X\[b\] · W\[b\]ᵀ for every b, of `f16` elements summed in `f32`.
#[dynamic_kernel]
pub fn batch_matmul_nt_f16(x: &[[[f16; K]; M]; B], w: &[[[f16; K]; N]; B], y: &mut [[[f16; N]; M]; B]) {
    for b in 0..B {
        for i in 0..M {
            for j in 0..N {
                let mut acc = 0.0;
                for k in 0..K {
                    acc += f32::from(x[b][i][k]) * f32::from(w[b][j][k]);
                }
                y[b][i][j] = f16::from_f32(acc);
            }
        }
    }
}

/// Y\[b\] = X\[b\]ᵀ · W\[b\] for every b, of `f16` elements summed in `f32`.
#[dynamic_kernel]
pub fn batch_matmul_tn_f16(x: &[[[f16; M]; K]; B], w: &[[[f16; N]; K]; B], y: &mut [[[f16; N]; M]; B]) {
    for b in 0..B {
        for i in 0..M {
            for j in 0..N {
                let mut acc = 0.0;
                for k in 0..K {
                    acc += f32::from(x[b][k][i]) * f32::from(w[b][k][j]);
                }
                y[b][i][j] = f16::from_f32(acc);
            }
        }
    }
}

/// Y\[b\] = X\[b\]ᵀ · W\[b\]ᵀ for every b, of `f16` elements summed in `f32`.
#[dynamic_kernel]
pub fn batch_matmul_tt_f16(x: &[[[f16; M]; K]; B], w: &[[[f16; K]; N]; B], y: &mut [[[f16; N]; M]; B]) {
    for b in 0..B {
        for i in 0..M {
            for j in 0..N {
                let mut acc = 0.0;
                for k in 0..K {
                    acc += f32::from(x[b][k][i]) * f32::from(w[b][j][k]);
                }
                y[b][i][j] = f16::from_f32(acc);
            }
        }
    }
}

/// Y\[b\] = X\[b\] · W\[b\] for every b, of `bf16` elements summed in `f32`.
#[dynamic_kernel]
pub fn batch_matmul_nn_bf16(x: &[[[bf16; K]; M]; B], w: &[[[bf16; N]; K]; B], y: &mut [[[bf16; N]; M]; B]) {
    for b in 0..B {
        for i in 0..M {
            for j in 0..N {
                let mut acc = 0.0;
                for k in 0..K {
                    acc += f32::from(x[b][i][k]) * f32::from(w[b][k][j]);
                }
                y[b][i][j] = bf16::from_f32(acc);
            }
        }
    }
}

/// Y\[b\] = X\[b\] · W\[b\]ᵀ for every b, of `bf16` elements summed in `f32`.
#[dynamic_kernel]
pub fn batch_matmul_nt_bf16(x: &[[[bf16; K]; M]; B], w: &[[[bf16; K]; N]; B], y: &mut [[[bf16; N]; M]; B]) {
    for b in 0..B {
        for i in 0..M {
            for j in 0..N {
                let mut acc = 0.0;
                for k in 0..K {
                    acc += f32::from(x[b][i][k]) * f32::from(w[b][j][k]);
                }
                y[b][i][j] = bf16::from_f32(acc);
            }
        }
    }
}

/// Y\[b\] = X\[b\]ᵀ · W\[b\] for every b, of `bf16` elements summed in `f32`.
#[dynamic_kernel]
pub fn batch_matmul_tn_bf16(x: &[[[bf16; M]; K]; B], w: &[[[bf16; N]; K]; B], y: &mut [[[bf16; N]; M]; B]) {
    for b in 0..B {
        for i in 0..M {
            for j in 0..N {
                let mut acc = 0.0;
                for k in 0..K {
                    acc += f32::from(x[b][k][i]) * f32::from(w[b][k][j]);
                }
                y[b][i][j] = bf16::from_f32(acc);
            }
        }
    }
}

/// Y\[b\] = X\[b\]ᵀ · W\[b\]ᵀ for every b, of `bf16` elements summed in `f32`.
#[dynamic_kernel]
pub fn batch_matmul_tt_bf16(x: &[[[bf16; M]; K]; B], w: &[[[bf16; K]; N]; B], y: &mut [[[bf16; N]; M]; B]) {
    for b in 0..B {
        for i in 0..M {
            for j in 0..N {
                let mut acc = 0.0;
                for k in 0..K {
                    acc += f32::from(x[b][k][i]) * f32::from(w[b][j][k]);
                }
                y[b][i][j] = bf16::from_f32(acc);
            }
        }
    }
}
