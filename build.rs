//! Builds the kernels that this crate ships.

fn main() {
    dietcode_build::kernels(["src/ops.rs", "src/ops/matmul.rs", "src/ops/batched.rs"]).compile();
}
