use dietcode_macros::dynamic_kernel;

#[dynamic_kernel(consts(K = 768), consts(EPS = 1e-5))]
fn f(x: &[[f32; K]; M], y: &mut [f32; M]) {
    for i in 0..M {
        for k in 0..K {
            y[i] += x[i][k];
        }
    }
}

fn main() {}
