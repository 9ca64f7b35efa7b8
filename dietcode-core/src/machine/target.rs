//! What code is generated for.

use super::CpuTarget;
use super::cuda::DeviceLimits;

/// A target: all that schedules, limits and cost models ask of a machine.
#[derive(Clone, Debug, PartialEq)]
pub enum Target {
    /// A CPU.
    Cpu(CpuTarget),
    /// A CUDA device.
    Cuda(DeviceLimits),
}
