use dietcode_macros::dynamic_kernel;

#[dynamic_kernel]
fn f(x: &[f32; M], y: &mut [f32; M]) {
    for i in 0..M {
        y[i] = x[i + OFFSET] + EPS * f32::consts::PI;
    }
}

#[dynamic_kernel]
fn g(x: &[[f32; Self::K]; M], y: &mut [f32; M]) {
    for i in 0..M {
        for k in 0..K {
            y[i] += x[i][dims::K - 1];
        }
    }
}

fn main() {}
