use dietcode_macros::dynamic_kernel;

#[dynamic_kernel]
fn f(alpha: f32, beta: f32, x: &[f32; M], y: &mut [f32; M]) {
    for i in 0..M {
        let unused = beta * 2.0;
        y[i] = alpha * x[i];
    }
}

fn main() {}
