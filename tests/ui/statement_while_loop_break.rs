use dietcode_macros::dynamic_kernel;

#[dynamic_kernel]
fn f(x: &[[f32; K]; M], b: &[f32; M], y: &mut [f32; M]) {
    while true {
        y[0] += 1.0;
    }
    loop {
        break;
    }
    return;
}

fn main() {}
