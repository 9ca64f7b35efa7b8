use dietcode_macros::dynamic_kernel;

#[dynamic_kernel]
fn f(x: &[f32; M], w: &[f32; 3], y: &mut [f32; M]) {
    for i in 1..M - 1 {
        let mut acc = 0.0;
        for j in i - 1..i + 2 {
            acc += x[j] * w[j - i + 1];
        }
        y[i] = acc;
    }
}

fn main() {}
