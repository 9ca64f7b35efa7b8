fn main() {
    dietcode_build::kernels(["src/ops.rs"]).allow_untuned().compile();
}
