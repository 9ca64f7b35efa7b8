use dietcode_macros::dynamic_kernel;

#[dynamic_kernel]
fn f(x: &[[f32; M]; M], y: &mut [f32; M]) {
    for i in 0..M {
        let mut acc = 0.0;
        for k in i + 1..M {
            acc -= x[i][k];
        }
        y[i] = acc;
    }
}

#[dynamic_kernel]
fn g(x: &[[f32; N]; M], y: &mut [[f32; N]; M]) {
    for i in 0..M {
        for j in i..=i + 2 {
            y[i][j] = x[i][j];
        }
    }
}

fn main() {}
