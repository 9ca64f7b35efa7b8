use dietcode_macros::dynamic_kernel;

#[dynamic_kernel]
fn f(x: &[[f32; K]; M], b: &[f32; M], y: &mut [f32; M]) {
    for i in 0..M {
        let v = b[i];
        v = 1.0;
        i += 1;
        y = v;
        y[i] = v;
    }
}

fn main() {}
