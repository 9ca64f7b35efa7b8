use dietcode_macros::dynamic_kernel;

#[dynamic_kernel]
fn f(x: &[f32; M + S - 1], y: &mut [f32; M]) {
    for i in 0..M {
        y[i] = x[i];
    }
}

fn main() {}
