//! From the generators of a set to its configurations: combined, cut down to the valid ones, each once.

use std::collections::HashSet;

use super::generator::{Generator, keys};
use super::reader::Object;
use super::set::MOST_SCHEDULES;
use crate::sketch::{Condition, FAMILIES, Family, FamilyTable};
use crate::{Error, Result};

/// A generator of a set, and where it stands.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Placed {
    pub(super) generator: Generator,
    /// `file:line:column: key`
    place: String,
}

/// What the generators of a set stand for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Expansion {
    /// The valid configurations, each where it comes first.
    pub families: Vec<Family>,
    /// How many combinations of the lists' values there are.
    pub combinations: usize,
    /// How many of them are configurations that are there already.
    pub repeated: usize,
    /// What removed the others.
    pub removed: Vec<Removed>,
}

/// Combinations that are no configurations.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Removed {
    /// The family of the combinations.
    pub family: &'static str,
    /// The first condition, in the family's order, that does not hold for them.
    pub condition: Condition,
    /// How many they are.
    pub count: usize,
}

/// The most combinations of a family in a set: each valid one is compiled, so that more would take days, and so many still fit
/// into memory at once.
const MOST_COMBINATIONS: u128 = 1 << 20;

/// The arrays of generators by the names of their families, in the order of the families.
pub(super) fn read_generators(object: &Object<'_>) -> Result<Vec<Placed>> {
    let mut all: Vec<Placed> = Vec::new();
    for family in FAMILIES {
        let Some(list) = object.get(family.name) else { continue };
        let allowed = keys(family, &["comment"]);
        let (mut combinations, most) = (0u128, most_combinations(family));
        for node in list.filled_array("an array of at least one generator")? {
            let generator = Generator::read(family, &node.object(&allowed)?)?;
            combinations = combinations.saturating_add(generator.count());
            all.push(Placed { generator, place: node.place() });
            if combinations > most {
                let found = format!("a generator with which the family has {combinations} combinations");
                return Err(node.fail(&found, &format!("at most {most} of a family in a set: shorten its lists")));
            }
        }
    }
    Ok(all)
}

/// Those that hold names are as few as in the generators of a set's own kernels.
fn most_combinations(family: &FamilyTable) -> u128 {
    if family.names_loops() { MOST_SCHEDULES } else { MOST_COMBINATIONS }
}

impl Expansion {
    /// All generators' configurations, in their order.
    ///
    /// # Errors
    /// If a generator stands for none, with what removed how many.
    pub(super) fn of(generators: &[Placed]) -> Result<Expansion> {
        let mut whole = Expansion::default();
        let mut seen = HashSet::new();
        for placed in generators {
            let mut removed = Vec::new();
            let valid = placed.generator.iter().filter(|family| keep(family, &mut removed));
            let valid: Vec<Family> = valid.collect();
            if valid.is_empty() {
                return Err(empty(placed, &removed));
            }
            let (all, before) = (valid.len(), whole.families.len());
            whole.families.extend(valid.into_iter().filter(|family| seen.insert(family.clone())));
            whole.repeated += before + all - whole.families.len();
            whole.combinations += all + removed.iter().map(|removed| removed.count).sum::<usize>();
            removed.iter().for_each(|more| add(&mut whole.removed, more.family, more.condition, more.count));
        }
        Ok(whole)
    }
}

/// Whether a combination is a configuration; else the first condition that it breaks is counted.
fn keep(family: &Family, removed: &mut Vec<Removed>) -> bool {
    match family.conditions().into_iter().find(|condition| !condition.holds) {
        Some(condition) => {
            add(removed, family.family(), condition, 1);
            false
        }
        None => true,
    }
}

fn add(removed: &mut Vec<Removed>, family: &'static str, condition: Condition, count: usize) {
    match removed.iter_mut().find(|removed| removed.family == family && removed.condition == condition) {
        Some(known) => known.count += count,
        None => removed.push(Removed { family, condition, count }),
    }
}

fn empty(placed: &Placed, removed: &[Removed]) -> Error {
    let reason = |removed: &Removed| {
        let Condition { name, text, why, .. } = removed.condition;
        format!("{name} ({text}: {why}) leaves out {}", removed.count)
    };
    let reasons: Vec<String> = removed.iter().map(reason).collect();
    let (place, count) = (&placed.place, placed.generator.count());
    let found = format!("found no valid configuration among {count}: {}", reasons.join("; "));
    Error::input(format!("{place}: {found}; expected lists with at least one combination that keeps all conditions"))
}
