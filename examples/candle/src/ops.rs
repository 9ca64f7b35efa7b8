//! The kernels of this program: a layer of any batch, and what training it takes.

use dietcode_core::dynamic_kernel;

/// Y = X · Wᵀ + b, where b is the same for each row.
#[dynamic_kernel]
pub fn dense(x: &[[f32; K]; M], w: &[[f32; K]; N], b: &[f32; N], y: &mut [[f32; N]; M]) {
    for i in 0..M {
        for j in 0..N {
            let mut acc = 0.0;
            for k in 0..K {
                acc += x[i][k] * w[j][k];
            }
            y[i][j] = acc + b[j];
        }
    }
}

/// The gradient of X: G · W, where G is that of Y.
#[dynamic_kernel]
pub fn dense_dx(g: &[[f32; N]; M], w: &[[f32; K]; N], dx: &mut [[f32; K]; M]) {
    for i in 0..M {
        for k in 0..K {
            let mut acc = 0.0;
            for j in 0..N {
                acc += g[i][j] * w[j][k];
            }
            dx[i][k] = acc;
        }
    }
}

/// The gradient of W: Gᵀ · X.
#[dynamic_kernel]
pub fn dense_dw(g: &[[f32; N]; M], x: &[[f32; K]; M], dw: &mut [[f32; K]; N]) {
    for j in 0..N {
        for k in 0..K {
            let mut acc = 0.0;
            for i in 0..M {
                acc += g[i][j] * x[i][k];
            }
            dw[j][k] = acc;
        }
    }
}

/// The gradient of b: the sums of G's columns.
#[dynamic_kernel]
pub fn dense_db(g: &[[f32; N]; M], db: &mut [f32; N]) {
    for j in 0..N {
        let mut acc = 0.0;
        for i in 0..M {
            acc += g[i][j];
        }
        db[j] = acc;
    }
}

/// max(X · Wᵀ + b, 0) in one pass, of weights that are laid out once.
#[dynamic_kernel(prepared(w))]
pub fn dense_relu(x: &[[f32; K]; M], w: &[[f32; K]; N], b: &[f32; N], y: &mut [[f32; N]; M]) {
    for i in 0..M {
        for j in 0..N {
            let mut acc = 0.0;
            for k in 0..K {
                acc += x[i][k] * w[j][k];
            }
            y[i][j] = (acc + b[j]).max(0.0);
        }
    }
}
