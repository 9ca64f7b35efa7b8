use dietcode_macros::dynamic_kernel;

#[dynamic_kernel(prepared(w, y, v))]
fn f(x: &[[f32; K]; M], w: &[[f32; K]; M], y: &mut [f32; M]) {
    for i in 0..M {
        for k in 0..K {
            y[i] += x[i][k] * w[k][i];
        }
    }
}

fn main() {}
