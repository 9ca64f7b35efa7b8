use dietcode_macros::dynamic_kernel;

#[dynamic_kernel]
fn f(x: &[[f32; 4]; M], y: &mut [f32; M]) {
    const K: usize = 4;
    for i in 0..M {
        for k in 0..4 {
            y[i] += x[i][k];
        }
    }
}

fn main() {}
