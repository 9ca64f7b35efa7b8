use dietcode_macros::dynamic_kernel;

#[dynamic_kernel]
fn f(x: &[[f32; K]; M], b: &[f32; M], y: &mut [f32; M + K]) {
    for i in 0..M {
        for k in 0..K {
            y[i + k] += x[i][k];
        }
    }
}

fn main() {}
