//! A micro-kernel of any family, as tuned files, records and the registry know it.

use dietcode_syntax::KernelDef;
use serde::{Deserialize, Serialize};

use super::{Blocked, Tiled, Traced};
use crate::ir::Program;
use crate::machine::CpuTarget;
use crate::machine::Target;
use crate::machine::cuda::DeviceLimits;
use crate::schedule::Schedule;
use crate::{Error, Result};

/// A schedule with its family.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "family", rename_all = "snake_case")]
pub enum MicroKernel {
    /// The CPU's family with parameters.
    Tiled(Tiled),
    /// The GPU's family with parameters.
    Blocked(Blocked),
    /// Any schedule: what a search of the whole space finds.
    Traced(Traced),
}

impl MicroKernel {
    /// A readable C identifier: equal names, equal schedules.
    pub fn name(&self) -> String {
        match self {
            MicroKernel::Tiled(tiled) => tiled.name(),
            MicroKernel::Blocked(blocked) => blocked.name(),
            MicroKernel::Traced(traced) => traced.name(),
        }
    }

    /// Everything that speaks against it on a nest and a CPU, in sentences.
    pub fn violations_on_cpu(&self, def: &KernelDef, target: &CpuTarget) -> Vec<String> {
        match self {
            MicroKernel::Tiled(tiled) => tiled.violations(def, target),
            MicroKernel::Blocked(_) => vec![OF_GPU.to_owned()],
            MicroKernel::Traced(traced) => traced.violations(def, &Target::Cpu(target.clone())),
        }
    }

    /// The schedule on a CPU.
    ///
    /// # Errors
    /// What the primitives refuse; where there are no [violations](MicroKernel::violations_on_cpu), nothing.
    pub fn schedule_on_cpu(&self, program: &Program, target: &CpuTarget) -> Result<Schedule> {
        match self {
            MicroKernel::Tiled(tiled) => Ok(tiled.schedule(program, target)?.made_for(Target::Cpu(target.clone()))),
            MicroKernel::Blocked(_) => Err(Error::input(OF_GPU)),
            MicroKernel::Traced(traced) => {
                let mut kernels = traced.schedules(program, &Target::Cpu(target.clone()))?;
                if kernels.len() == 1 { Ok(kernels.remove(0)) } else { Err(Error::input(OF_GPU)) }
            }
        }
    }

    /// Everything that speaks against it on a nest and a GPU, in sentences.
    pub fn violations_on_gpu(&self, def: &KernelDef, device: &DeviceLimits) -> Vec<String> {
        match self {
            MicroKernel::Tiled(_) => vec![OF_CPU.to_owned()],
            MicroKernel::Blocked(blocked) => blocked.violations(def, device),
            MicroKernel::Traced(traced) => traced.violations(def, &Target::Cuda(*device)),
        }
    }

    /// The schedules of its kernels on a GPU, in the order of their launches.
    ///
    /// # Errors
    /// What the primitives refuse; where there are no [violations](MicroKernel::violations_on_gpu), nothing.
    pub fn schedules_on_gpu(&self, program: &Program, device: &DeviceLimits) -> Result<Vec<Schedule>> {
        match self {
            MicroKernel::Tiled(_) => Err(Error::input(OF_CPU)),
            MicroKernel::Blocked(blocked) => {
                let of_device = |schedule: Schedule| schedule.made_for(Target::Cuda(*device));
                Ok(blocked.schedules(program)?.into_iter().map(of_device).collect())
            }
            MicroKernel::Traced(traced) => traced.schedules(program, &Target::Cuda(*device)),
        }
    }
}

impl MicroKernel {
    /// Whether a GPU's grid is as large as the device holds at once, and how many blocks a multiprocessor shall hold.
    pub fn launch_bounds(&self) -> (bool, i64) {
        match self {
            MicroKernel::Blocked(blocked) => (blocked.persistent, blocked.min_blocks.0),
            MicroKernel::Tiled(_) | MicroKernel::Traced(_) => (false, 1),
        }
    }
}

const OF_GPU: &str = "it is one for a GPU";
const OF_CPU: &str = "it is one for a CPU";

impl From<&MicroKernel> for MicroKernel {
    fn from(micro_kernel: &MicroKernel) -> MicroKernel {
        micro_kernel.clone()
    }
}

impl From<&Tiled> for MicroKernel {
    fn from(tiled: &Tiled) -> MicroKernel {
        MicroKernel::Tiled(tiled.clone())
    }
}

impl From<&Blocked> for MicroKernel {
    fn from(blocked: &Blocked) -> MicroKernel {
        MicroKernel::Blocked(blocked.clone())
    }
}

impl From<Tiled> for MicroKernel {
    fn from(tiled: Tiled) -> MicroKernel {
        MicroKernel::Tiled(tiled)
    }
}

impl From<Blocked> for MicroKernel {
    fn from(blocked: Blocked) -> MicroKernel {
        MicroKernel::Blocked(blocked)
    }
}

impl From<Traced> for MicroKernel {
    fn from(traced: Traced) -> MicroKernel {
        MicroKernel::Traced(traced)
    }
}
