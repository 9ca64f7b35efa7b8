//! What code is generated for, and the compiler that carries it there.
mod caches;
mod cpu;
mod detect;
mod toolchain;

pub use cpu::CpuTarget;
pub use toolchain::{CompilerKind, Macros, Toolchain};
