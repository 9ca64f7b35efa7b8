use dietcode_macros::dynamic_kernel;

#[dynamic_kernel]
fn f(x: &[[f32; K]; M], b: &[f32; M], y: &mut [f32; M]) {
    fn power(v: f32) -> f32 {
        if v > 1.0 { power(v - 1.0) } else { v }
    }
    fn even(v: f32) -> f32 {
        odd(v - 1.0)
    }
    fn odd(v: f32) -> f32 {
        even(v - 1.0)
    }
    for i in 0..M {
        y[i] = power(b[i]) + even(b[i]);
    }
}

fn main() {}
