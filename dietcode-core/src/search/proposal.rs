//! What is to be tried.

use super::database::Structure;
use crate::frontend;
use crate::machine::Target;
use crate::measure::Device;
use crate::schedule::Schedule;
use crate::sketch::{Applied, MicroKernel, Traced};
use crate::{Error, Result};

/// A micro-kernel that a strategy proposes.
#[derive(Clone, Debug)]
pub struct Proposal {
    pub(super) micro_kernel: MicroKernel,
    /// Its schedule on the device at hand; of several kernels the one that computes the tiles.
    pub(super) schedule: Schedule,
    /// What tells it from others that come to the same code; none for families, whose names do.
    pub(super) structure: Option<Structure>,
}

impl Proposal {
    /// One of a family.
    ///
    /// # Errors
    /// If it is not valid for the kernel or the device.
    pub(super) fn of_family(micro_kernel: MicroKernel, device: &dyn Device) -> Result<Proposal> {
        let program = frontend::program(device.def());
        let schedule = match device.target() {
            Target::Cpu(target) => micro_kernel.schedule_on_cpu(&program, target)?,
            Target::Cuda(limits) => main(micro_kernel.schedules_on_gpu(&program, limits)?)?,
        };
        Ok(Proposal { micro_kernel, schedule, structure: None })
    }

    /// One of a space.
    ///
    /// # Errors
    /// If it has no schedule, which no trace comes to that was applied.
    pub(super) fn of_space(applied: Applied) -> Result<Proposal> {
        let schedule = main(applied.schedules)?;
        let micro_kernel = MicroKernel::Traced(Traced { trace: applied.trace });
        Ok(Proposal { micro_kernel, schedule, structure: Some(applied.hash) })
    }
}

/// Of kernels in the order of their launches, the one that computes the tiles: the others sum up what it leaves.
fn main(mut schedules: Vec<Schedule>) -> Result<Schedule> {
    let main = schedules.iter().position(|schedule| schedule.rfactor.is_some()).unwrap_or(0);
    if schedules.is_empty() {
        return Err(Error::input("a trace came to no kernel"));
    }
    Ok(schedules.swap_remove(main))
}
