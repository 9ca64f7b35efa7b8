use dietcode_macros::dynamic_kernel;

const K: usize = 768;

#[dynamic_kernel]
fn f(x: &[[f32; K]; M], y: &mut [f32; M]) {
    for i in 0..M {
        for k in 0..K {
            y[i] += x[i][k];
        }
    }
}

fn main() {}
