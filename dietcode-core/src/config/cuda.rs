//! `targets.cuda`: the devices and the schedules for NVIDIA's GPUs.

use super::generator::{Generator, Refused, schedules, split, total, union};
use super::reader::Node;
use crate::Result;
use crate::ir::Program;
use crate::machine::cuda::{ComputeCapability, DeviceLimits};
use crate::sketch::{Blocked, Family};

/// The family whose configurations are schedules for a GPU as they are.
pub(super) const OWN: &str = "blocked";

/// `targets.cuda`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CudaConfig {
    /// The devices to compile for, at least one, in the file's order.
    pub capabilities: Vec<ComputeCapability>,
    /// The schedules to choose from: first those that are given as such, then those of families without loops' names.
    pub generators: Vec<Generator>,
}

impl CudaConfig {
    pub(super) fn read(node: &Node<'_>) -> Result<CudaConfig> {
        let object = node.object(&["capabilities", "generators"])?;
        let capabilities = read_capabilities(&object.require("capabilities", CAPABILITIES)?)?;
        let generators = object.get("generators").map(|generators| Generator::read_all(&generators, OWN));
        Ok(CudaConfig { capabilities, generators: generators.transpose()?.unwrap_or_default() })
    }

    /// The schedules that are given as such, each once, made one by one; valid or not for a nest and a device, which
    /// [`Blocked::micro_kernel`] says.
    pub fn candidates(&self) -> impl Iterator<Item = Blocked> + '_ {
        blocked(split(&self.generators, OWN).0)
    }

    /// All schedules for a nest and a device, each once, made one by one: those that are given as such, and those of the other
    /// families, or why a configuration is none.
    pub fn candidates_on<'c>(
        &'c self,
        program: &'c Program,
        device: &'c DeviceLimits,
    ) -> impl Iterator<Item = Result<Blocked, Refused>> + 'c {
        let (given, others) = split(&self.generators, OWN);
        self.candidates().map(Ok).chain(schedules(others, given, |family| family.on_gpu(program, device)))
    }

    /// How many combinations there are, those counted again that several generators have in common.
    pub fn count(&self) -> u128 {
        total(&self.generators)
    }
}

/// The schedules of generators that give them as such, each once.
pub(super) fn blocked<'g>(generators: impl IntoIterator<Item = &'g Generator>) -> impl Iterator<Item = Blocked> + 'g {
    union(generators).filter_map(|family| match family {
        Family::Blocked(blocked) => Some(blocked),
        _ => None,
    })
}

pub(super) const CAPABILITIES: &str = "an array of at least one device, such as [\"sm_80\"]";

/// Compute capabilities, each once.
pub(super) fn read_capabilities(node: &Node<'_>) -> Result<Vec<ComputeCapability>> {
    let mut capabilities = Vec::new();
    for element in node.filled_array(CAPABILITIES)? {
        let capability = read_capability(&element)?;
        if capabilities.contains(&capability) {
            return Err(element.error(&format!("found {capability} a second time, expected each device once")));
        }
        capabilities.push(capability);
    }
    Ok(capabilities)
}

fn read_capability(node: &Node<'_>) -> Result<ComputeCapability> {
    let expected = || format!("one of {}", ComputeCapability::known());
    let text = node.string(&expected())?;
    text.parse().map_err(|_| node.expected(&expected()))
}
