//! Checks and times micro-kernels on CUDA devices, and on the emulated one.
//!
//! ```text
//! CudaUnit ── compile ──► image ── harness ══ JSON lines ══► worker ──► Sample or Failure
//!              nvcc, NVRTC,        reference of a             ├─ tensors   guarded, poisoned, several sets in turn
//!              an image made       sample of elements         ├─ loaded    micro-kernels, cuBLAS
//!              elsewhere                                      ├─ check     every element written, the sample within bounds
//!                                                             └─ timer     events around batches of launches, clocks and temperature
//! ```
//!
//! The worker alone has the device: a kernel that brings down the driver's context, or does not end, takes a worker with it
//! and becomes a [`Failure`].
mod call;
mod check;
mod compile;
mod cublas;
mod expected;
mod facts;
mod harness;
mod images;
mod launched;
mod libraries;
mod loaded;
mod nvml;
pub mod nvrtc;
mod tensors;
mod timer;
mod worker;

use super::Failure;
use super::worker::Trouble;
use crate::runtime::cuda::{Device, DeviceName};
use crate::{Error, ErrorKind, Result};

pub use call::{CudaCall, CudaCallLaunch};
pub use compile::{Built, CudaCompiler};
pub use expected::Expectation;
pub use facts::DeviceFacts;
pub use harness::{CudaHarness, small_instance};
pub use images::{Images, Made};
pub(super) use worker::DeviceWorker;

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
    type Err = Error;

    /// Reads `cuda`, `cuda:1` or `cuda-host`.
    fn from_str(text: &str) -> Result<CudaDevice> {
        match text.parse()? {
            DeviceName::Cuda(ordinal) => Ok(CudaDevice::Cuda(ordinal)),
            DeviceName::CudaHost => Ok(CudaDevice::Emulated),
            DeviceName::Cpu => Err(Error::input(
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

/// An error of a launch. After one that a driver reports, nothing else runs in its context.
fn trouble_of_launch(device: &Device, error: &Error) -> Trouble {
    let failure = Failure::Launch { message: error.to_string() };
    let emulated = CudaDevice::of(device) == CudaDevice::Emulated;
    if error.kind() == ErrorKind::Failed && !emulated { Trouble::Lost(failure) } else { Trouble::Failed(failure) }
}
