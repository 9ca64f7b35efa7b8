use dietcode_macros::dynamic_kernel;

#[dynamic_kernel]
fn f(alpha: f32, x: &[[f32; K]; M], y: &mut [f32; M]) {
    for i in 0..M {
        if alpha != 0.0 {
            let mut acc = 0.0;
            for k in 0..K {
                acc += x[i][k];
            }
            y[i] = acc;
        }
    }
}

fn main() {}
