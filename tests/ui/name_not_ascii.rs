use dietcode_macros::dynamic_kernel;

#[dynamic_kernel]
fn f(größe: &[f32; M], y: &mut [f32; M]) {
    for i in 0..M {
        y[i] = größe[i];
    }
}

fn main() {}
