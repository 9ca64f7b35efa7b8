use dietcode_macros::dynamic_kernel;

#[dynamic_kernel]
fn dietcode_f(Dietcode: &[f32; M], y: &mut [f32; M]) {
    for dietcode_i in 0..M {
        y[dietcode_i] = 0.0;
    }
}

fn main() {}
