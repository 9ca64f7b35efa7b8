//! The front end that `#[dynamic_kernel]` and the build script share: from a Rust function to a [`KernelDef`].
mod def;
pub mod mangle;

pub use def::*;
