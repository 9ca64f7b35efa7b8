use dietcode_macros::dynamic_kernel;

#[dynamic_kernel]
fn f(x: &[f32; M], total: &mut f32) {
    for i in 0..M {
        total += x[i];
    }
}

fn main() {}
