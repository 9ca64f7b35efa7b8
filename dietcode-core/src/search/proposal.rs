//! What is to be tried.

use super::database::Structure;
use crate::frontend;
use crate::measure::CpuHarness;
use crate::schedule::Schedule;
use crate::sketch::{Applied, MicroKernel, Traced};
use crate::{Error, Result};

/// A micro-kernel that a strategy proposes.
#[derive(Clone, Debug)]
pub struct Proposal {
    pub(super) micro_kernel: MicroKernel,
    /// Its schedule on the CPU at hand.
    pub(super) schedule: Schedule,
    /// What tells it from others that come to the same code; none for families, whose names do.
    pub(super) structure: Option<Structure>,
}

impl Proposal {
    /// One of a family.
    ///
    /// # Errors
    /// If it is not valid for the kernel or the CPU.
    pub(super) fn of_family(micro_kernel: MicroKernel, lab: &CpuHarness) -> Result<Proposal> {
        let schedule = micro_kernel.schedule_on_cpu(&frontend::program(lab.def()), lab.target())?;
        Ok(Proposal { micro_kernel, schedule, structure: None })
    }

    /// One of a space.
    ///
    /// # Errors
    /// If it has no schedule, which no trace comes to that was applied.
    pub(super) fn of_space(applied: Applied) -> Result<Proposal> {
        let schedule = applied.schedules.into_iter().next();
        let schedule = schedule.ok_or_else(|| Error::input("a trace came to no kernel"))?;
        let micro_kernel = MicroKernel::Traced(Traced { trace: applied.trace });
        Ok(Proposal { micro_kernel, schedule, structure: Some(applied.hash) })
    }
}
