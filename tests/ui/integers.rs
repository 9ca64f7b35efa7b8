use dietcode_macros::dynamic_kernel;

// A nest whose parameters are all integers computes in `i32`.
#[dynamic_kernel]
fn integers(x: &[[u8; K]; M], w: &[i32; K], y: &mut [i32; M]) {
    for i in 0..M {
        let mut acc = 0.0;
        for k in 0..K {
            acc += x[i][k] * i32::from(w[k]) / 2 + (w[k] + 1.5).abs() + k;
        }
        y[i] = if acc > 3 { acc } else { 4000000000 };
    }
}

#[dynamic_kernel]
fn narrow(x: &[i32; M], y: &mut [u8; M]) {
    for i in 0..M {
        y[i] = x[i] as u8;
    }
}

#[dynamic_kernel]
fn quantised(x: &[f32; M], y: &mut [i8; M]) {
    for i in 0..M {
        y[i] = x[i].round() as i8;
    }
}

// One that has floats sums integers if the accumulator is one.
#[dynamic_kernel]
fn mixed(x: &[[u8; K]; M], w: &[[i8; K]; N], b: &[i32; N], s: &[f32; N], zero: i32, y: &mut [[f32; N]; M]) {
    fn twice(v: f32) -> f32 {
        v + v
    }
    for i in 0..M {
        for j in 0..N {
            let mut acc = 0;
            for k in 0..K {
                acc += i32::from(x[i][k]) * w[j][k] + f32::from(x[i][k]) * s[j] + twice(s[j]) + zero;
            }
            acc += b[j];
            y[i][j] = acc * s[j] + acc as f32 + b[j] + f32::from(b[j]) + zero as i32;
        }
    }
}

#[dynamic_kernel]
fn wide(x: &[[u8; K]; M], y: &mut [f64; M]) {
    for i in 0..M {
        let mut acc = 0;
        for k in 0..K {
            acc += i32::from(x[i][k]);
        }
        y[i] = f64::from(acc);
    }
}

#[dynamic_kernel]
fn scalar(x: &[u8; M], by: u8, y: &mut [i32; M]) {
    for i in 0..M {
        y[i] = i32::from(x[i]) * i32::from(by);
    }
}

#[dynamic_kernel(prepared(w))]
fn laid_out(x: &[[u8; K]; M], w: &[[i8; K]; N], y: &mut [[i32; N]; M]) {
    for i in 0..M {
        for j in 0..N {
            for k in 0..K {
                y[i][j] += i32::from(x[i][k]) * i32::from(w[j][k]);
            }
        }
    }
}

fn main() {}
