//! Nests that unit tests of several modules compute.

use dietcode_syntax::KernelDef;

use crate::frontend;
use crate::ir::Program;

/// Y[M, N] = X[M, K] · W[N, K]ᵀ, whose shape variables are M, K, N.
pub(crate) const DENSE: &str = include_str!("../../tests/nests/dense.rs");

/// A product in each of B batches, of matrices that are all read once.
pub(crate) const BATCH: &str =
    "fn batch(x: &[[[f32; 64]; M]; B], w: &[[[f32; 64]; M]; B], y: &mut [[[f32; M]; M]; B]) {
    for b in 0..B { for i in 0..M { for j in 0..M {
        let mut acc = 0.0; for k in 0..64 { acc += x[b][i][k] * w[b][j][k]; } y[b][i][j] = acc;
    } } } }";

/// A convolution of each channel for itself.
pub(crate) const DEPTHWISE: &str =
    "fn depthwise(x: &[[[f32; Q + 2]; P + 2]; C], k: &[[[f32; 3]; 3]; C], y: &mut [[[f32; Q]; P]; C]) {
    for c in 0..C { for p in 0..P { for q in 0..Q {
        let mut acc = 0.0;
        for r in 0..3 { for s in 0..3 { acc += x[c][p + r][q + s] * k[c][r][s]; } }
        y[c][p][q] = acc;
    } } } }";

/// The kernel of a nest, which is written with its attribute or without.
pub(crate) fn kernel(nest: &str) -> KernelDef {
    let attribute = if nest.contains("#[dynamic_kernel") { "" } else { "#[dynamic_kernel] " };
    let found = dietcode_syntax::scan(&format!("{attribute}{nest}")).unwrap_or_else(|e| panic!("{e:?}"));
    found[0].parse().unwrap_or_else(|e| panic!("{e:?}"))
}

/// Its program.
pub(crate) fn program(nest: &str) -> Program {
    frontend::program(&kernel(nest))
}

/// [`DENSE`].
pub(crate) fn dense() -> KernelDef {
    kernel(DENSE)
}
