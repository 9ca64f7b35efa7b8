//! What is to be tried.

use super::Made;
use super::database::Structure;
use crate::Result;
use crate::measure::Device;
use crate::sketch::{Lowered, MicroKernel};

/// A micro-kernel that a strategy proposes.
#[derive(Clone, Debug)]
pub struct Proposal {
    pub(super) micro_kernel: MicroKernel,
    /// The same, carried out on the device at hand.
    pub(super) lowered: Lowered,
    /// The hash that proposals of the same code share, whatever made them.
    pub(super) structure: Structure,
    /// What made its trace; none: a family, or the nest as it stands.
    pub(super) made: Option<Made>,
}

impl Proposal {
    /// One of a family.
    ///
    /// # Errors
    /// If it is not valid for the kernel or the device.
    pub(super) fn of_family(micro_kernel: MicroKernel, device: &dyn Device) -> Result<Proposal> {
        let lowered = micro_kernel.lowered(device.program(), device.target())?;
        Ok(Proposal { micro_kernel, structure: lowered.hash, lowered, made: None })
    }

    /// One of a space.
    pub(super) fn of_space(lowered: Lowered, made: Made) -> Proposal {
        Proposal { micro_kernel: MicroKernel::of(&lowered), structure: lowered.hash, lowered, made: Some(made) }
    }
}
