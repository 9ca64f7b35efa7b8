//! `targets.cuda`: the devices and the schedules for NVIDIA's GPUs.

use super::blocked::BlockedGenerator;
use super::family::{FamilyGenerator, Refused, schedules};
use super::product::{total, union};
use super::reader::Node;
use crate::Result;
use crate::ir::Program;
use crate::machine::cuda::{ComputeCapability, DeviceLimits};
use crate::sketch::Blocked;

/// `targets.cuda`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CudaConfig {
    /// The devices to compile for, at least one, in the file's order.
    pub capabilities: Vec<ComputeCapability>,
    /// The schedules to choose from.
    pub generators: Vec<BlockedGenerator>,
    /// More of them, by families of configurations.
    pub families: Vec<FamilyGenerator>,
}

impl CudaConfig {
    pub(super) fn read(node: &Node<'_>) -> Result<CudaConfig> {
        let object = node.object(&["capabilities", "generators"])?;
        let capabilities = read_capabilities(&object.require("capabilities", CAPABILITIES)?)?;
        let mut config = CudaConfig { capabilities, generators: Vec::new(), families: Vec::new() };
        if let Some(generators) = object.get("generators") {
            for element in generators.array("an array of generators")? {
                match FamilyGenerator::read_named(&element, "blocked")? {
                    FamilyGenerator::Blocked(blocked) => config.generators.push(blocked),
                    other => config.families.push(other),
                }
            }
        }
        Ok(config)
    }

    /// The schedules that are given as such, each once, made one by one; valid or not for a nest and a device, which
    /// [`Blocked::violations`] says.
    pub fn candidates(&self) -> impl Iterator<Item = Blocked> + '_ {
        union(&self.generators)
    }

    /// All schedules for a nest and a device, each once, made one by one: those that are given as such, and those of the
    /// families, or why a configuration is none.
    pub fn candidates_on<'c>(
        &'c self,
        program: &'c Program,
        device: &'c DeviceLimits,
    ) -> impl Iterator<Item = Result<Blocked, Refused>> + 'c {
        let of_families = schedules(&self.families, &self.generators, |family| family.on_gpu(program, device));
        self.candidates().map(Ok).chain(of_families)
    }

    /// How many combinations there are, those counted again that several generators have in common.
    pub fn count(&self) -> u128 {
        self.families.iter().fold(total(&self.generators), |sum, family| sum.saturating_add(family.count()))
    }

    /// The hash of the space that a search chooses from on any of the devices, for the provenance of what it chose. A
    /// further device changes nothing for the others.
    pub fn space_hash(&self) -> String {
        let given = serde_json::to_vec(&self.generators);
        // Without families a space is what it was before there were any.
        let space =
            if self.families.is_empty() { given } else { serde_json::to_vec(&(&self.generators, &self.families)) };
        let space = space.unwrap_or_default();
        blake3::hash(&space).to_hex().to_string()
    }
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
