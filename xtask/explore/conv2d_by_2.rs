//! The convolution of stride 2 of docs/nests.md, for `cargo xtask explore conv2d_by_2`.

#[dynamic_kernel]
pub fn conv2d_by_2(
    x: &[[[f32; 2 * W + S - 2]; 2 * H + R - 2]; C],
    k: &[[[[f32; S]; R]; C]; O],
    y: &mut [[[f32; W]; H]; O],
) {
    for o in 0..O {
        for h in 0..H {
            for w in 0..W {
                let mut acc = 0.0;
                for c in 0..C {
                    for r in 0..R {
                        for s in 0..S {
                            acc += x[c][2 * h + r][2 * w + s] * k[o][c][r][s];
                        }
                    }
                }
                y[o][h][w] = acc;
            }
        }
    }
}
