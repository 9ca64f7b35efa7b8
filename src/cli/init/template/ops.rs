use dietcode_core::dynamic_kernel;

/// Y = X · Wᵀ: a dense layer for any number of rows.
#[dynamic_kernel(config = "configs/dense.json")]
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
