fn main() {
    // Nothing is tuned before the program runs: that is what it shows.
    dietcode_build::kernels(["src/ops.rs"]).allow_untuned().compile();
}
