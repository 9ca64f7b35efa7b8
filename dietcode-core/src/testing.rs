//! What unit tests of several modules compute.

use dietcode_syntax::KernelDef;

/// Y[M, N] = X[M, K] · W[N, K]ᵀ, whose shape variables are M, K, N.
pub(crate) fn product() -> KernelDef {
    let nest = "#[dynamic_kernel]
        pub fn product(x: &[[f32; K]; M], w: &[[f32; K]; N], y: &mut [[f32; N]; M]) {
            for i in 0..M { for j in 0..N {
                let mut acc = 0.0;
                for k in 0..K { acc += x[i][k] * w[j][k]; }
                y[i][j] = acc;
            } }
        }";
    dietcode_syntax::scan(nest).unwrap()[0].parse().unwrap()
}
