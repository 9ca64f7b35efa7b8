//! A configuration's translation unit for CUDA devices, from which one image is made for all that can hold it.

use dietcode_syntax::KernelDef;

use super::preamble::{Language, preamble, title};
use super::{Served, stem};
use crate::Result;
use crate::codegen::cuda::{CudaUnit, INCLUDE, part};
use crate::ir::Program;
use crate::machine::Target;
use crate::machine::cuda::{ComputeCapability, DeviceLimits};
use crate::sketch::{Family, Lowered, MicroKernel};

/// A configuration for CUDA devices.
#[derive(Clone, Debug, PartialEq)]
pub struct CudaSetUnit {
    /// The configuration's name.
    pub name: String,
    /// The kernels that it serves, by their place among the set's, and what launching each takes, under the configuration's name.
    /// Their sources are empty: they stand in `source`.
    pub kernels: Vec<(usize, CudaUnit)>,
    /// The devices that hold all of it, oldest first.
    pub devices: Vec<ComputeCapability>,
    /// The source text; it includes `dietcode.cuh`.
    pub source: String,
}

/// The unit of those of the kernels that the configuration serves. A device that holds only some of them is left out.
pub(super) fn unit(
    family: &Family,
    nests: &[(&KernelDef, Program)],
    devices: &[&'static DeviceLimits],
) -> Result<Served<CudaSetUnit>> {
    let mut left_out = Vec::new();
    let mut served: Vec<(usize, Lowered, String)> = Vec::new();
    let mut fitting = devices.to_vec();
    for (at, (def, program)) in nests.iter().enumerate().filter(|_| !devices.is_empty()) {
        match on_some(family, program, &fitting) {
            Err(why) => left_out.push(format!("{}: {why}", def.name)),
            Ok((micro_kernel, lowered, held)) => {
                fitting = held;
                served.push((at, lowered, micro_kernel.name()));
            }
        }
    }
    if fitting.is_empty() || served.is_empty() {
        return Ok(Served { unit: None, left_out });
    }
    let name = family.name();
    let mut source = format!("{}{INCLUDE}\n\n{}", title(family, &left_out), preamble(family, Language::Cuda));
    let stem = stem(&name, &source, &fitting, served.iter().map(|(at, ..)| nests[*at].0));
    let mut kernels = Vec::new();
    for (at, lowered, own) in served {
        let (comment, unit) = part(nests[at].0, [&own, &stem], &lowered)?;
        source += &(comment + &unit.source);
        kernels.push((at, CudaUnit { name: name.clone(), source: String::new(), ..unit }));
    }
    let devices = fitting.iter().map(|device| device.capability).collect();
    Ok(Served { unit: Some(CudaSetUnit { name, kernels, devices, source }), left_out })
}

/// The micro-kernel on the oldest of the devices that holds it, and all that hold it; else what the newest one says.
fn on_some(
    family: &Family,
    program: &Program,
    devices: &[&'static DeviceLimits],
) -> Result<(MicroKernel, Lowered, Vec<&'static DeviceLimits>), String> {
    let mut why = "no device is left that holds the other kernels".to_owned();
    for device in devices {
        match family.micro_kernel(program, &Target::Cuda(**device)) {
            Err(reason) => why = format!("{}: {reason}", device.capability),
            Ok((micro_kernel, lowered)) => {
                let holds = |other: &&&DeviceLimits| family.micro_kernel(program, &Target::Cuda(***other)).is_ok();
                let held = devices.iter().filter(holds).copied().collect();
                return Ok((micro_kernel, lowered, held));
            }
        }
    }
    Err(why)
}
