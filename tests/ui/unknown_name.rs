use dietcode_macros::dynamic_kernel;

#[dynamic_kernel]
fn f(x: &[[f32; K]; M], b: &[f32; M], y: &mut [f32; M]) {
    for i in 0..M {
        y[i] = b[i] * scale + b[offset] + dims::MAX + z[i];
    }
}

fn main() {}
