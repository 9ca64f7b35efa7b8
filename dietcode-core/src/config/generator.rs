//! Generators of the family `tiled`: cartesian products of the parameters of a CPU's micro-kernel.

use std::collections::BTreeMap;

use super::MAX_EXTENT;
use super::product::{Product, count, places};
use super::reader::{Node, Object};
use super::values::{check_few, read_axis, read_name, read_names, read_tile};
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

/// The keys whose values are the lists.
pub(super) const LISTS: &[&str] = &["vector", "register_tile", "block_tile", "pack", "order"];

impl Generator {
    pub(super) fn read(node: &Node<'_>) -> Result<Generator> {
        let object = node.object(&[&["family", "comment"], LISTS].concat())?;
        object.check_comment("comment")?;
        let family = object.require("family", "\"tiled\"")?;
        if family.string("\"tiled\"")? != "tiled" {
            return Err(family.expected("\"tiled\""));
        }
        Generator::read_lists(&object)
    }

    /// The lists of an object that has these [`LISTS`] among its keys.
    pub(super) fn read_lists(object: &Object<'_>) -> Result<Generator> {
        let tile = |node: &Node<'_>| read_tile(node, 1..=MAX_EXTENT);
        let names = |node: &Node<'_>| read_names(node).and_then(|names| check_few(node, names.len()).map(|()| names));
        Ok(Generator {
            vector: read_axis(object, "vector", read_vector)?,
            register_tile: read_axis(object, "register_tile", tile)?,
            block_tile: read_axis(object, "block_tile", tile)?,
            pack: read_axis(object, "pack", names)?,
            order: read_axis(object, "order", names)?,
        })
    }

    /// How many schedules there are. It cannot overflow: a config is at most 16 MiB, so each list has fewer than 2^24
    /// entries.
    pub fn count(&self) -> u128 {
        count(self.lengths())
    }

    /// A schedule by its place in the order; `None` from [`Generator::count`] on.
    pub fn get(&self, index: u128) -> Option<Tiled> {
        let places = places(self.lengths(), index)?;
        Some(Tiled {
            vector: self.vector[places[0]].clone(),
            register_tile: self.register_tile[places[1]].clone(),
            block_tile: self.block_tile[places[2]].clone(),
            pack: self.pack[places[3]].clone(),
            order: self.order[places[4]].clone(),
            ..Tiled::default()
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

impl Product for Generator {
    type Item = Tiled;

    fn each(&self) -> impl Iterator<Item = Tiled> + '_ {
        self.iter()
    }

    fn size(&self) -> u128 {
        self.count()
    }

    fn has(&self, tiled: &Tiled) -> bool {
        self.contains(tiled)
    }
}

fn read_vector(node: &Node<'_>) -> Result<Option<String>> {
    if node.is_null() { Ok(None) } else { read_name(node, "the name of a loop, or null for scalar code").map(Some) }
}
