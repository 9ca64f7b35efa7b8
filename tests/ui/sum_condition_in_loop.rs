use dietcode_macros::dynamic_kernel;

#[dynamic_kernel]
fn between(alpha: f32, x: &[[[f32; K]; L]; M], y: &mut [f32; M]) {
    for i in 0..M {
        let mut acc = 0.0;
        for l in 0..L {
            if alpha != 0.0 {
                for k in 0..K {
                    acc += x[i][l][k];
                }
            }
        }
        y[i] = acc;
    }
}

#[dynamic_kernel]
fn innermost(alpha: f32, x: &[[f32; K]; M], y: &mut [f32; M]) {
    for i in 0..M {
        for k in 0..K {
            if alpha != 0.0 {
                y[i] += x[i][k];
            }
        }
    }
}

fn main() {}
