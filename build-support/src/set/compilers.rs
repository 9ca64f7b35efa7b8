//! The compilers of a set, or for each kind of target a sentence that says why there is none.

use dietcode_core::Result;
use dietcode_core::codegen::set::{Availability, Targets};
use dietcode_core::machine::cuda::{DeviceLimits, HostCompiler, Nvcc};
use dietcode_core::machine::{CpuTarget, Toolchain};

use super::Chosen;
use crate::cuda::{AGAIN, LEFT_OUT};
use crate::environment::{Environment, TARGETS};

/// What configurations are compiled with.
pub(super) struct Compilers {
    pub(super) cpu: Result<(Toolchain, CpuTarget), String>,
    pub(super) nvcc: Result<Nvcc, String>,
    pub(super) host: Result<HostCompiler, String>,
    devices: Vec<&'static DeviceLimits>,
}

impl Compilers {
    /// Looks for those that are needed. That there is no nvcc is told once, with the kernels of the set.
    pub(super) fn find(chosen: &Chosen, environment: &Environment) -> Result<Compilers> {
        let asked = &chosen.asked;
        let cpu = match asked.cpu {
            true => {
                let toolchain = Toolchain::find(&chosen.march)?;
                let target = CpuTarget::of(&toolchain);
                Ok((toolchain, target))
            }
            false => Err(not_asked(chosen, "cpu")),
        };
        let nvcc = match (asked.cuda, environment.cuda) {
            (false, _) => Err(not_asked(chosen, "cuda")),
            (true, false) => Err(LEFT_OUT.to_owned()),
            (true, true) => environment.nvcc().map_err(|error| format!("{error}; {AGAIN}")),
        };
        let host = match (asked.cuda_host, environment.cuda) {
            (false, _) => Err(not_asked(chosen, "cuda-host")),
            (true, false) => Err(LEFT_OUT.to_owned()),
            (true, true) => Ok(HostCompiler::find()?),
        };
        let mut capabilities = asked.capabilities.clone();
        capabilities.sort();
        capabilities.retain(|_| nvcc.is_ok() || host.is_ok());
        let devices = capabilities.into_iter().map(DeviceLimits::of).collect::<Result<_>>()?;
        Ok(Compilers { cpu, nvcc, host, devices })
    }

    /// What code is generated for.
    pub(super) fn targets(&self) -> Targets<'_> {
        let cpu = self.cpu.as_ref().ok().map(|(_, target)| target);
        Targets { cpu, devices: self.devices.clone(), host: self.host.is_ok() }
    }

    /// What is passed on to the program.
    pub(super) fn availability(&self) -> Availability {
        Availability {
            cpu: self.cpu.as_ref().map(drop).map_err(String::clone),
            cuda: self.nvcc.as_ref().map(drop).map_err(String::clone),
            cuda_host: self.host.as_ref().map(drop).map_err(String::clone),
        }
    }
}

fn not_asked(chosen: &Chosen, target: &str) -> String {
    format!("{} was not built for {target}; set {TARGETS}={target} and build again", chosen.name())
}
