use dietcode_macros::dynamic_kernel;

#[dynamic_kernel]
fn f(x: &[[f32; K]; M], b: &[f32; M], y: &mut [f32; M]) {
    for i in 0..M {
        let mut acc = 1.0;
        for k in 0..K {
            acc = if x[i][k] > acc { k as f32 } else { acc };
        }
        y[i] = acc * b[i];
    }
}

fn main() {}
