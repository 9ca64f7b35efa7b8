use dietcode_macros::dynamic_kernel;

#[dynamic_kernel]
fn f(x: &[[f32; K]; M], b: &[f32; M], y: &mut [f32; M]) {
    for i in 0..M {
        y[i] = if b[i] > 0.0 && b[i] < 1.0 { b[i] } else { 0.0 };
    }
}

fn main() {}
