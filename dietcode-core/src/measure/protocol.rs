//! What runner and worker say to each other: one JSON value a line, a request down and events up until one of them ends it.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::baselines::{BlasLibrary, Gemm};
use super::{Disturbance, Failure, Instance, LinkedName, Sample, Unit};
use crate::codegen::registry::Decision;

/// Both sides are the same binary as a rule; where they are not, this tells.
pub(super) const VERSION: u32 = 5;

/// From the runner.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Request {
    /// Is there a BLAS in this library, and which? Ends with [`Event::Probed`].
    Probe(PathBuf),
    /// Ends with [`Event::Measured`].
    Measure(Box<Job>),
}

/// From the worker.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Event {
    /// The first line of a worker.
    Ready {
        /// The protocol it speaks.
        version: u32,
    },
    /// The reference is being computed, or its stored result read.
    Reference,
    /// An implementation is about to be loaded and run for the first time.
    Checking(usize),
    /// All implementations that passed are about to be timed; about how long that takes.
    Timing(f64),
    /// One outcome per implementation, and in how many rounds others used the cores.
    Measured {
        /// In the order of the job's implementations.
        outcomes: Vec<Result<Sample, Failure>>,
        /// The rounds.
        rounds: Disturbance,
    },
    /// The library holds a BLAS, or does not.
    Probed(Option<BlasLibrary>),
    /// The request itself cannot be carried out.
    Refused {
        /// In a sentence.
        why: String,
        /// Since this machine lacks something, such as memory.
        unavailable: bool,
    },
}

/// Implementations to be checked and measured against each other on one instance.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Job {
    /// The kernel at a shape.
    pub instance: Instance,
    /// The oracle, in the form that `codegen::c::reference` gives.
    pub reference: Unit,
    /// Inputs are made from this.
    pub seed: u64,
    /// Where the reference's results for this instance and seed are, or are to be put.
    pub expected: PathBuf,
    /// What is measured.
    pub implementations: Vec<Implementation>,
    /// On how many threads.
    pub threads: usize,
    /// How often.
    pub timing: Timing,
}

/// How often implementations are called. Each is called once to be checked, and then in rounds, all of them by turns.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Timing {
    /// At least so many rounds.
    pub rounds: usize,
    /// More, until each implementation has been timed for so long.
    pub seconds: f64,
    /// An implementation whose first two calls take longer than this is not called again: the shorter is its only sample.
    pub slow_seconds: f64,
}

/// Something that carries out the kernel.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Implementation {
    /// One compiled micro-kernel.
    MicroKernel(Unit),
    /// A micro-kernel that is part of the worker's program.
    Linked(LinkedName),
    /// The micro-kernels of a tuned file behind its decision tree; walking the tree is inside the clock.
    Dispatched {
        /// The micro-kernels.
        units: Vec<Unit>,
        /// Picks one of them by shape.
        decision: Decision,
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
    /// What no kernel can be faster than: as many independent fused multiply-adds as the core can start, or reading and
    /// writing the tensors once. Nothing is checked.
    Peak {
        /// Of [`super::baselines::peak`], or of [`Lab::stream`](super::Lab::stream).
        unit: Unit,
        /// How many of its tiles.
        tiles: i64,
    },
}
