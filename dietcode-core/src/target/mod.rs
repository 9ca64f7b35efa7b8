//! What code is generated for.
mod cpu;
pub use cpu::CpuTarget;
