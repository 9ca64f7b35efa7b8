use dietcode_macros::dynamic_kernel;

#[dynamic_kernel]
fn f(x: &[f32; M], y: &mut [f32; M]) -> f32 {
    for i in 0..M {
        y[i] = x[i];
    }
}

fn main() {}
