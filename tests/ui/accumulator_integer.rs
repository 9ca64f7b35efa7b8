use dietcode_macros::dynamic_kernel;

#[dynamic_kernel]
fn f(x: &[[f32; K]; M], y: &mut [f32; M]) {
    for i in 0..M {
        let mut n = 0;
        for k in 0..K {
            n += x[i][k];
        }
        y[i] = n;
    }
}

#[dynamic_kernel]
fn g(x: &[[f32; K]; M], y: &mut [f32; M]) {
    for i in 0..M {
        let mut a: usize = 0;
        let mut b: usize = -1.5;
        y[i] = x[i][0];
    }
}

fn main() {}
