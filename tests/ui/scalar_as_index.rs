use dietcode_macros::dynamic_kernel;

#[dynamic_kernel]
fn of_type(alpha: f32, x: &[[f32; alpha]; M], y: &mut [f32; M]) {
    for i in 0..M {
        y[i] = alpha * x[i][0];
    }
}

#[dynamic_kernel]
fn of_loop(alpha: f32, x: &[[f32; K]; M], y: &mut [f32; M]) {
    for i in 0..M {
        for k in 0..alpha {
            y[i] += x[i][k + alpha];
        }
    }
}

fn main() {}
