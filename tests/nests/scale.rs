#[dynamic_kernel]
pub fn scale(x: &[[f32; N]; M], y: &mut [[f32; N]; M]) {
    for i in 0..M {
        for j in 0..N {
            y[i][j] = x[i][j] * 2.0;
        }
    }
}
