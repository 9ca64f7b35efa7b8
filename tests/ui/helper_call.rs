use dietcode_macros::dynamic_kernel;

#[dynamic_kernel]
fn f(x: &[[f32; K]; M], b: &[f32; M], y: &mut [f32; M]) {
    fn leaky(v: f32, slope: f32) -> f32 {
        if v > 0.0 { v } else { slope * v }
    }
    for i in 0..M {
        y[i] = leaky(b[i]) + leaky + leaky(x[i], i);
    }
}

fn main() {}
