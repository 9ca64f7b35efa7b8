use dietcode_macros::dynamic_kernel;

#[dynamic_kernel]
fn f(alpha: f32, y: &mut [f32; M]) {
    for i in 0..M {
        alpha *= 2.0;
        let alpha = alpha + 1.0;
        y[i] = alpha;
    }
}

fn main() {}
