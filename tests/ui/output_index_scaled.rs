use dietcode_macros::dynamic_kernel;

#[dynamic_kernel]
fn f(x: &[f32; M], y: &mut [f32; 2 * M]) {
    for i in 0..M {
        y[2 * i] = x[i];
    }
}

fn main() {}
