use dietcode_macros::dynamic_kernel;

#[dynamic_kernel]
fn f(alpha: f32, x: &[[f32; K]; M], y: &mut [f32; M]) {
    for i in 0..M {
        let mut acc = 0.0;
        if alpha != 0.0 {
            for k in 0..K {
                acc += x[i][k];
            }
        } else {
            acc = 1.0;
        }
        y[i] = acc;
    }
}

fn main() {}
