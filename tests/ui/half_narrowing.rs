use dietcode_core::f16;
use dietcode_macros::dynamic_kernel;

#[dynamic_kernel]
fn f(x: &[f32; M], y: &mut [f32; M]) {
    for i in 0..M {
        y[i] = f16::from_f32(x[i]);
    }
}

#[dynamic_kernel]
fn g(x: &[f32; M], y: &mut [f16; M]) {
    for i in 0..M {
        let h = f16::from_f32(x[i]);
        y[i] = f16::from_f32(f16::from_f32(x[i]) + h);
    }
}

fn main() {}
