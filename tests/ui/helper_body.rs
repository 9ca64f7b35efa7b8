use dietcode_macros::dynamic_kernel;

#[dynamic_kernel]
fn f(x: &[[f32; K]; M], b: &[f32; M], s: f32, y: &mut [f32; M]) {
    fn captures(v: f32) -> f32 {
        v * s + b[0] + (K as f32)
    }
    fn loops(v: f32) -> f32 {
        let mut sum = 0.0;
        for k in 0..3 {
            sum += v;
        }
        sum
    }
    fn stops(v: f32) -> f32 {
        return v;
    }
    for i in 0..M {
        y[i] = captures(b[i]) + loops(s) + stops(s);
    }
}

fn main() {}
