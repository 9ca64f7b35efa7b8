//! `targets.cpu`: the instruction set and the schedules for a CPU.

use super::family::{FamilyGenerator, Refused, schedules};
use super::generator::Generator;
use super::product::{total, union};
use super::reader::Node;
use crate::Result;
use crate::ir::Program;
use crate::machine::CpuTarget;
use crate::sketch::Tiled;

/// `targets.cpu`.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct CpuConfig {
    /// What `-march=` says.
    pub march: String,
    /// The schedules to choose from.
    pub generators: Vec<Generator>,
    /// More of them, by families of configurations.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub families: Vec<FamilyGenerator>,
}

impl Default for CpuConfig {
    fn default() -> CpuConfig {
        CpuConfig { march: NATIVE.to_string(), generators: Vec::new(), families: Vec::new() }
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
            for element in generators.array("an array of generators")? {
                match FamilyGenerator::read_named(&element, "tiled")? {
                    FamilyGenerator::Tiled(tiled) => config.generators.push(tiled),
                    other => config.families.push(other),
                }
            }
        }
        Ok(config)
    }

    /// The schedules that are given as such, each once, made one by one.
    pub fn candidates(&self) -> impl Iterator<Item = Tiled> + '_ {
        union(&self.generators)
    }

    /// All schedules for a nest and a CPU, each once, made one by one: first those that are given as such, valid or not, which
    /// [`Tiled::violations`] says; then those of the families, or why a configuration is none.
    pub fn candidates_on<'c>(
        &'c self,
        program: &'c Program,
        target: &'c CpuTarget,
    ) -> impl Iterator<Item = Result<Tiled, Refused>> + 'c {
        let of_families = schedules(&self.families, &self.generators, |family| family.on_cpu(program, target));
        self.candidates().map(Ok).chain(of_families)
    }

    /// One of all combinations by its place, without looking for the same at another; `None` from [`CpuConfig::count`] on.
    pub fn get(&self, place: u128, program: &Program, target: &CpuTarget) -> Option<Result<Tiled, String>> {
        let mut rest = place;
        for generator in &self.generators {
            match rest.checked_sub(generator.count()) {
                Some(behind) => rest = behind,
                None => return generator.get(rest).map(Ok),
            }
        }
        for generator in &self.families {
            match rest.checked_sub(generator.count()) {
                Some(behind) => rest = behind,
                None => return generator.get(rest).map(|family| family.on_cpu(program, target)),
            }
        }
        None
    }

    /// How many combinations there are, those counted again that several generators have in common.
    pub fn count(&self) -> u128 {
        self.families.iter().fold(total(&self.generators), |sum, family| sum.saturating_add(family.count()))
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
