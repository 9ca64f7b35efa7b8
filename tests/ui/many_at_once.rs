use dietcode_macros::dynamic_kernel;

#[dynamic_kernel(cfg = "a.json")]
async fn f(x: &[u16; M], w: &[[f32; N]], y: &mut [f32; M + Q]) -> f32 {
    for i in 1..M {
        let v = w[i * i].log();
        x[i] = 0.0;
        y[i] = w + 1;
    }
}

// Callers of a kernel with errors get no errors of their own.
pub fn caller(x: dietcode_core::runtime::TensorRef<'_, f32>, mut y: dietcode_core::runtime::TensorMut<'_, f32>) {
    f(&x, &x, &mut y).unwrap();
    f::reference(&x, &x, &mut y).unwrap();
    println!("{}", f::KERNEL.name());
}

fn main() {}
