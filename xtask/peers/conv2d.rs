//! The convolution that libraries are compared with: unlike that of src/ops.rs it writes its output, and adds to nothing.

/// A 2-D convolution, without padding and with stride 1: x is \[channels\]\[height\]\[width\], k is \[output
/// channels\]\[channels\]\[height\]\[width\].
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
