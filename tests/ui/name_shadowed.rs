use dietcode_macros::dynamic_kernel;

#[dynamic_kernel]
fn f(x: &[[f32; K]; M], b: &[f32; M], y: &mut [f32; M]) {
    for x in 0..M {
        for M in 0..K {
            for x in 0..K {
                y[0] += 1.0;
            }
        }
    }
}

fn main() {}
