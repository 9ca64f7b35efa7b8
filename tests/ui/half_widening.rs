use dietcode_core::bf16;
use dietcode_macros::dynamic_kernel;

#[dynamic_kernel]
fn f(x: &[f32; M], w: &[bf16; M], y: &mut [f32; M]) {
    for i in 0..M {
        y[i] = f32::from(x[i]) + f32::from(f32::from(w[i])) + f32::from(i) + f32::from(1.0);
    }
}

fn main() {}
