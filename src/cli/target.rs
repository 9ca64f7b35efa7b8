//! `--target` of commands that are about one.

use std::fmt;
use std::str::FromStr;

use dietcode::core::machine::cuda::ComputeCapability;
use dietcode::{Error, Result};

/// What a micro-kernel runs on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Target {
    /// This machine's CPU.
    Cpu,
    /// A CUDA device, which need not be there.
    Cuda(ComputeCapability),
}

impl FromStr for Target {
    type Err = Error;

    /// # Errors
    /// Of a target that is not known, with those that are.
    fn from_str(text: &str) -> Result<Target> {
        match text {
            "cpu" => Ok(Target::Cpu),
            capability => capability.parse().map(Target::Cuda).map_err(|_| {
                let known = ComputeCapability::known();
                Error::input(format!(
                    "found the unknown target `{}`, expected one of cpu, {known}",
                    text.escape_debug()
                ))
            }),
        }
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Target::Cpu => f.write_str("cpu"),
            Target::Cuda(capability) => capability.fmt(f),
        }
    }
}
