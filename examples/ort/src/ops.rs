//! The kernels of this program.

use dietcode_core::{dynamic_kernel, f16};

/// Y = α · X · Wᵀ + b, where b is the same for each row.
#[dynamic_kernel]
pub fn dense(alpha: f32, x: &[[f32; K]; M], w: &[[f32; K]; N], b: &[f32; N], y: &mut [[f32; N]; M]) {
    for i in 0..M {
        for j in 0..N {
            let mut acc = 0.0;
            for k in 0..K {
                acc += x[i][k] * w[j][k];
            }
            y[i][j] = alpha * acc + b[j];
        }
    }
}

/// α times what it is, in elements of 64 bits.
#[dynamic_kernel]
pub fn times(alpha: f64, x: &[f64; N], y: &mut [f64; N]) {
    for i in 0..N {
        y[i] = alpha * x[i];
    }
}

/// Twice what it is, in elements of 16 bits.
#[dynamic_kernel]
pub fn twice(x: &[f16; N], y: &mut [f16; N]) {
    for i in 0..N {
        y[i] = f16::from_f32(f32::from(x[i]) * 2.0);
    }
}
