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
    /// What is screened in its place, if not it itself.
    pub(super) stand_in: Option<StandIn>,
}

/// What is screened in place of a micro-kernel: what takes about as long, and less time to compile.
#[derive(Clone, Debug)]
pub(super) struct StandIn {
    pub(super) micro_kernel: MicroKernel,
    /// Seconds that a model expects of a call of it at the points, at the first number of threads.
    pub(super) points: Vec<f64>,
}

impl Proposal {
    /// One of a family.
    ///
    /// # Errors
    /// If it is not valid for the kernel or the device.
    pub(super) fn of_family(micro_kernel: MicroKernel, device: &dyn Device) -> Result<Proposal> {
        let lowered = micro_kernel.lowered(device.program(), device.target())?;
        Ok(Proposal { micro_kernel, structure: lowered.hash, lowered, made: None, stand_in: None })
    }

    /// What is screened of it.
    pub(super) fn screened(&self) -> &MicroKernel {
        self.stand_in.as_ref().map_or(&self.micro_kernel, |stand_in| &stand_in.micro_kernel)
    }

    /// One of a space.
    pub(super) fn of_space(lowered: Lowered, made: Made) -> Proposal {
        let (micro_kernel, structure) = (MicroKernel::of(&lowered), lowered.hash);
        Proposal { micro_kernel, structure, lowered, made: Some(made), stand_in: None }
    }
}
