//! What code is generated for.

use serde::{Deserialize, Serialize};

use super::CpuTarget;
use super::cuda::{ComputeCapability, DeviceLimits};
use crate::Error;

/// A target: all that schedules, limits and cost models need of a machine.
///
/// In JSON `{"cpu": {"march": …}}` or `{"cuda": "sm_80"}`: a device as the table of its capability describes it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Described", into = "Described")]
pub enum Target {
    /// A CPU.
    Cpu(CpuTarget),
    /// A CUDA device.
    Cuda(DeviceLimits),
}

impl Target {
    /// The kind of targets that it is of, as configs name it.
    pub fn kind(&self) -> &'static str {
        match self {
            Target::Cpu(_) => "cpu",
            Target::Cuda(_) => "cuda",
        }
    }
}

/// A target in JSON.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Described {
    Cpu(CpuTarget),
    Cuda(ComputeCapability),
}

impl Target {
    /// The CPU, if it is one.
    pub fn cpu(&self) -> Option<&CpuTarget> {
        match self {
            Target::Cpu(cpu) => Some(cpu),
            Target::Cuda(_) => None,
        }
    }

    /// The device, if it is one.
    pub fn cuda(&self) -> Option<&DeviceLimits> {
        match self {
            Target::Cuda(device) => Some(device),
            Target::Cpu(_) => None,
        }
    }
}

impl From<Target> for Described {
    fn from(target: Target) -> Described {
        match target {
            Target::Cpu(cpu) => Described::Cpu(cpu),
            Target::Cuda(device) => Described::Cuda(device.capability),
        }
    }
}

impl TryFrom<Described> for Target {
    type Error = Error;

    fn try_from(described: Described) -> Result<Target, Error> {
        Ok(match described {
            Described::Cpu(cpu) => Target::Cpu(cpu),
            Described::Cuda(capability) => Target::Cuda(*DeviceLimits::of(capability)?),
        })
    }
}
