//! Generators: objects whose values are lists, which stand for all combinations of one value from each list.
//!
//! Which keys there are, and what their lists hold, is in the table of a family's parameters. The keys and the order are portBLAS's
//! for its four families, so that its files are read as they are. Source: portBLAS, `tools/auto_tuner/gen/generate_combinations.py`.

use std::collections::{BTreeMap, HashSet};
use std::hash::Hash;

use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};

use super::is_identifier;
use super::reader::{Node, Object};
use super::values::{check_few, read_list, read_name, read_names, read_tile};
use crate::Result;
use crate::ir::Block;
use crate::sketch::{FAMILIES, Family, FamilyTable, Kind, Parameter, SIZES, Stage, Value};

/// A generator of a family: its configurations are numbered like nested loops, the first parameter's outermost.
///
/// The lists have no duplicates, and there is one for each of the family's parameters. The hash of a space does not depend on lists
/// that say what would hold without them, so that a new parameter changes none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Generator {
    /// The family.
    pub family: &'static FamilyTable,
    lists: Vec<Vec<Value>>,
}

impl Generator {
    /// The generators of a config: first those of the family that is a schedule of the target.
    pub(super) fn read_all(node: &Node<'_>, own: &str) -> Result<Vec<Generator>> {
        let nodes = node.array("an array of generators")?;
        let mut all = nodes.iter().map(|node| Generator::read_named(node, own)).collect::<Result<Vec<_>>>()?;
        all.sort_by_key(|generator| generator.family.name != own);
        Ok(all)
    }

    /// A generator of a config, which names its family: the one that is a schedule of the target, or any that has no loops'
    /// names.
    pub(super) fn read_named(node: &Node<'_>, own: &str) -> Result<Generator> {
        let others: Vec<&str> = FAMILIES.iter().filter(|f| !f.names_loops()).map(|family| family.name).collect();
        let expected = format!("{own:?}, or one of {}", others.join(", "));
        let family = node.open()?.require("family", &expected)?;
        let name = family.string(&expected)?;
        match FamilyTable::of_name(name).filter(|known| known.name == own || !known.names_loops()) {
            Some(known) => Generator::read(known, &node.object(&keys(known, &["family", "comment"]))?),
            None => Err(family.expected(&expected)),
        }
    }

    /// A generator of a family from an object that has its [`keys`].
    pub(super) fn read(family: &'static FamilyTable, object: &Object<'_>) -> Result<Generator> {
        object.check_comment("comment")?;
        let lists = family.parameters.iter().map(|parameter| read_values(parameter, object));
        Ok(Generator { family, lists: lists.collect::<Result<_>>()? })
    }

    /// The values of a parameter; none: the family has no such key.
    pub fn values(&self, key: &str) -> Option<&[Value]> {
        let at = self.family.parameters.iter().position(|parameter| parameter.key == key)?;
        Some(&self.lists[at])
    }

    /// The names in its lists that a nest has not, with what each should be.
    pub(super) fn unknown(&self, block: &Block) -> Vec<String> {
        let mut found = Vec::new();
        for (parameter, values) in self.family.parameters.iter().zip(&self.lists) {
            values.iter().for_each(|value| parameter.unknown(value, block, &mut found));
        }
        found
    }

    /// How many combinations there are, valid or not; the largest number if there are more than it.
    pub fn count(&self) -> u128 {
        self.lists.iter().fold(1, |product: u128, list| product.saturating_mul(list.len() as u128))
    }

    /// A combination by its place in the order; `None` from [`Generator::count`] on.
    pub fn get(&self, index: u128) -> Option<Family> {
        let mut rest = index;
        let mut values = Vec::with_capacity(self.lists.len());
        for list in self.lists.iter().rev() {
            values.push(list[(rest % list.len() as u128) as usize].clone());
            rest /= list.len() as u128;
        }
        values.reverse();
        if rest == 0 { self.family.configuration(values) } else { None }
    }

    /// All combinations in order, made one by one, valid or not.
    pub fn iter(&self) -> impl Iterator<Item = Family> + '_ {
        (0..self.count()).map_while(|index| self.get(index))
    }

    /// Whether a configuration is one of these.
    pub fn contains(&self, family: &Family) -> bool {
        family.family() == self.family.name
            && self.lists.iter().zip(family.values()).all(|(list, value)| list.contains(&value))
    }
}

impl Serialize for Generator {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("family", self.family.name)?;
        for (parameter, list) in self.family.parameters.iter().zip(&self.lists) {
            if parameter.values().as_ref() != Some(list) {
                map.serialize_entry(parameter.key, list)?;
            }
        }
        map.end()
    }
}

/// The keys of a family's generators, behind some others.
pub(super) fn keys(family: &FamilyTable, others: &[&'static str]) -> Vec<&'static str> {
    others.iter().copied().chain(family.parameters.iter().map(|parameter| parameter.key)).collect()
}

/// The generators of a family, which stand first, and the others.
pub(super) fn split<'g>(generators: &'g [Generator], own: &str) -> (&'g [Generator], &'g [Generator]) {
    generators.split_at(generators.partition_point(|generator| generator.family.name == own))
}

/// The configurations of all generators, each at its first place only.
pub(super) fn union<'g>(generators: impl IntoIterator<Item = &'g Generator>) -> impl Iterator<Item = Family> + 'g {
    let generators: Vec<&Generator> = generators.into_iter().collect();
    (0..generators.len()).flat_map(move |at| {
        let earlier = generators[..at].to_vec();
        generators[at].iter().filter(move |family| !earlier.iter().any(|generator| generator.contains(family)))
    })
}

/// How many combinations all generators have, those counted again that several have in common.
pub(super) fn total(generators: &[Generator]) -> u128 {
    generators.iter().fold(0, |sum: u128, generator| sum.saturating_add(generator.count()))
}

/// A configuration that is no schedule of a nest on a device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused {
    /// The configuration's name.
    pub name: String,
    /// Why, with the numbers.
    pub reason: String,
}

/// The schedules that the combinations of some generators are, or why they are none; each once, and without those that other
/// generators give as such.
pub(super) fn schedules<'g, S: Clone + Eq + Hash + Into<Family> + 'g>(
    generators: &'g [Generator],
    given: &'g [Generator],
    schedule: impl Fn(&Family) -> Result<S, String> + 'g,
) -> impl Iterator<Item = Result<S, Refused>> + 'g {
    let mut seen = HashSet::new();
    let mut is_new = move |schedule: &S| {
        let family = schedule.clone().into();
        !given.iter().any(|generator| generator.contains(&family)) && seen.insert(schedule.clone())
    };
    let scheduled = move |family: Family| schedule(&family).map_err(|reason| Refused { name: family.name(), reason });
    let all = generators.iter().flat_map(Generator::iter).map(scheduled);
    all.filter(move |found| found.as_ref().map_or(true, &mut is_new))
}

/// The values of a parameter.
fn read_values(parameter: &Parameter, object: &Object<'_>) -> Result<Vec<Value>> {
    let values = |node: &Node<'_>| read_list(node, |node| read_value(node, parameter.kind));
    match (object.get(parameter.key), parameter.values()) {
        (None, Some(values)) => Ok(values),
        (Some(node), _) if parameter.kind == Kind::Unused => values(&node).map(|_| vec![Value::Unused]),
        (Some(node), _) => values(&node),
        (None, None) => values(&object.require(parameter.key, "an array of at least one value")?),
    }
}

/// A value of a kind.
fn read_value(node: &Node<'_>, kind: Kind) -> Result<Value> {
    Ok(match kind {
        Kind::Flag => Value::Flag(node.boolean()?),
        Kind::Size(most) => Value::Size(node.integer(1..=most)?),
        Kind::Pair => Value::Pair(read_pair(node)?),
        Kind::Lanes => read_lanes(node)?,
        Kind::Loop if node.is_null() => Value::None,
        Kind::Loop => Value::Word(read_name(node, "the name of a loop, or null for scalar code")?),
        Kind::Word(words) => read_word(node, words, &quoted(words, " or "))?,
        Kind::WordOrNone(_) if node.is_null() => Value::None,
        Kind::WordOrNone(words) => read_word(node, words, &format!("{}, or null for none", quoted(words, ", ")))?,
        Kind::Sizes(_, most) => Value::Sizes(read_tile(node, 1..=most)?),
        Kind::Names(_) => {
            let names = read_names(node)?;
            check_few(node, names.len())?;
            Value::Names(names)
        }
        Kind::Stages => Value::Stages(read_stages(node)?),
        Kind::Unused => Value::Size(node.integer(SIZES)?),
    })
}

fn read_pair(node: &Node<'_>) -> Result<[i64; 2]> {
    const EXPECTED: &str = "an array of two sizes, such as [4, 8]";
    match &node.array(EXPECTED)?[..] {
        [first, second] => Ok([first.integer(SIZES)?, second.integer(SIZES)?]),
        other => Err(node.fail(&format!("an array of {}", other.len()), EXPECTED)),
    }
}

fn read_lanes(node: &Node<'_>) -> Result<Value> {
    const EXPECTED: &str = "2, 4, 8 or 16, or null for what the CPU's registers hold";
    if node.is_null() {
        return Ok(Value::None);
    }
    let lanes = node.integer(2..=16).map_err(|_| node.expected(EXPECTED))?;
    if lanes.count_ones() == 1 { Ok(Value::Size(lanes)) } else { Err(node.expected(EXPECTED)) }
}

fn quoted(words: &[&str], between: &str) -> String {
    words.iter().map(|word| format!("{word:?}")).collect::<Vec<_>>().join(between)
}

fn read_word(node: &Node<'_>, words: &[&str], expected: &str) -> Result<Value> {
    let word = node.string(expected)?;
    if words.contains(&word) { Ok(Value::Word(word.to_owned())) } else { Err(node.expected(expected)) }
}

/// The staged inputs of one schedule.
fn read_stages(node: &Node<'_>) -> Result<BTreeMap<String, Stage>> {
    let mut stages = BTreeMap::new();
    let entries = node.entries("an object from inputs to how they are staged, such as {\"x\": {\"vector\": 4}}")?;
    check_few(node, entries.len())?;
    for (input, stage) in entries {
        if !is_identifier(input) {
            return Err(stage.error("found a key that is no identifier, expected the name of an input"));
        }
        stages.insert(input.to_string(), read_stage(&stage)?);
    }
    Ok(stages)
}

fn read_stage(node: &Node<'_>) -> Result<Stage> {
    let object = node.object(&["vector", "pad", "swizzle", "reduce_outside"])?;
    let mut stage = Stage::default();
    object.read("vector", &mut stage.vector, |node| node.integer(1..=16))?;
    object.read("pad", &mut stage.pad, |node| node.integer(0..=1 << 16))?;
    object.read("swizzle", &mut stage.swizzle, |node| node.integer(0..=16))?;
    object.read("reduce_outside", &mut stage.reduce_outside, Node::boolean)?;
    Ok(stage)
}
