use dietcode_macros::dynamic_kernel;

#[dynamic_kernel]
fn f(r#type: &[f32; M], y: &mut [f32; M]) {
    for i in 0..M {
        y[i] = r#type[i];
    }
}

fn main() {}
