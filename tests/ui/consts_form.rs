use dietcode_macros::dynamic_kernel;

#[dynamic_kernel(consts(K: 768))]
fn f(x: &[[f32; K]; M], y: &mut [f32; M]) {
    for i in 0..M {
        for k in 0..K {
            y[i] += x[i][k];
        }
    }
}

#[dynamic_kernel(consts(a::K = 768))]
fn g(x: &[[f32; K]; M], y: &mut [f32; M]) {
    for i in 0..M {
        for k in 0..K {
            y[i] += x[i][k];
        }
    }
}

#[dynamic_kernel(consts = 3)]
fn h(x: &[[f32; K]; M], y: &mut [f32; M]) {
    for i in 0..M {
        for k in 0..K {
            y[i] += x[i][k];
        }
    }
}

fn main() {}
