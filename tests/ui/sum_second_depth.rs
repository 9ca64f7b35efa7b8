use dietcode_macros::dynamic_kernel;

#[dynamic_kernel]
fn f(x: &[[[f32; R]; K]; M], b: &[f32; K], y: &mut [f32; M]) {
    for i in 0..M {
        for k in 0..K {
            y[i] += b[k];
            for r in 0..R {
                y[i] += x[i][k][r];
            }
        }
    }
}

fn main() {}
