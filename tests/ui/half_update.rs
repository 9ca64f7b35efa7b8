use dietcode_core::{bf16, f16};
use dietcode_macros::dynamic_kernel;

#[dynamic_kernel]
fn sum(x: &[[f16; K]; M], y: &mut [f16; M]) {
    for i in 0..M {
        for k in 0..K {
            y[i] += f32::from(x[i][k]);
        }
    }
}

#[dynamic_kernel]
fn long_form(x: &[[f16; K]; M], y: &mut [f16; M]) {
    for i in 0..M {
        for k in 0..K {
            y[i] = f16::from_f32(f32::from(y[i]) + f32::from(x[i][k]));
        }
    }
}

#[dynamic_kernel]
fn elementwise(x: &[f32; M], y: &mut [bf16; M]) {
    for i in 0..M {
        y[i] *= x[i];
    }
}

fn main() {}
