use dietcode_macros::dynamic_kernel;

#[dynamic_kernel]
fn f(x: &[[f32; K]; M], b: &[f32; M], y: &mut [f32; M]) {
    for i in 0..M {
        for k in 0..K {
            y[i] += x[i][k];
            for r in 0..K {
                let mut v = x[i][r];
                v += 1.0;
            }
        }
    }
}

fn main() {}
