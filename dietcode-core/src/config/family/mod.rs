//! Generators of configurations: objects whose values are lists, by the name of their family.
//!
//! The keys and the order are portBLAS's for its four families, so that its files are read as they are.
//! Source: portBLAS, `tools/auto_tuner/gen/generate_combinations.py`.
mod local;
mod naive;
mod non_local;
mod non_local_interleaved;
mod values;

pub use local::LocalGenerator;
pub use naive::NaiveGenerator;
pub use non_local::NonLocalGenerator;
pub use non_local_interleaved::NonLocalInterleavedGenerator;

use std::collections::HashSet;
use std::hash::Hash;

use super::blocked::{self, BlockedGenerator};
use super::generator::{self, Generator};
use super::product::{Product, count};
use super::reader::{Node, Object};
use crate::Result;
use crate::sketch::Family;

/// A generator of one family: all combinations of one value from each of its lists.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(tag = "family", rename_all = "snake_case")]
pub enum FamilyGenerator {
    /// [`Family::Local`]
    Local(LocalGenerator),
    /// [`Family::NonLocal`]
    NonLocal(NonLocalGenerator),
    /// [`Family::NonLocalInterleaved`]
    NonLocalInterleaved(NonLocalInterleavedGenerator),
    /// [`Family::Naive`]
    Naive(NaiveGenerator),
    /// [`Family::Tiled`]
    Tiled(Generator),
    /// [`Family::Blocked`]
    Blocked(BlockedGenerator),
}

/// The families in their order, each with the keys of its generators.
pub(super) const FAMILIES: [(&str, &[&str]); 6] = [
    ("local", local::KEYS),
    ("non_local", non_local::KEYS),
    ("non_local_interleaved", non_local_interleaved::KEYS),
    ("naive", naive::KEYS),
    ("tiled", generator::LISTS),
    ("blocked", blocked::LISTS),
];

impl FamilyGenerator {
    /// A generator of a config, which names its family: the one that is a schedule of the target, or any that has no loops'
    /// names.
    pub(super) fn read_named(node: &Node<'_>, own: &str) -> Result<FamilyGenerator> {
        let expected = format!("{own:?}, or one of local, non_local, non_local_interleaved, naive");
        let family = node.open()?.require("family", &expected)?;
        let name = family.string(&expected)?;
        let may_be = |known: &str| known == name && (known == own || !matches!(known, "tiled" | "blocked"));
        match FAMILIES.iter().find(|(known, _)| may_be(known)) {
            Some((_, keys)) => FamilyGenerator::read(name, &node.object(&[&["family", "comment"], *keys].concat())?),
            None => Err(family.expected(&expected)),
        }
    }

    /// A generator of one of the [`FAMILIES`] from an object whose keys have been checked.
    pub(super) fn read(family: &str, object: &Object<'_>) -> Result<FamilyGenerator> {
        object.check_comment("comment")?;
        Ok(match family {
            "local" => FamilyGenerator::Local(LocalGenerator::read(object)?),
            "non_local" => FamilyGenerator::NonLocal(NonLocalGenerator::read(object)?),
            "non_local_interleaved" => {
                FamilyGenerator::NonLocalInterleaved(NonLocalInterleavedGenerator::read(object)?)
            }
            "naive" => FamilyGenerator::Naive(NaiveGenerator::read(object)?),
            "tiled" => FamilyGenerator::Tiled(Generator::read_lists(object)?),
            _ => FamilyGenerator::Blocked(BlockedGenerator::read_lists(object)?),
        })
    }

    /// How many combinations there are, valid or not; the largest number if there are more than it.
    pub fn count(&self) -> u128 {
        match self {
            FamilyGenerator::Local(local) => count(local.lengths()),
            FamilyGenerator::NonLocal(non_local) => count(non_local.lengths()),
            FamilyGenerator::NonLocalInterleaved(interleaved) => count(interleaved.lengths()),
            FamilyGenerator::Naive(naive) => count([naive.cache_line_size.len()]),
            FamilyGenerator::Tiled(tiled) => tiled.count(),
            FamilyGenerator::Blocked(blocked) => blocked.count(),
        }
    }

    /// A combination by its place in the order; `None` from [`FamilyGenerator::count`] on.
    pub fn get(&self, index: u128) -> Option<Family> {
        match self {
            FamilyGenerator::Local(local) => local.get(index).map(Family::Local),
            FamilyGenerator::NonLocal(non_local) => non_local.get(index).map(Family::NonLocal),
            FamilyGenerator::NonLocalInterleaved(interleaved) => {
                interleaved.get(index).map(Family::NonLocalInterleaved)
            }
            FamilyGenerator::Naive(naive) => naive.get(index).map(Family::Naive),
            FamilyGenerator::Tiled(tiled) => tiled.get(index).map(Family::Tiled),
            FamilyGenerator::Blocked(blocked) => blocked.get(index).map(Family::Blocked),
        }
    }

    /// All combinations in order, made one by one, valid or not.
    pub fn iter(&self) -> impl Iterator<Item = Family> + '_ {
        (0..self.count()).map_while(|index| self.get(index))
    }
}

/// A configuration that is no schedule of a nest on a device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused {
    /// The configuration's name.
    pub name: String,
    /// Why, with the numbers.
    pub reason: String,
}

/// The schedules that the combinations of some generators are, or why they are none; each once, and without those that are
/// given as such.
pub(super) fn schedules<'p, P: Product>(
    families: &'p [FamilyGenerator],
    given: &'p [P],
    schedule: impl Fn(&Family) -> Result<P::Item, String> + 'p,
) -> impl Iterator<Item = Result<P::Item, Refused>> + 'p
where
    P::Item: Clone + Eq + Hash + 'p,
{
    let mut seen = HashSet::new();
    let mut is_new = move |item: &P::Item| !given.iter().any(|product| product.has(item)) && seen.insert(item.clone());
    let refused = |family: &Family, reason| Refused { name: family.name(), reason };
    let scheduled = move |family: Family| schedule(&family).map_err(|reason| refused(&family, reason));
    let all = families.iter().flat_map(FamilyGenerator::iter).map(scheduled);
    all.filter(move |found| found.as_ref().map_or(true, &mut is_new))
}
