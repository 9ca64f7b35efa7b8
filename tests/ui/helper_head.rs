use dietcode_macros::dynamic_kernel;

#[dynamic_kernel]
fn f(x: &[[f32; K]; M], b: &[f32; M], y: &mut [f32; M]) {
    fn generic<T>(v: f32) -> f32 {
        v
    }
    pub const fn constant(v: f32) -> f32 {
        v
    }
    fn tensor(v: &[f32; M]) -> f32 {
        v[0]
    }
    fn wide(v: f32) -> f64 {
        v
    }
    fn nothing(v: f32) {}
    fn pair((a, b): f32) -> f32 {
        a + b
    }
    for i in 0..M {
        y[i] = tensor(b) + pair(b[i]);
    }
}

fn main() {}
