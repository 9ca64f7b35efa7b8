use dietcode_macros::dynamic_kernel;

#[dynamic_kernel]
fn floats(x: &[[u8; K]; M], w: &[[i32; K]; M], s: &[f32; M], zero: i32, y: &mut [f32; M]) {
    for i in 0..M {
        let mut acc = 0.0;
        for k in 0..K {
            acc += i32::from(x[i][k]) + w[i][k] as i32 + zero as i32 + f32::from(s[i]);
        }
        y[i] = acc;
    }
}

#[dynamic_kernel]
fn finished(x: &[[u8; K]; M], s: &[f32; M], y: &mut [f32; M]) {
    for i in 0..M {
        let mut acc = 2.0;
        for k in 0..K {
            acc += if s[i] > 0.0 { i32::from(x[i][k]) } else { 0 };
        }
        y[i] = f32::from(acc);
    }
}

#[dynamic_kernel]
fn chosen(x: &[[u8; K]; M], s: &[f32; M], y: &mut [f32; M]) {
    for i in 0..M {
        let mut acc = 0;
        for k in 0..K {
            acc += if s[i] > 0.0 { i32::from(x[i][k]) } else { 2.5 };
        }
        y[i] = f32::from(acc);
    }
}

#[dynamic_kernel]
fn wide(x: &[[u8; K]; M], y: &mut [f64; M]) {
    for i in 0..M {
        let mut acc = 0.0;
        for k in 0..K {
            acc += i32::from(x[i][k]);
        }
        y[i] = acc;
    }
}

#[dynamic_kernel(consts(C = 1.5, D = 3i32, E = -1))]
fn constants(x: &[i32; M], y: &mut [i32; M]) {
    for i in 0..M {
        y[i] = x[i] * C + D + E;
    }
}

#[dynamic_kernel(consts(C = 1.5f32, D = 2f32))]
fn suffix(x: &[f64; M], y: &mut [f64; M]) {
    for i in 0..M {
        y[i] = x[i] * C + D;
    }
}

// The least integer is one, and the next one below is none.
#[dynamic_kernel]
fn least(x: &[i32; M], y: &mut [i32; M]) {
    for i in 0..M {
        y[i] = x[i].max(-2147483648) + -2147483649 - 2147483648 + 7u8;
    }
}

fn main() {}
