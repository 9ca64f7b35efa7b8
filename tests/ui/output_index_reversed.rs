use dietcode_macros::dynamic_kernel;

#[dynamic_kernel]
fn f(x: &[f32; N], y: &mut [f32; N]) {
    for i in 0..N {
        y[N - 1 - i] = x[i];
    }
}

fn main() {}
