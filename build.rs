//! Builds the kernels that this crate ships.

fn main() {
    // The tests call those of ops.rs on the emulated device; the products are compiled for it one by one by a test of their own.
    let ops = dietcode_build::kernels(["src/ops.rs"]).cuda_host();
    ops.and(dietcode_build::kernels(["src/ops/matmul.rs", "src/ops/batched.rs", "src/ops/gemm.rs"])).compile();
}
