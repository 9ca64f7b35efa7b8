//! `search.rules`: the rules that a user adds, by the block that they schedule, for all targets or for those of one kind.

use std::collections::BTreeMap;

use super::reader::Node;
use super::{Config, is_identifier};
use crate::machine::Target;
use crate::schedule::Trace;
use crate::sketch::rules::{CustomRules, CustomSketch, Structure};
use crate::{Error, Result};

const EXPECTED: &str =
    "the name of a registered rule, \"None\", or a path to a sketch (*.json), relative to the folder of this config";

/// The kinds of targets that rules may be for.
const TARGETS: [&str; 2] = ["cpu", "cuda"];

/// `search.structure`: the structure of tiles, of all targets or of those of one kind.
#[derive(Clone, Debug, PartialEq)]
pub struct NamedStructure {
    /// What is named, by `cpu` and `cuda`.
    pub by_kind: BTreeMap<&'static str, String>,
    /// Where the config says so.
    place: String,
}

impl NamedStructure {
    /// A structure that at least one kind of targets has, or one for each kind.
    pub(super) fn read(node: &Node<'_>) -> Result<NamedStructure> {
        let named = |node: &Node<'_>, kinds: &[&'static str]| {
            let expected: Vec<String> = kinds.iter().map(|kind| expected_structure(kind)).collect();
            let expected = expected.join(", or ");
            let text = node.string(&expected)?;
            let known = kinds.iter().any(|kind| Structure::of(kind, text).is_some());
            if known { Ok(text.to_owned()) } else { Err(node.expected(&expected)) }
        };
        let mut by_kind = BTreeMap::new();
        if node.is_string() {
            let text = named(node, &TARGETS)?;
            by_kind.extend(TARGETS.map(|kind| (kind, text.clone())));
        } else {
            node.entries("a string such as \"SSRSRS\", or an object with one for each target")?;
            let object = node.object(&TARGETS)?;
            for kind in TARGETS {
                by_kind.extend(object.get(kind).map(|node| Ok((kind, named(&node, &[kind])?))).transpose()?);
            }
        }
        Ok(NamedStructure { by_kind, place: node.place() })
    }

    /// The one for a kind of targets, if one is named.
    fn of(&self, kind: &str) -> Result<Option<&'static Structure>> {
        let Some(text) = self.by_kind.get(kind) else { return Ok(None) };
        Structure::of(kind, text).map(Some).ok_or_else(|| {
            let (place, expected) = (&self.place, expected_structure(kind));
            Error::input(format!(
                "{place}: found \"{text}\", expected {expected}, or an object with one for each target"
            ))
        })
    }
}

fn expected_structure(kind: &str) -> String {
    let all: Vec<String> = Structure::all(kind).iter().map(|structure| format!("\"{}\"", structure.text)).collect();
    format!("for {kind} one of {}", all.join(", "))
}

/// What a block has in place of all rules: it stays as it is written.
const NONE: &str = "None";

/// The rule of a block.
#[derive(Clone, Debug, PartialEq)]
pub struct BlockRule {
    /// The block.
    pub block: String,
    /// The kind of targets that it is for, `cpu` or `cuda`; none: all.
    pub target: Option<&'static str>,
    /// What makes its sketches.
    pub by: CustomSketch,
    /// Where the config says so, and which file it names.
    place: String,
}

impl BlockRule {
    /// All rules, by block, or by target and block with a dot between them.
    pub(super) fn read_all(node: &Node<'_>) -> Result<BTreeMap<String, BlockRule>> {
        let mut rules = BTreeMap::new();
        for (name, node) in node.entries("an object from names of blocks, or from targets, to rules")? {
            let target = TARGETS.into_iter().find(|target| *target == name && !node.is_string());
            let Some(target) = target else {
                rules.insert(name.to_owned(), BlockRule::read(name, None, &node)?);
                continue;
            };
            for (block, node) in node.entries("an object from names of blocks to rules")? {
                rules.insert(format!("{target}.{block}"), BlockRule::read(block, Some(target), &node)?);
            }
        }
        Ok(rules)
    }

    fn read(block: &str, target: Option<&'static str>, node: &Node<'_>) -> Result<BlockRule> {
        if !is_identifier(block) {
            return Err(node.error("found a name that no block has, expected that of the kernel's function"));
        }
        let text = node.string(EXPECTED)?;
        let (by, place) = match text {
            file if file.ends_with(".json") && !file.contains(char::is_control) => {
                (CustomSketch::Sketch(node.file::<Trace>(EXPECTED)?), format!("{}: {file}", node.place()))
            }
            NONE => (CustomSketch::Sketch(Trace::default()), node.place()),
            name if is_identifier(name) => (CustomSketch::Function(name.to_owned()), node.place()),
            _ => return Err(node.expected(EXPECTED)),
        };
        Ok(BlockRule { block: block.to_owned(), target, by, place })
    }
}

impl Config {
    /// The rules that are registered, with those of this config for their blocks on a target, and what it lets the others do.
    ///
    /// # Errors
    /// A block that the kernel does not have, a rule that is not registered, or a structure that tiles of the target cannot have, with
    /// its place in the file.
    pub fn custom_rules(&self, mut registered: CustomRules, target: &Target) -> Result<CustomRules> {
        let kind = target.kind();
        let rules = self.search.rules.values();
        let mut rules: Vec<&BlockRule> = rules.filter(|rule| rule.target.is_none_or(|target| target == kind)).collect();
        // What is said of one kind of targets counts for that.
        rules.sort_by_key(|rule| rule.target.is_some());
        for BlockRule { block, by, place, .. } in rules {
            let kernel = &self.kernel.function;
            if block != kernel {
                let message = format!("{place}: found a rule for the block `{block}`, expected one for `{kernel}`");
                return Err(Error::input(message));
            }
            registered.set_at(block.clone(), by.clone(), place);
        }
        registered.check()?;
        registered.allow_tf32(self.search.tf32);
        if let Some(structure) = self.search.structure.as_ref().map(|named| named.of(kind)).transpose()?.flatten() {
            registered.set_structure(structure);
        }
        Ok(registered)
    }
}
