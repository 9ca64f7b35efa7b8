use dietcode_macros::dynamic_kernel;

#[dynamic_kernel]
fn f(alpha: &f32, y: &mut [f32; M]) {
    for i in 0..M {
        y[i] = alpha;
    }
}

fn main() {}
