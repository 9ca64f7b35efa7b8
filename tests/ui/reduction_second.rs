use dietcode_macros::dynamic_kernel;

#[dynamic_kernel]
fn f(x: &[[f32; K]; M], y: &mut [f32; M]) {
    for i in 0..M {
        let mut acc = 0.0;
        let mut squares = 0.0;
        for k in 0..K {
            acc += x[i][k];
            squares += x[i][k] * x[i][k];
        }
        y[i] = acc / squares;
    }
}

fn main() {}
