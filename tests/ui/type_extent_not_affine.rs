use dietcode_macros::dynamic_kernel;

#[dynamic_kernel]
fn f(x: &[f32; M * M], z: &[f32; M / 2], y: &mut [f32; M]) {
    for i in 0..M {
        y[i] = 0.0;
    }
}

fn main() {}
