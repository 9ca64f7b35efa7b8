use dietcode_macros::dynamic_kernel;

#[dynamic_kernel]
fn f(mut alpha: f32, y: &mut [f32; M]) {
    for i in 0..M {
        y[i] = 1.0;
    }
}

fn main() {}
