//! Why a contestant has no figure, by what has to be done about it.

use super::CudaDevice;
use crate::measure::Failure;
use crate::runtime::cuda::Device;
use crate::{Error, ErrorKind};

/// What went wrong in a worker.
#[derive(Debug)]
pub(super) enum Trouble {
    /// With a contestant; the next one may go on.
    Failed(Failure),
    /// With a contestant, and the driver's context is lost with it.
    Lost(Failure),
    /// With the machine: there is no memory for the tensors, for instance.
    Machine(Error),
}

impl From<Failure> for Trouble {
    fn from(failure: Failure) -> Self {
        Trouble::Failed(failure)
    }
}

impl Trouble {
    /// An error of a launch. After one that a driver tells of, nothing else runs in its context.
    pub(super) fn of_launch(device: &Device, error: &Error) -> Trouble {
        let failure = Failure::Launch { message: error.to_string() };
        let emulated = CudaDevice::of(device) == CudaDevice::Emulated;
        if error.kind() == ErrorKind::Failed && !emulated { Trouble::Lost(failure) } else { Trouble::Failed(failure) }
    }
}
