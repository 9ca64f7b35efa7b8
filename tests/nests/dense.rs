#[dynamic_kernel]
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
