use dietcode_macros::dynamic_kernel;

#[dynamic_kernel]
fn f(x: &[[f32; K]; M], b: &[f32; M], y: &mut [f32; M]) {
    fn b(v: f32) -> f32 {
        v
    }
    fn double(v: f32) -> f32 {
        v + v
    }
    fn half(half: f32) -> f32 {
        0.5 * half
    }
    for i in 0..M {
        y[i] = x[i][0];
    }
}

fn main() {}
