//! What code is generated for, and the compilers that carry it there.
#[cfg(test)]
mod avx512;
mod caches;
mod cpu;
pub mod cuda;
mod detect;
mod process;
mod target;
mod toolchain;

#[cfg(test)]
pub(crate) use avx512::avx512;
#[cfg(feature = "tuner")]
pub(crate) use caches::last_level;
pub use cpu::CpuTarget;
pub use process::output_limited;
#[cfg(feature = "tuner")]
pub(crate) use process::{Group, end_all};
pub use target::Target;
pub use toolchain::{CompilerKind, Macros, Toolchain};
