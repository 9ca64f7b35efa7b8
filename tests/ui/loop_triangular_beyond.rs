use dietcode_macros::dynamic_kernel;

#[dynamic_kernel]
fn f(x: &[[f32; M]; M], y: &mut [f32; M]) {
    for i in 0..M {
        for k in 0..M - i {
            y[i] -= x[i][k + i];
        }
    }
}

fn main() {}
