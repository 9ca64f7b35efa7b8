//! The kernel of this program.

use dietcode_core::dynamic_kernel;

/// C = A · B.
#[dynamic_kernel]
pub fn product(a: &[[f32; K]; M], b: &[[f32; N]; K], c: &mut [[f32; N]; M]) {
    for i in 0..M {
        for j in 0..N {
            let mut acc = 0.0;
            for k in 0..K {
                acc += a[i][k] * b[k][j];
            }
            c[i][j] = acc;
        }
    }
}
