use dietcode_macros::dynamic_kernel;

const K: usize = 512;
const EPS: f32 = 1e-6;
const WIDE: u32 = 1_000_000;

#[dynamic_kernel(consts(K = 768, EPS = 1e-5, WIDE = 4))]
fn f(x: &[[f32; K]; M], y: &mut [f32; M]) {
    for i in 0..M {
        for k in 0..K {
            y[i] += x[i][k] * EPS + WIDE as f32;
        }
    }
}

fn main() {}
