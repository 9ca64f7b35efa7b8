use dietcode_macros::dynamic_kernel;

#[dynamic_kernel]
fn f(x: &[u16; M], w: &[[i64; N]; M], y: &mut [half::f16; M]) {
    for i in 0..M {
        y[i] = x[i];
    }
}

fn main() {}
