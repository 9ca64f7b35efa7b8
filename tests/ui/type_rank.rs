use dietcode_macros::dynamic_kernel;

#[dynamic_kernel]
fn f(x: &[[[[[[[[[f32; 1]; 1]; 1]; 1]; 1]; 1]; 1]; 1]; M], y: &mut [f32; M]) {
    for i in 0..M {
        y[i] = 0.0;
    }
}

fn main() {}
