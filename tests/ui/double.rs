use dietcode_macros::dynamic_kernel;

// A nest with a parameter of `f64` computes in `f64`.
#[dynamic_kernel]
fn narrow(x: &[[f32; K]; M], w: &[f64; K], alpha: f32, y: &mut [f32; M]) {
    fn twice(v: f32) -> f64 {
        v + v
    }
    for i in 0..M {
        let mut acc: f32 = 0.0;
        for k in 0..K {
            acc += x[i][k] * f64::from(w[k]) * alpha + f32::max(w[k], 1.5f32) + k as f32;
        }
        y[i] = acc;
    }
}

#[dynamic_kernel]
fn stored(x: &[f64; M], y: &mut [f32; M]) {
    for i in 0..M {
        y[i] = x[i];
    }
}

#[dynamic_kernel]
fn rounded_twice(x: &[f64; M], y: &mut [f32; M]) {
    for i in 0..M {
        y[i] = (x[i] as f32) as f64;
    }
}

#[dynamic_kernel]
fn in_place(x: &[[f64; K]; M], y: &mut [f32; M]) {
    for i in 0..M {
        for k in 0..K {
            y[i] += x[i][k];
        }
    }
}

#[dynamic_kernel]
fn single(x: &[f32; M], y: &mut [f32; M]) {
    for i in 0..M {
        y[i] = x[i].max(f64::NEG_INFINITY) + f64::max(x[i], 1.0) + f64::from(x[i]) + 1f64;
    }
}

fn main() {}
