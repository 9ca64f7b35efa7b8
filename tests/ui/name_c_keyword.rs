use dietcode_macros::dynamic_kernel;

#[dynamic_kernel]
fn double(register: &[f32; int], y: &mut [f32; int]) {
    for auto in 0..int {
        y[auto] = register[auto];
    }
}

fn main() {}
