//! `search.rules`: the rules that a user adds, by the block that they schedule.

use std::collections::BTreeMap;

use super::reader::Node;
use super::{Config, is_identifier};
use crate::schedule::Trace;
use crate::sketch::rules::{CustomRules, CustomSketch};
use crate::{Error, Result};

const EXPECTED: &str =
    "the name of a registered rule, or a path to a sketch (*.json), relative to the folder of this config";

/// The rule of a block.
#[derive(Clone, Debug, PartialEq)]
pub struct BlockRule {
    /// What makes its sketches.
    pub by: CustomSketch,
    /// Where the config says so, and which file it names.
    place: String,
}

impl BlockRule {
    pub(super) fn read_all(node: &Node<'_>) -> Result<BTreeMap<String, BlockRule>> {
        let entries = node.entries("an object from names of blocks to rules")?;
        entries.into_iter().map(|(block, node)| Ok((block.to_owned(), BlockRule::read(block, &node)?))).collect()
    }

    fn read(block: &str, node: &Node<'_>) -> Result<BlockRule> {
        if !is_identifier(block) {
            return Err(node.error("found a name that no block has, expected that of the kernel's function"));
        }
        let text = node.string(EXPECTED)?;
        let (by, place) = match text {
            file if file.ends_with(".json") && !file.contains(char::is_control) => {
                (CustomSketch::Sketch(node.file::<Trace>(EXPECTED)?), format!("{}: {file}", node.place()))
            }
            name if is_identifier(name) => (CustomSketch::Function(name.to_owned()), node.place()),
            _ => return Err(node.expected(EXPECTED)),
        };
        Ok(BlockRule { by, place })
    }
}

impl Config {
    /// The rules that are registered, with those of this config for their blocks, and what it lets the others do.
    ///
    /// # Errors
    /// A block that the kernel does not have, or a rule that is not registered, with its place in the file.
    pub fn custom_rules(&self, mut registered: CustomRules) -> Result<CustomRules> {
        for (block, rule) in &self.search.rules {
            let place = &rule.place;
            let kernel = &self.kernel.function;
            if block != kernel {
                let message = format!("{place}: found a rule for the block `{block}`, expected one for `{kernel}`");
                return Err(Error::input(message));
            }
            registered.set_at(block.clone(), rule.by.clone(), place);
        }
        registered.check()?;
        registered.allow_tf32(self.search.tf32);
        Ok(registered)
    }
}
