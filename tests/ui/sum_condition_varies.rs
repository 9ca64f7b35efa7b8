use dietcode_macros::dynamic_kernel;

#[dynamic_kernel]
fn of_tensor(alpha: f32, x: &[[f32; K]; M], y: &mut [f32; M]) {
    for i in 0..M {
        let mut acc = alpha;
        if x[i][0] > 0.0 {
            for k in 0..K {
                acc += x[i][k];
            }
        }
        y[i] = acc;
    }
}

#[dynamic_kernel]
fn of_loop(alpha: f32, x: &[[f32; K]; M], y: &mut [f32; M]) {
    for i in 0..M {
        if i as f32 != alpha {
            for k in 0..K {
                y[i] += x[i][k];
            }
        }
    }
}

fn main() {}
