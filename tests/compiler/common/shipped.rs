//! The kernels of `src/ops`.

use dietcode_syntax::KernelDef;

/// All of them.
pub(crate) fn kernels() -> Vec<KernelDef> {
    let sources = [
        include_str!("../../../src/ops.rs"),
        include_str!("../../../src/ops/matmul.rs"),
        include_str!("../../../src/ops/batched.rs"),
        include_str!("../../../src/ops/gemm.rs"),
    ];
    let scanned =
        sources.into_iter().flat_map(|source| dietcode_syntax::scan(source).expect("it is compiled elsewhere"));
    scanned.map(|kernel| kernel.parse().expect("it is compiled elsewhere")).collect()
}

/// The one of a name.
pub(crate) fn kernel(name: &str) -> KernelDef {
    kernels().into_iter().find(|def| def.name == name).expect("a shipped kernel")
}
