use dietcode_macros::dynamic_kernel;

#[dynamic_kernel]
fn f(x: &[[f32; K]; M], b: &[f32; M], y: &mut [f32; M]) {
    for i in 0..M {
        let a1 = b[i] * b[i];
        let a2 = a1 * a1;
        let a3 = a2 * a2;
        let a4 = a3 * a3;
        let a5 = a4 * a4;
        let a6 = a5 * a5;
        let a7 = a6 * a6;
        let a8 = a7 * a7;
        let a9 = a8 * a8;
        let a10 = a9 * a9;
        let a11 = a10 * a10;
        let a12 = a11 * a11;
        let a13 = a12 * a12;
        let a14 = a13 * a13;
        y[i] = a14;
    }
}

fn main() {}
