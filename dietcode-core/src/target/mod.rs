//! What code is generated for, and the compilers that carry it there.
mod caches;
mod cpu;
pub mod cuda;
mod detect;
mod process;
mod toolchain;

pub use cpu::CpuTarget;
#[cfg(all(feature = "tuner", feature = "cuda"))]
pub(crate) use process::output_limited;
#[cfg(feature = "tuner")]
pub(crate) use process::run_limited;
pub use toolchain::{CompilerKind, Macros, Toolchain};
