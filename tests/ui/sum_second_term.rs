use dietcode_macros::dynamic_kernel;

#[dynamic_kernel]
fn f(x: &[[f32; K]; M], b: &[f32; K], y: &mut [f32; M]) {
    for i in 0..M {
        let mut acc = 0.0;
        for k in 0..K {
            acc += x[i][k];
            acc -= b[k] - 1.0;
        }
        y[i] = acc;
    }
}

fn main() {}
