use dietcode_macros::dynamic_kernel;

#[dynamic_kernel(consts(N = 4, EPS = 1e-5))]
fn f(x: &[[f32; EPS]; M], y: &mut [f32; M]) {
    for i in 0..M {
        for k in 0..EPS {
            y[i] += x[i][EPS] * N;
        }
    }
}

fn main() {}
