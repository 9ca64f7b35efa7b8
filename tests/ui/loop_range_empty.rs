use dietcode_macros::dynamic_kernel;

#[dynamic_kernel]
fn f(x: &[f32; M], y: &mut [f32; M]) {
    for i in 3..1 {
        y[i] = x[i];
    }
}

fn main() {}
