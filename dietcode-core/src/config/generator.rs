//! Generators of the family `tiled`: cartesian products of the parameters of a CPU's micro-kernel.

use std::collections::BTreeMap;

use super::MAX_EXTENT;
use super::product::{Product, count, places};
use super::reader::{Node, Object};
use super::values::{check_few, only_default, read_axis, read_name, read_names, read_tile};
use crate::Result;
use crate::sketch::Tiled;

/// A set of schedules of the family `tiled`: all combinations of one value from each list.
///
/// The lists have no duplicates. The order is that of nested loops, `vector` outermost and `raster` innermost.
/// The hash of a space does not depend on lists that say what would hold without them.
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
    /// Values of [`Tiled::lanes`].
    #[serde(skip_serializing_if = "only_default")]
    pub lanes: Vec<Option<i64>>,
    /// Values of [`Tiled::load`].
    #[serde(skip_serializing_if = "only_default")]
    pub load: Vec<Vec<String>>,
    /// Values of [`Tiled::pad`].
    #[serde(skip_serializing_if = "only_default")]
    pub pad: Vec<BTreeMap<String, i64>>,
    /// Values of [`Tiled::double_buffer`].
    #[serde(skip_serializing_if = "only_default")]
    pub double_buffer: Vec<bool>,
    /// Values of [`Tiled::raster`].
    #[serde(skip_serializing_if = "only_default")]
    pub raster: Vec<BTreeMap<String, i64>>,
}

/// The keys whose values are the lists.
pub(super) const LISTS: &[&str] =
    &["vector", "register_tile", "block_tile", "pack", "order", "lanes", "load", "pad", "double_buffer", "raster"];

/// The most elements between micro-panels: a page of f32.
const MOST_PAD: i64 = 1024;

/// The most neighbouring blocks along a loop.
const MOST_BLOCKS: i64 = 1 << 16;

impl Generator {
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
            lanes: read_axis(object, "lanes", read_lanes)?,
            load: read_axis(object, "load", names)?,
            pad: read_axis(object, "pad", |node| read_tile(node, 1..=MOST_PAD))?,
            double_buffer: read_axis(object, "double_buffer", |node| node.boolean())?,
            raster: read_axis(object, "raster", |node| read_tile(node, 1..=MOST_BLOCKS))?,
        })
    }

    /// How many schedules there are; the largest number if there are more than it.
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
            lanes: self.lanes[places[5]],
            load: self.load[places[6]].clone(),
            pad: self.pad[places[7]].clone(),
            double_buffer: self.double_buffer[places[8]],
            raster: self.raster[places[9]].clone(),
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
            && self.lanes.contains(&tiled.lanes)
            && self.load.contains(&tiled.load)
            && self.pad.contains(&tiled.pad)
            && self.double_buffer.contains(&tiled.double_buffer)
            && self.raster.contains(&tiled.raster)
    }

    fn lengths(&self) -> [usize; 10] {
        [
            self.vector.len(),
            self.register_tile.len(),
            self.block_tile.len(),
            self.pack.len(),
            self.order.len(),
            self.lanes.len(),
            self.load.len(),
            self.pad.len(),
            self.double_buffer.len(),
            self.raster.len(),
        ]
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

fn read_lanes(node: &Node<'_>) -> Result<Option<i64>> {
    const EXPECTED: &str = "2, 4, 8 or 16, or null for what the CPU's registers hold";
    if node.is_null() {
        return Ok(None);
    }
    let lanes = node.integer(2..=16).map_err(|_| node.expected(EXPECTED))?;
    if lanes.count_ones() == 1 { Ok(Some(lanes)) } else { Err(node.expected(EXPECTED)) }
}
