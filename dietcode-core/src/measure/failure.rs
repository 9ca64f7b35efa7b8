//! Why a candidate has no figure.

use std::fmt;

use serde::{Deserialize, Serialize};

/// What went wrong with one candidate on one instance, as it stands in its record.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Failure {
    /// The compiler refused it.
    Compile {
        /// The first line that says `error`.
        message: String,
    },
    /// The compiler did not end in time.
    CompileTimeout {
        /// The limit.
        seconds: f64,
    },
    /// The compiled code could not be loaded or started.
    Load {
        /// What the loader said.
        message: String,
    },
    /// The device refused to run it, or broke it off.
    Launch {
        /// What the driver said; on the emulated device, what the kernel did.
        message: String,
    },
    /// It killed its process.
    Crash {
        /// The signal's name, or the exit status.
        signal: String,
        /// The last line that the process wrote to its standard error, if any.
        message: String,
    },
    /// It did not end in time.
    Timeout {
        /// The limit.
        seconds: f64,
    },
    /// The run was stopped before it was measured.
    Stopped,
    /// An element of the output is not within the error bound.
    Wrong {
        /// Where: the first such element.
        index: Vec<i64>,
        /// What is there, as text, since it may be NaN.
        found: String,
        /// What the reference computes.
        #[serde(with = "super::number")]
        expected: f64,
        /// How far it may be off.
        #[serde(with = "super::number")]
        bound: f64,
        /// How many elements are wrong.
        elements: usize,
    },
    /// Elements of the output were left as they were.
    Unwritten {
        /// How many.
        elements: usize,
    },
    /// It wrote beside a tensor.
    OutOfBounds {
        /// The parameter.
        param: usize,
        /// The first byte that changed, relative to the tensor's first.
        byte: i64,
        /// The tensor's size.
        bytes: usize,
    },
}

impl Failure {
    /// The words of [`Failure::kind`].
    pub const KINDS: [&'static str; 10] = [
        "compile",
        "compile_timeout",
        "load",
        "launch",
        "crash",
        "timeout",
        "stopped",
        "wrong",
        "unwritten",
        "out_of_bounds",
    ];

    /// One word for the kind, as in the records.
    pub fn kind(&self) -> &'static str {
        match self {
            Failure::Compile { .. } => "compile",
            Failure::CompileTimeout { .. } => "compile_timeout",
            Failure::Load { .. } => "load",
            Failure::Launch { .. } => "launch",
            Failure::Crash { .. } => "crash",
            Failure::Timeout { .. } => "timeout",
            Failure::Stopped => "stopped",
            Failure::Wrong { .. } => "wrong",
            Failure::Unwritten { .. } => "unwritten",
            Failure::OutOfBounds { .. } => "out_of_bounds",
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::Compile { message } => write!(f, "does not compile: {message}"),
            Failure::CompileTimeout { seconds } => write!(f, "was still compiling after {seconds} s"),
            Failure::Load { message } => write!(f, "cannot be loaded: {message}"),
            Failure::Launch { message } => write!(f, "does not run: {message}"),
            Failure::Crash { signal, message } if message.is_empty() => write!(f, "crashed: {signal}"),
            Failure::Crash { signal, message } => write!(f, "crashed: {signal}: {message}"),
            Failure::Timeout { seconds } => write!(f, "was still running after {seconds} s"),
            Failure::Stopped => write!(f, "was not measured: the run was stopped before"),
            Failure::Wrong { index, found, expected, bound, elements } => {
                write!(
                    f,
                    "is wrong in {elements} elements, first at {index:?}: found {found}, expected {expected} ± {bound:e}"
                )
            }
            Failure::Unwritten { elements } => write!(f, "leaves {elements} elements of the output unwritten"),
            Failure::OutOfBounds { param, byte, bytes } => {
                write!(f, "wrote outside of parameter {param}: byte {byte} of a tensor of {bytes} bytes")
            }
        }
    }
}
