//! `targets.cuda`: the devices and the schedules for NVIDIA's GPUs.

use super::blocked::BlockedGenerator;
use super::product::{total, union};
use super::reader::Node;
use crate::Result;
use crate::sketch::Blocked;
use crate::target::cuda::ComputeCapability;

/// `targets.cuda`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CudaConfig {
    /// The devices to compile for, at least one, in the file's order.
    pub capabilities: Vec<ComputeCapability>,
    /// The schedules to choose from.
    pub generators: Vec<BlockedGenerator>,
}

impl CudaConfig {
    pub(super) fn read(node: &Node<'_>) -> Result<CudaConfig> {
        let object = node.object(&["capabilities", "generators"])?;
        let capabilities = read_capabilities(&object.require("capabilities", CAPABILITIES)?)?;
        let generators = match object.get("generators") {
            Some(node) => {
                node.array("an array of generators")?.iter().map(BlockedGenerator::read).collect::<Result<_>>()?
            }
            None => Vec::new(),
        };
        Ok(CudaConfig { capabilities, generators })
    }

    /// All schedules of all generators, each once, made one by one; valid or not for a nest and a device, which
    /// [`Blocked::violations`] says.
    pub fn candidates(&self) -> impl Iterator<Item = Blocked> + '_ {
        union(&self.generators)
    }

    /// How many candidates there are, those counted again that several generators have in common.
    pub fn count(&self) -> u128 {
        total(&self.generators)
    }

    /// The hash of the space that a search chooses from on any of the devices, for the provenance of what it chose. A
    /// further device changes nothing for the others.
    pub fn space_hash(&self) -> String {
        let space = serde_json::to_vec(&self.generators).unwrap_or_default();
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
