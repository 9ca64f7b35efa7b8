use dietcode_macros::dynamic_kernel;

#[dynamic_kernel]
fn f(x: &[f32; None], y: &mut [f32; None]) {
    for i in 0..None {
        y[i] = x[i];
    }
}

fn main() {}
