use dietcode_macros::dynamic_kernel;

const K: f32 = 768.0;
const EPS: usize = 1;
static M: usize = 3;
struct N;

#[dynamic_kernel(consts(K = 768, EPS = 1e-5))]
fn f(x: &[[f32; K]; N], w: &[f32; M], y: &mut [f32; N]) {
    for i in 0..N {
        for k in 0..K {
            y[i] += x[i][k] * EPS;
        }
    }
}

fn main() {}
