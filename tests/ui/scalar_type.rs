use dietcode_core::f16;
use dietcode_macros::dynamic_kernel;

#[dynamic_kernel]
fn f(a: f16, b: f128, c: usize, y: &mut [f32; M]) {
    for i in 0..M {
        y[i] = a + b + c;
    }
}

fn main() {}
