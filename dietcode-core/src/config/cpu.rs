//! `targets.cpu`: the instruction set and the schedules for a CPU.

use super::generator::Generator;
use super::product::{total, union};
use super::reader::Node;
use crate::Result;
use crate::sketch::Tiled;

/// `targets.cpu`.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct CpuConfig {
    /// What `-march=` says.
    pub march: String,
    /// The schedules to choose from.
    pub generators: Vec<Generator>,
}

impl Default for CpuConfig {
    fn default() -> CpuConfig {
        CpuConfig { march: NATIVE.to_string(), generators: Vec::new() }
    }
}

impl CpuConfig {
    pub(super) fn read(node: &Node<'_>) -> Result<CpuConfig> {
        let mut config = CpuConfig::default();
        let object = node.object(&["march", "generators"])?;
        if let Some(march) = object.get("march") {
            config.march = read_march(&march)?;
        }
        if let Some(generators) = object.get("generators") {
            let elements = generators.array("an array of generators")?;
            config.generators = elements.iter().map(Generator::read).collect::<Result<_>>()?;
        }
        Ok(config)
    }

    /// All schedules of all generators, each once, made one by one.
    pub fn candidates(&self) -> impl Iterator<Item = Tiled> + '_ {
        union(&self.generators)
    }

    /// How many candidates there are, those counted again that several generators have in common.
    pub fn count(&self) -> u128 {
        total(&self.generators)
    }
}

/// What follows `-march=` where nothing is said: the machine that compiles.
pub(super) const NATIVE: &str = "native";

pub(super) fn read_march(node: &Node<'_>) -> Result<String> {
    const EXPECTED: &str = "what follows -march=, of at most 64 letters, digits and . _ + -";
    let march = node.string(EXPECTED)?;
    let legal = |c: u8| c.is_ascii_alphanumeric() || b"._+-".contains(&c);
    if (1..=64).contains(&march.len()) && march.bytes().all(legal) {
        return Ok(march.to_string());
    }
    Err(node.expected(EXPECTED))
}
