//! What a target has no instruction for.

use crate::machine::cuda::{ComputeCapability, DeviceLimits};
use crate::machine::{CpuTarget, Target};
use crate::schedule::{Pipeline, Schedule};
use crate::{Error, Result};

/// Refuses a kernel that takes one of them.
///
/// # Errors
/// The instruction, with what it needs of the target.
pub(super) fn check(schedule: &Schedule, target: &Target) -> Result<()> {
    match target {
        Target::Cpu(cpu) => of_cpu(schedule, cpu),
        Target::Cuda(device) => of_device(schedule, device),
    }
}

/// Code is made for what `-march` says, whatever the CPU has beside.
fn of_cpu(schedule: &Schedule, cpu: &CpuTarget) -> Result<()> {
    match schedule.dot.map(|dot| dot.row()).filter(|row| !cpu.has(row.feature)) {
        None => Ok(()),
        Some(row) => {
            let (name, march) = (&schedule.block.name, &cpu.march);
            Err(Error::input(format!(
                "a kernel of `{name}` takes {}: it needs {}, which -march={march} does not allow",
                row.name, row.feature
            )))
        }
    }
}

fn of_device(schedule: &Schedule, device: &DeviceLimits) -> Result<()> {
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
