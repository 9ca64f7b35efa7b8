//! Hashes of what a search chose from, for the provenance of what it chose.

use super::{Config, Strategy};
use crate::sketch::rules::{CustomSketch, Tf32};

/// What winners were chosen from. A tuned file holds as long as that stays what it was: a config whose generators change has nothing
/// new for a search that never read them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChosenFrom {
    /// What the config's generators list.
    Generators,
    /// All schedules that the rules make of the nest.
    Sketches,
    /// The configurations of a set, whatever the config lists.
    Set,
}

impl From<Strategy> for ChosenFrom {
    fn from(strategy: Strategy) -> ChosenFrom {
        match strategy {
            Strategy::Enumerate => ChosenFrom::Generators,
            Strategy::Evolution | Strategy::Random => ChosenFrom::Sketches,
        }
    }
}

impl Config {
    /// The hash of what winners on the CPU or on a GPU, `cpu` or `cuda`, were chosen from: 64 hexadecimal digits. It does not depend
    /// on what is said of the other kind of targets, nor, for a GPU, on the list of devices, of which a further one changes nothing for
    /// the others. Instances are no part of it: winners serve any shape, and those that the file was not made for are told
    /// ([`Gap`](crate::dispatch::Gap)).
    pub fn space_hash(&self, kind: &str, from: ChosenFrom) -> String {
        let on_gpu = kind != "cpu";
        let tf32 = match self.search.tf32 {
            Tf32::Once if on_gpu => Some("tf32"),
            Tf32::Thrice if on_gpu => Some("tf32x3"),
            _ => None,
        };
        let march = (!on_gpu).then_some(&self.cpu.march);
        let space = match from {
            ChosenFrom::Generators if on_gpu => {
                let generators = self.cuda.as_ref().map(|cuda| &cuda.generators);
                tf32.map_or_else(|| serde_json::to_vec(&generators), |tf32| serde_json::to_vec(&(&generators, tf32)))
            }
            ChosenFrom::Generators => serde_json::to_vec(&self.cpu),
            ChosenFrom::Sketches => {
                let structure = self.search.structure.as_ref().and_then(|named| named.by_kind.get(kind));
                let rules = self.search.rules.values().filter(|rule| rule.target.is_none_or(|target| target == kind));
                let by = |by: &CustomSketch| match by {
                    CustomSketch::Function(name) => (Some(name.clone()), None),
                    CustomSketch::Sketch(sketch) => (None, Some(sketch.clone())),
                };
                let rules: Vec<_> = rules.map(|rule| (&rule.block, rule.target.is_some(), by(&rule.by))).collect();
                serde_json::to_vec(&("sketches", march, tf32, structure, rules))
            }
            ChosenFrom::Set => serde_json::to_vec(&("set", march, tf32)),
        };
        blake3::hash(&space.unwrap_or_default()).to_hex().to_string()
    }

    /// The hashes that a tuned file for a kind of targets may have.
    pub fn space_hashes(&self, kind: &str) -> [String; 3] {
        [ChosenFrom::Sketches, ChosenFrom::Generators, ChosenFrom::Set].map(|from| self.space_hash(kind, from))
    }
}
