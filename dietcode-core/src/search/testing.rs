//! What the tests of a search draw from: a dense layer on a CPU of no machine.

use dietcode_syntax::KernelDef;

use crate::machine::Target;
use crate::machine::avx512;

/// Y[M, n] = X[M, k] · W[n, k]ᵀ.
pub(super) fn dense(n: usize, k: usize) -> KernelDef {
    let text = format!(
        "#[dynamic_kernel]
        pub fn dense(x: &[[f32; {k}]; M], w: &[[f32; {k}]; {n}], y: &mut [[f32; {n}]; M]) {{
            for i in 0..M {{
                for j in 0..{n} {{
                    let mut acc = 0.0;
                    for k in 0..{k} {{
                        acc += x[i][k] * w[j][k];
                    }}
                    y[i][j] = acc;
                }}
            }}
        }}"
    );
    crate::testing::kernel(&text)
}

pub(super) fn target() -> Target {
    Target::Cpu(avx512())
}
