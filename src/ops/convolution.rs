//! 2-D convolutions of `f16` elements summed in `f32`, without padding and with stride 1, as planes or channels are contiguous.

use dietcode_core::{dynamic_kernel, f16};

/// A convolution of planes (NCHW): x is \[channels\]\[height\]\[width\], k is \[output channels\]\[channels\]\[height\]\[width\].
#[dynamic_kernel]
pub fn conv2d_f16(x: &[[[f16; W + S - 1]; H + R - 1]; C], k: &[[[[f16; S]; R]; C]; O], y: &mut [[[f16; W]; H]; O]) {
    for o in 0..O {
        for h in 0..H {
            for w in 0..W {
                let mut acc = 0.0;
                for c in 0..C {
                    for r in 0..R {
                        for s in 0..S {
                            acc += f32::from(x[c][h + r][w + s]) * f32::from(k[o][c][r][s]);
                        }
                    }
                }
                y[o][h][w] = f16::from_f32(acc);
            }
        }
    }
}

/// A convolution of channels (NHWC): x is \[height\]\[width\]\[channels\], k is \[output channels\]\[height\]\[width\]\[channels\].
#[dynamic_kernel]
pub fn conv2d_nhwc_f16(
    x: &[[[f16; C]; W + S - 1]; H + R - 1],
    k: &[[[[f16; C]; S]; R]; O],
    y: &mut [[[f16; O]; W]; H],
) {
    for h in 0..H {
        for w in 0..W {
            for o in 0..O {
                let mut acc = 0.0;
                for r in 0..R {
                    for s in 0..S {
                        for c in 0..C {
                            acc += f32::from(x[h + r][w + s][c]) * f32::from(k[o][r][s][c]);
                        }
                    }
                }
                y[h][w][o] = f16::from_f32(acc);
            }
        }
    }
}
