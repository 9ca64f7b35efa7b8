//! The values that a generator's lists hold: names, tiles, numbers, yes or no.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::RangeInclusive;

use dietcode_syntax::MAX_PARAMS;

use super::is_identifier;
use super::reader::Node;
use crate::Result;

/// The values of a list, without duplicates.
pub(super) fn read_list<T: Ord + Clone>(node: &Node<'_>, read: impl Fn(&Node<'_>) -> Result<T>) -> Result<Vec<T>> {
    let mut seen = BTreeSet::new();
    let mut values = Vec::new();
    for element in node.filled_array("an array of at least one value")? {
        let value = read(&element)?;
        if seen.insert(value.clone()) {
            values.push(value);
        }
    }
    Ok(values)
}

/// Sizes by loop, or by input.
pub(super) fn read_tile(node: &Node<'_>, sizes: RangeInclusive<i64>) -> Result<BTreeMap<String, i64>> {
    let mut tile = BTreeMap::new();
    let entries = node.entries("an object from loops to sizes, such as {\"i\": 8}")?;
    check_few(node, entries.len())?;
    for (name, size) in entries {
        if !is_identifier(name) {
            return Err(size.error("found a key that is no identifier, expected the name of a loop"));
        }
        tile.insert(name.to_string(), size.integer(sizes.clone())?);
    }
    Ok(tile)
}

/// A schedule names loops and parameters of a nest, which has only so many.
pub(super) fn check_few(node: &Node<'_>, names: usize) -> Result<()> {
    if names <= MAX_PARAMS {
        Ok(())
    } else {
        Err(node.fail(&format!("{names} names"), &format!("at most {MAX_PARAMS}")))
    }
}

/// Names, each once.
pub(super) fn read_names(node: &Node<'_>) -> Result<Vec<String>> {
    let mut names = Vec::new();
    for element in node.array("an array of names")? {
        let name = read_name(&element, "a name")?;
        if names.contains(&name) {
            return Err(element.error(&format!("found `{name}` a second time, expected each name once")));
        }
        names.push(name);
    }
    Ok(names)
}

/// An identifier.
pub(super) fn read_name(node: &Node<'_>, expected: &str) -> Result<String> {
    let name = node.string(expected)?;
    if is_identifier(name) { Ok(name.to_string()) } else { Err(node.expected(expected)) }
}
