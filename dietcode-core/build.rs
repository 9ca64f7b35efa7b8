//! Lets the crate know the triple it is compiled for: the C compiler is looked up by it, also outside of build scripts.
fn main() {
    let target = std::env::var("TARGET").expect("cargo sets TARGET for build scripts");
    println!("cargo:rustc-env=DIETCODE_TARGET={target}");
    println!("cargo:rerun-if-changed=build.rs");
}
