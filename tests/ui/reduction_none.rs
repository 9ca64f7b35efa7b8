use dietcode_macros::dynamic_kernel;

#[dynamic_kernel]
fn f(x: &[[f32; K]; M], b: &[f32; M], y: &mut [f32; M]) {
    for i in 0..M {
        let mut top = 0.0;
        for k in 0..K {
            top = x[i][k].max(b[i]);
        }
        y[i] = top;
    }
}

fn main() {}
