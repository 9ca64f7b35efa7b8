use dietcode_macros::dynamic_kernel;

#[dynamic_kernel(consts(x = 768, i = 3, Some = 4, t = 2))]
fn f(x: &[f32; M], y: &mut [f32; M]) {
    for i in 0..Some {
        let t = x[i];
        y[i] = t;
    }
}

fn main() {}
