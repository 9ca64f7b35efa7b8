//! Checks and times micro-kernels on CUDA devices, and on the emulated one.
//!
//! ```text
//! CudaUnit ── compile ──► image ── lab ══ JSON lines ══► worker ──► Sample or Failure
//!              nvcc, NVRTC,     reference of a            ├─ tensors     guarded, poisoned, several sets in turn
//!              an image made    sample of elements,       ├─ contestant  micro-kernels, cuBLAS
//!              elsewhere        time limits               ├─ check       every element written, the sample within bounds
//!                                                         └─ timer       events around batches of launches
//! ```
//!
//! The worker alone has the device: a kernel that brings down the driver's context, or does not end, takes a worker with it
//! and becomes a [`Failure`](super::Failure).
mod call;
mod check;
mod compile;
mod contestant;
mod cublas;
mod expected;
mod facts;
mod images;
mod lab;
mod libraries;
pub mod nvrtc;
mod protocol;
mod tensors;
mod timer;
mod trouble;
mod worker;

use crate::Result;
use crate::runtime::cuda::{Device, DeviceName};

pub use call::arithmetic_of;
pub use compile::{Built, CudaCompiler};
pub use facts::DeviceFacts;
pub use images::{Images, Made};
pub use lab::{CudaLab, Limits};
pub use protocol::{CudaCall, CudaCallLaunch, CudaCode, CudaContestant, CudaJob, CudaTiming, Expectation};
pub use worker::{serve_cuda, serve_cuda_linked};

/// A device on which CUDA kernels are measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CudaDevice {
    /// That of an ordinal.
    Cuda(usize),
    /// The emulated one.
    Emulated,
}

impl CudaDevice {
    /// What a device is.
    pub(super) fn of(device: &Device) -> CudaDevice {
        match device.name() {
            DeviceName::Cuda(ordinal) => CudaDevice::Cuda(ordinal),
            DeviceName::Cpu | DeviceName::CudaHost => CudaDevice::Emulated,
        }
    }

    fn open(self) -> Result<Device> {
        match self {
            CudaDevice::Cuda(ordinal) => Device::cuda(ordinal),
            CudaDevice::Emulated => Ok(Device::cuda_host()),
        }
    }
}

impl std::str::FromStr for CudaDevice {
    type Err = crate::Error;

    /// Reads `cuda`, `cuda:1` or `cuda-host`.
    fn from_str(text: &str) -> Result<CudaDevice> {
        match text.parse()? {
            DeviceName::Cuda(ordinal) => Ok(CudaDevice::Cuda(ordinal)),
            DeviceName::CudaHost => Ok(CudaDevice::Emulated),
            DeviceName::Cpu => Err(crate::Error::input(
                "found the device `cpu`, expected one that runs CUDA: `cuda:0`, or the emulated one, `cuda-host`",
            )),
        }
    }
}

impl std::fmt::Display for CudaDevice {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            CudaDevice::Cuda(ordinal) => DeviceName::Cuda(*ordinal).fmt(f),
            CudaDevice::Emulated => DeviceName::CudaHost.fmt(f),
        }
    }
}
