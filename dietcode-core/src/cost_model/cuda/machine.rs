//! What a multiprocessor does in a clock, as far as an estimate needs it.
//!
//! Sources: the table of arithmetic throughput in NVIDIA's CUDA C++ Programming Guide 13.0; clocks, memory bandwidth and dense
//! tensor throughput from the data sheets of the parts that [`DeviceLimits::part`] names. The matrix units of 9.0 and 10.0
//! are counted at what `mma.sync` reaches, about half of what their own instructions do. Of second-level caches the A100's is known, "5120
//! bytes/clk" of all its 108 multiprocessors (NVIDIA A100 Tensor Core GPU Architecture, 2020); for others the figure is an assumption.

use crate::ir::DType;
use crate::machine::cuda::{DeviceLimits, Pipe};

/// Throughputs of a device.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Machine {
    /// Fused multiply-adds of f32 that a multiprocessor completes in a clock.
    pub(super) fma: f64,
    /// The same of f64: the rows "64-bit floating-point add, multiply, multiply-add".
    pub(super) double: f64,
    /// The same of its matrix units, on f16 or bf16.
    pub(super) half: f64,
    /// The same on tf32.
    pub(super) tf32: f64,
    /// Instructions of threads on pairs of f16: half of the row "16-bit floating-point add, multiply, multiply-add".
    half_pairs: f64,
    /// Bytes that reach a multiprocessor through the second-level cache in a clock, while all of them ask.
    pub(super) second_level: f64,
    /// Clocks in a second, while it computes.
    pub(super) clock: f64,
    /// Bytes in a second from the device's memory.
    pub(super) memory: f64,
}

/// Instructions of threads that a multiprocessor starts in a clock: a warp in each of its four schedulers.
pub(super) const ISSUE: f64 = 128.0;

/// Integers that threads add, compare or shift in a clock: the same on all devices since 7.0.
const ALU: f64 = 64.0;

/// Functions and conversions of threads in a clock: the row "32-bit floating-point reciprocal, …".
const SPECIAL: f64 = 16.0;

/// Threads of a warp.
pub(super) const WARP: f64 = 32.0;

/// Clocks until global memory answers.
pub(super) const LATENCY: f64 = 500.0;

/// Clocks until all threads of a block have met.
pub(super) const BARRIER: f64 = 30.0;

/// Seconds between the starts of two launches on one stream.
pub(super) const LAUNCH: f64 = 2e-6;

/// Warps of a block that keep the schedulers of a multiprocessor busy.
pub(super) const SCHEDULERS: f64 = 4.0;

impl Machine {
    pub(super) fn of(device: &DeviceLimits) -> Machine {
        let machine = |fma, double, half, tf32, half_pairs, second_level, gigahertz, gigabytes| Machine {
            fma,
            double,
            half,
            tf32,
            half_pairs,
            second_level,
            clock: gigahertz * 1e9,
            memory: gigabytes * 1e9,
        };
        match (device.capability.major, device.capability.minor) {
            (..=7, _) => machine(64.0, 2.0, 512.0, 64.0, 64.0, 32.0, 1.59, 320.0),
            (8, 0) => machine(64.0, 32.0, 1024.0, 512.0, 128.0, 5120.0 / 108.0, 1.41, 1555.0),
            (8, ..=6) => machine(128.0, 2.0, 512.0, 256.0, 64.0, 32.0, 1.74, 696.0),
            (8, _) => machine(128.0, 2.0, 512.0, 256.0, 64.0, 32.0, 2.52, 864.0),
            (9, _) => machine(128.0, 64.0, 1024.0, 512.0, 128.0, 32.0, 1.83, 3350.0),
            (10, _) => machine(128.0, 64.0, 1024.0, 512.0, 128.0, 32.0, 1.85, 8000.0),
            // What a multiprocessor does in a clock is taken from 10.0.
            (11, _) => machine(128.0, 64.0, 1024.0, 512.0, 128.0, 32.0, 1.575, 273.0),
            (12.., _) => machine(128.0, 2.0, 512.0, 256.0, 64.0, 32.0, 2.6, 1792.0),
        }
    }

    /// Multiply-adds of threads in a clock, of a nest that computes in a type.
    pub(super) fn of_threads(&self, computes: DType) -> f64 {
        if computes == DType::F64 { self.double } else { self.fma }
    }

    /// What a pipe takes of warps in a clock, in what [`Pipe`] counts it in.
    pub(super) fn of_warps(&self, pipe: Pipe) -> f64 {
        match pipe {
            Pipe::Issue => ISSUE / WARP,
            Pipe::MatrixHalf => self.half,
            Pipe::MatrixTf32 => self.tf32,
            // Twice as many factors of half the size, on all devices since 7.5.
            Pipe::MatrixInteger => 2.0 * self.half,
            // Since 8.0, twice what threads do.
            Pipe::MatrixDouble => 2.0 * self.double,
            Pipe::Fma => self.fma / WARP,
            Pipe::Half => self.half_pairs / WARP,
            Pipe::Double => self.double / WARP,
            Pipe::Alu => ALU / WARP,
            Pipe::Special => SPECIAL / WARP,
            Pipe::Shared => 1.0,
        }
    }
}
