use dietcode_macros::dynamic_kernel;

#[dynamic_kernel]
fn f(x: &[[f32; K]; M], b: &[f32; M], y: &mut [f32; M]) {
    fn squared(v: f32) -> f32 {
        v * v
    }
    fn fourth(v: f32) -> f32 {
        squared(squared(v))
    }
    for i in 0..M {
        y[i] = fourth(fourth(fourth(fourth(fourth(b[i])))));
    }
}

fn main() {}
