//! Generators: cartesian products of schedule parameters.

use std::collections::{BTreeMap, BTreeSet};

use super::reader::{Node, Object};
use super::{MAX_EXTENT, is_identifier};
use crate::Result;
use crate::sketch::Tiled;

/// A set of schedules of the family `tiled`: all combinations of one value from each list.
///
/// The lists have no duplicates. The order is that of nested loops, `vector` outermost and `order` innermost.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Generator {
    /// Values of [`Tiled::vector`].
    pub vector: Vec<Option<String>>,
    /// Values of [`Tiled::register_tile`].
    pub register_tile: Vec<BTreeMap<String, i64>>,
    /// Values of [`Tiled::block_tile`].
    pub block_tile: Vec<BTreeMap<String, i64>>,
    /// Values of [`Tiled::pack`].
    pub pack: Vec<Vec<String>>,
    /// Values of [`Tiled::order`].
    pub order: Vec<Vec<String>>,
}

const KEYS: &[&str] = &["family", "comment", "vector", "register_tile", "block_tile", "pack", "order"];

impl Generator {
    pub(super) fn read(node: &Node<'_>) -> Result<Generator> {
        let object = node.object(KEYS)?;
        object.check_comment("comment")?;
        let family = object.require("family", "\"tiled\"")?;
        if family.string("\"tiled\"")? != "tiled" {
            return Err(family.expected("\"tiled\""));
        }
        let tile = |node: &Node<'_>| read_tile(node);
        let names = |node: &Node<'_>| read_names(node);
        Ok(Generator {
            vector: read_axis(&object, "vector", read_vector)?,
            register_tile: read_axis(&object, "register_tile", tile)?,
            block_tile: read_axis(&object, "block_tile", tile)?,
            pack: read_axis(&object, "pack", names)?,
            order: read_axis(&object, "order", names)?,
        })
    }

    /// How many schedules there are. It cannot overflow: a config is at most 16 MiB, so each list has fewer than 2^24
    /// entries.
    pub fn count(&self) -> u128 {
        self.lengths().into_iter().map(|len| len as u128).product()
    }

    /// A schedule by its place in the order; `None` from [`Generator::count`] on.
    pub fn get(&self, index: u128) -> Option<Tiled> {
        if index >= self.count() {
            return None;
        }
        let mut rest = index;
        let mut places = [0; 5];
        for (place, len) in places.iter_mut().zip(self.lengths()).rev() {
            *place = (rest % len as u128) as usize;
            rest /= len as u128;
        }
        Some(Tiled {
            vector: self.vector[places[0]].clone(),
            register_tile: self.register_tile[places[1]].clone(),
            block_tile: self.block_tile[places[2]].clone(),
            pack: self.pack[places[3]].clone(),
            order: self.order[places[4]].clone(),
        })
    }

    /// All schedules in order, made one by one.
    pub fn iter(&self) -> impl Iterator<Item = Tiled> + '_ {
        (0..self.count()).map_while(|index| self.get(index))
    }

    /// Whether a schedule is one of these.
    pub fn contains(&self, tiled: &Tiled) -> bool {
        self.vector.contains(&tiled.vector)
            && self.register_tile.contains(&tiled.register_tile)
            && self.block_tile.contains(&tiled.block_tile)
            && self.pack.contains(&tiled.pack)
            && self.order.contains(&tiled.order)
    }

    fn lengths(&self) -> [usize; 5] {
        [self.vector.len(), self.register_tile.len(), self.block_tile.len(), self.pack.len(), self.order.len()]
    }
}

/// The values of one key, without duplicates; one default value if the key is missing.
fn read_axis<T: Default + Ord + Clone>(
    object: &Object<'_>,
    key: &str,
    read: impl Fn(&Node<'_>) -> Result<T>,
) -> Result<Vec<T>> {
    let Some(node) = object.get(key) else { return Ok(vec![T::default()]) };
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

fn read_vector(node: &Node<'_>) -> Result<Option<String>> {
    if node.is_null() { Ok(None) } else { read_name(node, "the name of a loop, or null for scalar code").map(Some) }
}

fn read_tile(node: &Node<'_>) -> Result<BTreeMap<String, i64>> {
    let mut tile = BTreeMap::new();
    for (name, size) in node.entries("an object from loops to sizes, such as {\"i\": 8}")? {
        if !is_identifier(name) {
            return Err(size.error("found a key that is no identifier, expected the name of a loop"));
        }
        tile.insert(name.to_string(), size.integer(1..=MAX_EXTENT)?);
    }
    Ok(tile)
}

fn read_names(node: &Node<'_>) -> Result<Vec<String>> {
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

fn read_name(node: &Node<'_>, expected: &str) -> Result<String> {
    let name = node.string(expected)?;
    if is_identifier(name) { Ok(name.to_string()) } else { Err(node.expected(expected)) }
}
