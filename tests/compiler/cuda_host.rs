//! `dietcode.cuh` on the CPU: every function that generated CUDA files use, and every mistake that has to be told.
//!
//! The kernels are those of `kernels/`, compiled by the system's C++ compiler into shared libraries; `nvcc` compiles the same
//! files for devices.

mod accesses;
mod async_copies;
mod blocks;
mod copies;
mod emulator;
mod matrices;
mod mistakes;
mod numbers;
mod nvcc;
mod users_own;
mod warps;
