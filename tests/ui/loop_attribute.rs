use dietcode_macros::dynamic_kernel;

#[dynamic_kernel]
fn f(x: &[[f32; K]; M], b: &[f32; M], y: &mut [f32; M]) {
    #[allow(unused)]
    for i in 0..M {
        #[cfg(any())]
        let v = b[i];
        y[i] = v;
    }
}

fn main() {}
