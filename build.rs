//! Builds the kernels that this crate ships, and the set of configurations that its benchmarks try.

fn main() {
    // The tests call those of ops.rs on the emulated device; the products are compiled for it one by one by a test of their own.
    let ops = dietcode_build::kernels(["src/ops.rs"]).cuda_host();
    let products = dietcode_build::kernels(["src/ops/matmul.rs", "src/ops/batched.rs"]);
    let general = dietcode_build::kernels(["src/ops/gemm.rs"]);
    let general = if cfg!(feature = "benchmark") { general.with_set("configs") } else { general };
    ops.and(products).and(general).compile();
}
