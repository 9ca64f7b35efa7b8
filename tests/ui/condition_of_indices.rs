use dietcode_macros::dynamic_kernel;

#[dynamic_kernel]
fn f(x: &[f32; M], y: &mut [f32; M]) {
    for i in 0..M {
        y[i] = if i > 0 { x[i - 1] } else { y[i] };
    }
}

fn main() {}
