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
    /// Where the config says so.
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
        let by = match text {
            file if file.ends_with(".json") && !file.contains(char::is_control) => {
                CustomSketch::Sketch(node.file::<Trace>(EXPECTED)?)
            }
            name if is_identifier(name) => CustomSketch::Function(name.to_owned()),
            _ => return Err(node.expected(EXPECTED)),
        };
        Ok(BlockRule { by, place: node.place() })
    }
}

impl Config {
    /// The rules that are registered, with those of this config for their blocks.
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
            registered.set(block.clone(), rule.by.clone());
        }
        registered.check().map_err(|e| {
            let place = self.search.rules.values().next().map_or("", |rule| &rule.place);
            Error::input(format!("{place}: {e}"))
        })?;
        Ok(registered)
    }
}
