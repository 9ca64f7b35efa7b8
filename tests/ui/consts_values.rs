use dietcode_macros::dynamic_kernel;

#[dynamic_kernel(consts(A = -1, B = 536870913, C = 99999999999999999999, D = "768", E = 1e39, F = N, G = 1f64, H = 768usize, I = true, J = 7 / 2))]
fn f(x: &[f32; M], y: &mut [f32; M]) {
    for i in 0..M {
        y[i] = x[i];
    }
}

fn main() {}
