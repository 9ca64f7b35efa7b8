use dietcode_macros::dynamic_kernel;

#[dynamic_kernel]
fn f(M: &[f32; M], y: &mut [f32; N]) {
    for i in 0..N {
        y[i] = 0.0;
    }
}

fn main() {}
