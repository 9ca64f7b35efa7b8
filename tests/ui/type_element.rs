use dietcode_macros::dynamic_kernel;

#[dynamic_kernel]
fn f(x: &[u8; M], w: &[[i32; N]; M], y: &mut [half::f16; M]) {
    for i in 0..M {
        y[i] = x[i];
    }
}

fn main() {}
