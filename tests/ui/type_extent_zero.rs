use dietcode_macros::dynamic_kernel;

#[dynamic_kernel]
fn f(x: &[f32; 0], z: &[f32; 2 - 3], y: &mut [f32; M]) {
    for i in 0..M {
        y[i] = 0.0;
    }
}

fn main() {}
