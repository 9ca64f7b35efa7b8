use dietcode_core::{bf16, f16};
use dietcode_macros::dynamic_kernel;

#[dynamic_kernel]
fn without(x: &[f32; M], y: &mut [f16; M]) {
    for i in 0..M {
        y[i] = x[i];
    }
}

#[dynamic_kernel]
fn wrong(x: &[f32; M], y: &mut [f16; M]) {
    for i in 0..M {
        y[i] = bf16::from_f32(x[i]);
    }
}

#[dynamic_kernel]
fn copied(x: &[bf16; M], y: &mut [bf16; M]) {
    for i in 0..M {
        y[i] = x[i];
    }
}

fn main() {}
