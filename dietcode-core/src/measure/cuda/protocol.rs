//! What the side that survives and a worker with a device say to each other: one JSON value a line.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::DeviceFacts;
use crate::measure::baselines::Gemm;
use crate::measure::{Failure, Instance, LinkedName, Sample};
use crate::reference::Arithmetic;

/// Both sides are the same binary as a rule; where they are not, this tells.
pub(super) const VERSION: u32 = 2;

/// To a worker.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Request {
    /// What is the device? Ends with [`Event::Described`].
    Describe,
    /// How fast does it copy? Ends with [`Event::Copied`].
    Copy,
    /// Ends with [`Event::Measured`] or [`Event::Lost`].
    Measure(Box<CudaJob>),
}

/// From a worker.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Event {
    /// The first line of a worker.
    Ready {
        /// The protocol it speaks.
        version: u32,
    },
    /// The device.
    Described(Box<DeviceFacts>),
    /// Bytes read and written per second, one entry per repeat.
    Copied(Vec<f64>),
    /// A contestant is about to be loaded and run for the first time.
    Checking(usize),
    /// Those that passed are about to be timed; about how many seconds that takes.
    Timing(f64),
    /// One outcome per contestant.
    Measured(Vec<Result<Sample, Failure>>),
    /// The driver lost its context, by the contestant of this position if it is known; the worker ends.
    Lost(Option<usize>, Failure),
    /// The request cannot be carried out.
    Refused {
        /// In a sentence.
        why: String,
        /// Since this machine lacks something.
        unavailable: bool,
    },
}

/// Contestants to be checked, and timed by turns, on one instance.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct CudaJob {
    /// The kernel at a shape.
    pub instance: Instance,
    /// Unused elements between the rows of every tensor.
    pub gap: usize,
    /// Inputs are made from this.
    pub seed: u64,
    /// What some elements of the output must be.
    pub expected: Expectation,
    /// Who is measured.
    pub contestants: Vec<CudaContestant>,
    /// How often; none: they are checked only.
    pub timing: Option<CudaTiming>,
}

/// Elements of an output.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Expectation {
    /// How many elements the nest writes; each once.
    pub written: usize,
    /// Which are known, by their number in row-major order.
    pub at: Vec<usize>,
    /// Their values.
    pub values: Vec<f64>,
    /// How far they may be off, for each arithmetic that was asked for.
    pub bounds: Vec<(Arithmetic, Vec<f64>)>,
}

/// How often contestants are launched.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct CudaTiming {
    /// So many samples of each, taken by turns.
    pub rounds: usize,
    /// A sample is of so many launches in a row that it takes at least so long.
    pub batch_seconds: f64,
    /// Whether the second-level cache is emptied before each launch.
    pub cold: bool,
}

/// Something that carries out the kernel, at the job's instance.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CudaContestant {
    /// Within which bounds it has to be.
    pub arithmetic: Arithmetic,
    /// How it is called.
    pub code: CudaCode,
}

/// How a contestant is called.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CudaCode {
    /// A compiled micro-kernel.
    MicroKernel(CudaCall),
    /// A micro-kernel that is part of the worker's program.
    Linked(LinkedName),
    /// A product of cuBLAS.
    CuBlas {
        /// Which.
        gemm: Gemm,
        /// Whether it may round the factors to tf32.
        tf32: bool,
    },
}

/// A micro-kernel at a shape.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CudaCall {
    /// Its name, for messages.
    pub name: String,
    /// The image, or, for the emulated device, the shared library.
    pub image: PathBuf,
    /// Its launches, in order.
    pub launches: Vec<CudaCallLaunch>,
    /// Bytes of workspace; none: the launches take no such parameter.
    pub workspace_bytes: Option<i64>,
}

/// One launch of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CudaCallLaunch {
    /// The kernel's `extern "C"` name.
    pub symbol: String,
    /// Threads of a block.
    pub threads: u32,
    /// Bytes of dynamic shared memory of a block.
    pub shared_bytes: u32,
    /// Blocks that cover the output.
    pub blocks: i64,
    /// Whether a smaller grid will do.
    pub persistent: bool,
}
