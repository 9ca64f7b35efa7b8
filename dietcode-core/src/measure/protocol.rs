//! What runner and worker say to each other: one JSON value a line, a request down and events up until one of them ends it.
//!
//! A worker has the CPU or a CUDA device; what is said is the same.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::baselines::{BlasLibrary, Gemm};
use super::cuda::{CudaCall, DeviceFacts, Expectation};
use super::{Failure, Instance, LinkedName, Sample, Unit};
use crate::config::Cache;
use crate::reference::Arithmetic;

/// Both sides are the same binary as a rule; where they are not, this number differs.
pub(super) const VERSION: u32 = 11;

/// From the runner.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Request {
    /// What is the device? Ends with [`Event::Described`].
    Describe,
    /// How fast does the device copy? Ends with [`Event::Copied`].
    Copy,
    /// Is there a BLAS in this library, and which? Ends with [`Event::Probed`].
    Probe(PathBuf),
    /// Ends with [`Event::Measured`] or [`Event::Lost`].
    Measure(Box<Job>),
}

/// From the worker.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Event {
    /// The first line of a worker.
    Ready {
        /// The version of its protocol.
        version: u32,
    },
    /// The device.
    Described(Box<DeviceFacts>),
    /// Bytes read and written per second, one entry per repeat.
    Copied(Vec<f64>),
    /// The library holds a BLAS, or does not.
    Probed(Option<BlasLibrary>),
    /// Tensors are being made, and the reference is being computed, or its stored result read.
    Preparing,
    /// An implementation is about to be loaded and run for the first time.
    Checking(usize),
    /// All implementations that passed are about to be timed; how many seconds that takes at most.
    Timing(f64),
    /// One outcome per implementation.
    Measured(Measured),
    /// The driver lost its context, by the implementation of this position if it is known; the worker ends.
    Lost(Option<usize>, Failure),
    /// The request itself cannot be carried out.
    Refused {
        /// In a sentence.
        why: String,
        /// Since this machine lacks something, such as memory.
        unavailable: bool,
    },
}

/// What a job came to, in the order of its implementations. Those that were timed in rounds have as many samples each: the nth of one
/// was taken beside the nth of another.
pub type Measured = Vec<Result<Sample, Failure>>;

/// Implementations to be checked and measured against each other on one instance.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Job {
    /// The kernel at a shape.
    pub instance: Instance,
    /// Unused elements between the rows of every tensor, on a device.
    pub gap: usize,
    /// Inputs are made from this.
    pub seed: u64,
    /// What the output must be.
    pub oracle: Oracle,
    /// What is measured.
    pub implementations: Vec<Implementation>,
    /// On how many threads; 0 on a device.
    pub threads: usize,
    /// How often.
    pub timing: Timing,
}

/// What says what an output must be.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Oracle {
    /// Compiled code, in the form that `codegen::reference` gives: all elements.
    Compiled {
        /// The code.
        unit: Unit,
        /// Where its results for the instance and seed are, or are to be put.
        results: PathBuf,
    },
    /// What was computed before of some of the elements.
    Sampled(Expectation),
}

/// How often implementations are called. Each is called once to be checked, and then in rounds, all of them by turns. On a CPU only
/// clean samples count, during which no thread lost its core, and others are taken again; who has fewer of them after some time has
/// no figure, but is [unknown](Failure::Unknown).
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Timing {
    /// At least so many rounds; 0: they are checked only. One that is timed alone on a CPU in warm caches has up to 8 where its samples
    /// lie far apart.
    pub rounds: usize,
    /// More, until each implementation has been timed for so long.
    pub seconds: f64,
    /// An implementation whose first two calls take longer than this is not called again: these two are its samples. A device times
    /// each.
    pub slow_seconds: f64,
    /// What caches hold before each call: a CPU's, of all cores that are timed; the second level of a device.
    pub cache: Cache,
    /// Whether nothing is compared with the reference, which is not computed then: what is timed was checked elsewhere.
    pub unchecked: bool,
}

impl Timing {
    /// With warm caches.
    pub const fn warm(rounds: usize, seconds: f64, slow_seconds: f64) -> Timing {
        Timing { rounds, seconds, slow_seconds, cache: Cache::Warm, unchecked: false }
    }

    /// The same without a check.
    pub const fn unchecked(self) -> Timing {
        Timing { unchecked: true, ..self }
    }

    /// No figures.
    pub const CHECK: Timing = Timing::warm(0, 0.0, f64::MAX);
}

/// Something that carries out the kernel.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Implementation {
    /// One compiled micro-kernel for the CPU.
    MicroKernel(Unit),
    /// A share of a micro-kernel's tiles, at least one of them. What they computed is checked, and their times are scaled to all.
    Part {
        /// The micro-kernel.
        unit: Unit,
        /// How large a share, from 0 to 1.
        share: f64,
    },
    /// One compiled micro-kernel for a device, at the job's instance.
    Launched {
        /// How it is launched.
        call: CudaCall,
        /// Within which bounds it has to be.
        arithmetic: Arithmetic,
        /// How long a call of it is expected to take, where nothing can be timed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        seconds: Option<f64>,
    },
    /// A micro-kernel that is part of the worker's program.
    Linked {
        /// Which.
        name: LinkedName,
        /// Within which bounds it has to be on a device.
        arithmetic: Arithmetic,
    },
    /// The micro-kernels of a tuned file behind its decision tree; walking the tree, compiled as in a program, is inside the clock.
    Dispatched {
        /// The micro-kernels.
        units: Vec<Unit>,
        /// Picks one of them by shape: [`dispatcher`](crate::codegen::registry::dispatcher).
        dispatcher: Unit,
    },
    /// The crate `matrixmultiply`.
    Matrixmultiply(Gemm),
    /// A BLAS.
    Blas {
        /// Which.
        library: BlasLibrary,
        /// What it is called for.
        gemm: Gemm,
    },
    /// A product of cuBLAS.
    CuBlas {
        /// Which.
        gemm: Gemm,
        /// Whether it may round the factors to tf32.
        tf32: bool,
        /// Within which bounds it has to be.
        arithmetic: Arithmetic,
    },
    /// What no kernel can be faster than: as many independent fused multiply-adds as the core can start, or reading and
    /// writing the tensors once. Nothing is checked.
    Peak {
        /// Of [`super::baselines::peak`], or of [`Device::stream`](super::Device::stream).
        unit: Unit,
        /// How many of its tiles.
        tiles: i64,
    },
}

impl Implementation {
    /// Within which bounds it has to be, where that differs.
    pub fn arithmetic(&self) -> Arithmetic {
        match self {
            Implementation::Launched { arithmetic, .. }
            | Implementation::Linked { arithmetic, .. }
            | Implementation::CuBlas { arithmetic, .. } => *arithmetic,
            _ => Arithmetic::F32,
        }
    }
}
