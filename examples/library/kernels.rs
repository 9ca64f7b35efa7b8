//! The kernels of the library that main.c and main.py call. Their configs stand beside this file.

use dietcode_core::{dynamic_kernel, f16};

/// Y = relu(X · Wᵀ + b): a dense layer for any number of rows.
#[dynamic_kernel]
pub fn dense(x: &[[f32; K]; M], w: &[[f32; K]; N], b: &[f32; N], y: &mut [[f32; N]; M]) {
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

/// A 2-D convolution of an image `x[channel][row][column]`, without padding and with stride 1.
#[dynamic_kernel]
pub fn conv2d(x: &[[[f32; W + S - 1]; H + R - 1]; C], k: &[[[[f32; S]; R]; C]; O], y: &mut [[[f32; W]; H]; O]) {
    for o in 0..O {
        for h in 0..H {
            for w in 0..W {
                let mut acc = 0.0;
                for c in 0..C {
                    for r in 0..R {
                        for s in 0..S {
                            acc += x[c][h + r][w + s] * k[o][c][r][s];
                        }
                    }
                }
                y[o][h][w] = acc;
            }
        }
    }
}

/// The scores of attention, `s[b] = scale · q[b] · k[b]ᵀ`, of elements of 16 bits, summed in 32.
#[dynamic_kernel]
pub fn scores(scale: f32, q: &[[[f16; D]; T]; B], k: &[[[f16; D]; U]; B], s: &mut [[[f16; U]; T]; B]) {
    for b in 0..B {
        for i in 0..T {
            for j in 0..U {
                let mut acc = 0.0;
                for d in 0..D {
                    acc += f32::from(q[b][i][d]) * f32::from(k[b][j][d]);
                }
                s[b][i][j] = f16::from_f32(scale * acc);
            }
        }
    }
}
