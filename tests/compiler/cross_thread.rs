//! Sums that threads of a GPU's block share: the loops that lowering makes of them, what is refused, and that the generated
//! CUDA, carried out on the CPU, equals the reference at every shape, with the same bits each time.

mod directed;
mod nvcc;
mod printed;
mod property;
mod refused;
mod schedules;
mod traced;

use dietcode_syntax::KernelDef;

/// The kernel of a source.
fn kernel(source: &str) -> KernelDef {
    let found = dietcode_syntax::scan(source).expect("the source parses");
    found[0].parse().unwrap_or_else(|errors| panic!("{errors}\n{source}"))
}

const ROW_SUMS: &str = "#[dynamic_kernel] fn row_sums(x: &[[f32; K]; M], y: &mut [f32; M]) {
    for i in 0..M {
        let mut acc = 0.0;
        for k in 0..K { acc += x[i][k]; }
        y[i] = acc;
    }
}";

const COLUMN_SUMS: &str = "#[dynamic_kernel] fn column_sums(x: &[[f16; M]; K], b: &[f32; M], y: &mut [bf16; M]) {
    for j in 0..M {
        let mut acc = b[j];
        for k in 0..K { acc += f32::from(x[k][j]); }
        y[j] = bf16::from_f32(acc.max(0.0));
    }
}";

const DENSE: &str =
    "#[dynamic_kernel] fn dense(x: &[[f32; K]; M], w: &[[f32; K]; N], b: &[f32; N], y: &mut [[f32; N]; M]) {
    for i in 0..M { for j in 0..N {
        let mut acc = 1.5;
        for k in 0..K { acc += x[i][k] * w[j][k]; }
        y[i][j] = (acc + b[j]).max(0.0);
    } }
}";

const ADDED: &str = "#[dynamic_kernel] fn added(x: &[[bf16; K]; M], w: &[[f16; N]; K], y: &mut [[f32; N]; M]) {
    for i in 0..M { for j in 0..N {
        let mut acc = y[i][j];
        for k in 0..K { acc += f32::from(x[i][k]) * f32::from(w[k][j]); }
        y[i][j] = acc;
    } }
}";

const DOT: &str = "#[dynamic_kernel] fn dot(x: &[f32; K], w: &[f32; K], y: &mut [f32; 1]) {
    for i in 0..1 {
        let mut acc = 0.0;
        for k in 0..K { acc += x[k] * w[k]; }
        y[i] = acc.exp();
    }
}";

const SCALED: &str =
    "#[dynamic_kernel] fn scaled(alpha: f32, beta: f32, x: &[[f32; K]; M], w: &[f32; K], y: &mut [f32; M]) {
    for i in 0..M {
        let mut acc = 0.0;
        if alpha != 0.0 { for k in 0..K { acc += x[i][k] * w[k]; } }
        y[i] = if beta == 0.0 { alpha * acc } else { alpha * acc + beta * y[i] };
    }
}";

const CONVOLUTION: &str = "#[dynamic_kernel] fn convolution(x: &[[[f32; W + S - 1]; H + R - 1]; C], k: &[[[[f32; S]; R]; C]; O], y: &mut [[[f32; W]; H]; O]) {
    for o in 0..O { for h in 0..H { for w in 0..W {
        let mut acc = 0.0;
        for c in 0..C { for r in 0..R { for s in 0..S { acc += x[c][h + r][w + s] * k[o][c][r][s]; } } }
        y[o][h][w] = acc;
    } } }
}";
