//! What a device has no instruction for.

use crate::machine::cuda::{ComputeCapability, DeviceLimits};
use crate::schedule::{Pipeline, Schedule};
use crate::{Error, Result};

/// Refuses a kernel that takes one of them.
///
/// # Errors
/// The instruction, with the compute capability that it needs.
pub(super) fn check(schedule: &Schedule, device: &DeviceLimits) -> Result<()> {
    let asynchronous = matches!(schedule.pipeline, Some(Pipeline::Async(_)));
    let wanted = match (asynchronous, schedule.matrix_unit) {
        (true, _) => "an asynchronous copy",
        (_, Some(_)) => "a matrix unit",
        _ => return Ok(()),
    };
    let needed = ComputeCapability { major: 8, minor: 0 };
    if device.capability >= needed {
        return Ok(());
    }
    let (name, found) = (&schedule.block.name, device.capability);
    Err(Error::input(format!(
        "a kernel of `{name}` takes {wanted}: it needs compute capability {needed}, the device has {found}"
    )))
}
