//! Builds the kernels that this crate ships, and the set of configurations that its benchmarks try; for the command, nothing.

#[cfg(not(feature = "ops"))]
fn main() {
    println!("cargo::rerun-if-changed=build.rs");
}

#[cfg(feature = "ops")]
fn main() {
    // The tests call those of ops.rs on the emulated device; the products are compiled for it one by one by a test of their own.
    // Most are there to be tested and compared with, and nobody tunes them.
    let kernels = |sources: &[&str]| dietcode_build::kernels(sources).allow_untuned();
    let ops = kernels(&["src/ops.rs"]).cuda_host();
    let products = kernels(&["src/ops/matmul.rs", "src/ops/batched.rs", "src/ops/convolution.rs"]);
    let general = kernels(&["src/ops/gemm.rs"]);
    let general = if cfg!(feature = "benchmark") { general.with_set("configs") } else { general };
    ops.and(products).and(general).compile();
}
