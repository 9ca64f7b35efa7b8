//! `targets.cpu`: the instruction set and the schedules for a CPU.

use super::generator::{Generator, Refused, schedules, split, total, union};
use super::reader::Node;
use crate::Result;
use crate::ir::Program;
use crate::machine::CpuTarget;
use crate::sketch::{Family, Tiled};

/// The family whose configurations are schedules for a CPU as they are.
const OWN: &str = "tiled";

/// `targets.cpu`.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct CpuConfig {
    /// What `-march=` says.
    pub march: String,
    /// The schedules to choose from: first those that are given as such, then those of families without loops' names.
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
        object.read("march", &mut config.march, read_march)?;
        object.read("generators", &mut config.generators, |node| Generator::read_all(node, OWN))?;
        Ok(config)
    }

    /// The schedules that are given as such, each once, made one by one.
    pub fn candidates(&self) -> impl Iterator<Item = Tiled> + '_ {
        union(split(&self.generators, OWN).0).filter_map(|family| match family {
            Family::Tiled(tiled) => Some(tiled),
            _ => None,
        })
    }

    /// All schedules for a nest and a CPU, each once, made one by one: first those that are given as such, valid or not, which
    /// [`Tiled::micro_kernel`] says; then those of the other families, or why a configuration is none.
    pub fn candidates_on<'c>(
        &'c self,
        program: &'c Program,
        target: &'c CpuTarget,
    ) -> impl Iterator<Item = Result<Tiled, Refused>> + 'c {
        let (given, others) = split(&self.generators, OWN);
        self.candidates().map(Ok).chain(schedules(others, given, |family| family.on_cpu(program, target)))
    }

    /// One of all combinations by its place, without looking for the same at another; `None` from [`CpuConfig::count`] on.
    pub fn get(&self, place: u128, program: &Program, target: &CpuTarget) -> Option<Result<Tiled, String>> {
        let mut rest = place;
        for generator in &self.generators {
            match rest.checked_sub(generator.count()) {
                Some(behind) => rest = behind,
                None => {
                    return generator.get(rest).map(|family| match family {
                        Family::Tiled(tiled) => Ok(tiled),
                        family => family.on_cpu(program, target),
                    });
                }
            }
        }
        None
    }

    /// How many combinations there are, those counted again that several generators have in common.
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
