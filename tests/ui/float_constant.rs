use dietcode_macros::dynamic_kernel;

#[dynamic_kernel]
fn f(b: &[f32; M], y: &mut [f32; M]) {
    for i in 0..M {
        y[i] = b[i].max(f32::NAN);
    }
}

fn main() {}
