use dietcode_macros::dynamic_kernel;

#[dynamic_kernel]
fn f(x: &[f32; M], n: usize, y: &mut [f32; M]) {
    for i in 0..n {
        y[i] = x[i];
    }
}

fn main() {}
