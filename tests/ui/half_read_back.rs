use dietcode_core::bf16;
use dietcode_macros::dynamic_kernel;

#[dynamic_kernel]
fn f(x: &[f32; M], y: &mut [bf16; M]) {
    for i in 0..M {
        y[i] = bf16::from_f32(x[i] * 2.0);
        y[i] = bf16::from_f32(f32::from(y[i]) + 1.0);
    }
}

fn main() {}
