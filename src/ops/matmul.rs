//! Products of matrices, either of them as it is (n) or transposed (t), and their element types.
//!
//! Every nest is typed out: the macro and the build script must see the same text.

use dietcode_core::{bf16, dynamic_kernel, f16};

/// Y = X · W.
#[dynamic_kernel]
pub fn matmul_nn(x: &[[f32; K]; M], w: &[[f32; N]; K], y: &mut [[f32; N]; M]) {
    for i in 0..M {
        for j in 0..N {
            let mut acc = 0.0;
            for k in 0..K {
                acc += x[i][k] * w[k][j];
            }
            y[i][j] = acc;
        }
    }
}

/// Y = X · Wᵀ.
#[dynamic_kernel]
pub fn matmul_nt(x: &[[f32; K]; M], w: &[[f32; K]; N], y: &mut [[f32; N]; M]) {
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

/// Y = Xᵀ · W.
#[dynamic_kernel]
pub fn matmul_tn(x: &[[f32; M]; K], w: &[[f32; N]; K], y: &mut [[f32; N]; M]) {
    for i in 0..M {
        for j in 0..N {
            let mut acc = 0.0;
            for k in 0..K {
                acc += x[k][i] * w[k][j];
            }
            y[i][j] = acc;
        }
    }
}

/// Y = Xᵀ · Wᵀ.
#[dynamic_kernel]
pub fn matmul_tt(x: &[[f32; M]; K], w: &[[f32; K]; N], y: &mut [[f32; N]; M]) {
    for i in 0..M {
        for j in 0..N {
            let mut acc = 0.0;
            for k in 0..K {
                acc += x[k][i] * w[j][k];
            }
            y[i][j] = acc;
        }
    }
}

/// Y = X · W, of `f16` elements summed in `f32`.
#[dynamic_kernel]
pub fn matmul_nn_f16(x: &[[f16; K]; M], w: &[[f16; N]; K], y: &mut [[f16; N]; M]) {
    for i in 0..M {
        for j in 0..N {
            let mut acc = 0.0;
            for k in 0..K {
                acc += f32::from(x[i][k]) * f32::from(w[k][j]);
            }
            y[i][j] = f16::from_f32(acc);
        }
    }
}

/// Y = X · Wᵀ, of `f16` elements summed in `f32`.
#[dynamic_kernel]
pub fn matmul_nt_f16(x: &[[f16; K]; M], w: &[[f16; K]; N], y: &mut [[f16; N]; M]) {
    for i in 0..M {
        for j in 0..N {
            let mut acc = 0.0;
            for k in 0..K {
                acc += f32::from(x[i][k]) * f32::from(w[j][k]);
            }
            y[i][j] = f16::from_f32(acc);
        }
    }
}

/// Y = Xᵀ · W, of `f16` elements summed in `f32`.
#[dynamic_kernel]
pub fn matmul_tn_f16(x: &[[f16; M]; K], w: &[[f16; N]; K], y: &mut [[f16; N]; M]) {
    for i in 0..M {
        for j in 0..N {
            let mut acc = 0.0;
            for k in 0..K {
                acc += f32::from(x[k][i]) * f32::from(w[k][j]);
            }
            y[i][j] = f16::from_f32(acc);
        }
    }
}

/// Y = Xᵀ · Wᵀ, of `f16` elements summed in `f32`.
#[dynamic_kernel]
pub fn matmul_tt_f16(x: &[[f16; M]; K], w: &[[f16; K]; N], y: &mut [[f16; N]; M]) {
    for i in 0..M {
        for j in 0..N {
            let mut acc = 0.0;
            for k in 0..K {
                acc += f32::from(x[k][i]) * f32::from(w[j][k]);
            }
            y[i][j] = f16::from_f32(acc);
        }
    }
}

/// Y = X · W, of `bf16` elements summed in `f32`.
#[dynamic_kernel]
pub fn matmul_nn_bf16(x: &[[bf16; K]; M], w: &[[bf16; N]; K], y: &mut [[bf16; N]; M]) {
    for i in 0..M {
        for j in 0..N {
            let mut acc = 0.0;
            for k in 0..K {
                acc += f32::from(x[i][k]) * f32::from(w[k][j]);
            }
            y[i][j] = bf16::from_f32(acc);
        }
    }
}

/// Y = X · Wᵀ, of `bf16` elements summed in `f32`.
#[dynamic_kernel]
pub fn matmul_nt_bf16(x: &[[bf16; K]; M], w: &[[bf16; K]; N], y: &mut [[bf16; N]; M]) {
    for i in 0..M {
        for j in 0..N {
            let mut acc = 0.0;
            for k in 0..K {
                acc += f32::from(x[i][k]) * f32::from(w[j][k]);
            }
            y[i][j] = bf16::from_f32(acc);
        }
    }
}

/// Y = Xᵀ · W, of `bf16` elements summed in `f32`.
#[dynamic_kernel]
pub fn matmul_tn_bf16(x: &[[bf16; M]; K], w: &[[bf16; N]; K], y: &mut [[bf16; N]; M]) {
    for i in 0..M {
        for j in 0..N {
            let mut acc = 0.0;
            for k in 0..K {
                acc += f32::from(x[k][i]) * f32::from(w[k][j]);
            }
            y[i][j] = bf16::from_f32(acc);
        }
    }
}

/// Y = Xᵀ · Wᵀ, of `bf16` elements summed in `f32`.
#[dynamic_kernel]
pub fn matmul_tt_bf16(x: &[[bf16; M]; K], w: &[[bf16; K]; N], y: &mut [[bf16; N]; M]) {
    for i in 0..M {
        for j in 0..N {
            let mut acc = 0.0;
            for k in 0..K {
                acc += f32::from(x[k][i]) * f32::from(w[j][k]);
            }
            y[i][j] = bf16::from_f32(acc);
        }
    }
}
