use dietcode_core::f16;
use dietcode_macros::dynamic_kernel;

#[dynamic_kernel]
fn f(x: &[[f16; K]; M], y: &mut [f32; M]) {
    for i in 0..M {
        let mut acc = 0.0;
        for k in 0..K {
            acc += x[i][k] * x[i][k].to_f32() + x[i][0] as f32;
        }
        y[i] = acc;
    }
}

fn main() {}
