use dietcode_macros::dynamic_kernel;

#[dynamic_kernel]
fn f(alpha: f32, beta: f32, x: &[[f32; K]; M], y: &mut [f32; M]) {
    if alpha != 0.0 {
        for i in 0..M {
            if beta != 0.0 {
                for k in 0..K {
                    y[i] += x[i][k];
                }
            }
        }
    }
}

#[dynamic_kernel]
fn beside(alpha: f32, beta: f32, x: &[[f32; K]; M], y: &mut [f32; M]) {
    for i in 0..M {
        if alpha != 0.0 {
            for k in 0..K {
                y[i] += x[i][k];
            }
        }
        if beta != 0.0 {
            for k in 0..K {
                y[i] += x[i][k];
            }
        }
    }
}

fn main() {}
