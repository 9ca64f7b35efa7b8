//! Generators of the family `blocked`: cartesian products of the parameters of a GPU's micro-kernel.

use std::collections::BTreeMap;

use super::is_identifier;
use super::product::{Product, count, places};
use super::reader::{Node, Object};
use super::values::{check_few, only_default, read_axis, read_name, read_tile};
use crate::Result;
use crate::sketch::{Blocked, Count, Stage, Unit};

/// A set of schedules of the family `blocked`: all combinations of one value from each list.
///
/// The lists have no duplicates. The order is that of nested loops, `thread` outermost and `raster` innermost.
/// The hash of a space does not depend on `load` and `raster` where they say what would hold without them.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct BlockedGenerator {
    /// Values of [`Blocked::thread`].
    pub thread: Vec<Sizes>,
    /// Values of [`Blocked::vthread`].
    pub vthread: Vec<Sizes>,
    /// Values of [`Blocked::inner`].
    pub inner: Vec<Sizes>,
    /// Values of [`Blocked::reduce`].
    pub reduce: Vec<Sizes>,
    /// Values of [`Blocked::stage`](field@Blocked::stage).
    pub stage: Vec<BTreeMap<String, Stage>>,
    /// Values of [`Blocked::matrix_unit`].
    pub matrix_unit: Vec<Option<Unit>>,
    /// Values of [`Blocked::stages`].
    pub stages: Vec<Count<1>>,
    /// Values of [`Blocked::asynchronous`].
    #[serde(rename = "async")]
    pub asynchronous: Vec<bool>,
    /// Values of [`Blocked::split`].
    pub split: Vec<Sizes>,
    /// Values of [`Blocked::atomic`].
    pub atomic: Vec<bool>,
    /// Values of [`Blocked::persistent`].
    pub persistent: Vec<bool>,
    /// Values of [`Blocked::min_blocks`].
    pub min_blocks: Vec<Count<1>>,
    /// Values of [`Blocked::store`].
    pub store: Vec<Count<1>>,
    /// Values of [`Blocked::load`].
    #[serde(skip_serializing_if = "only_default")]
    pub load: Vec<Sizes>,
    /// Values of [`Blocked::raster`].
    #[serde(skip_serializing_if = "only_default")]
    pub raster: Vec<Sizes>,
}

/// Sizes by loop.
type Sizes = BTreeMap<String, i64>;

/// The keys whose values are the lists.
pub(super) const LISTS: &[&str] = &[
    "thread",
    "vthread",
    "inner",
    "reduce",
    "stage",
    "matrix_unit",
    "stages",
    "async",
    "split",
    "atomic",
    "persistent",
    "min_blocks",
    "store",
    "load",
    "raster",
];

/// The largest size along a loop. No block of any device has more elements along one.
const MAX_SIZE: i64 = 1 << 16;

impl BlockedGenerator {
    /// A generator from an object that names its family.
    pub(super) fn of(object: &Object<'_>) -> Result<BlockedGenerator> {
        object.check_comment("comment")?;
        let family = object.require("family", "\"blocked\"")?;
        if family.string("\"blocked\"")? != "blocked" {
            return Err(family.expected("\"blocked\""));
        }
        BlockedGenerator::read_lists(object)
    }

    /// The lists of an object that has these [`LISTS`] among its keys.
    pub(super) fn read_lists(object: &Object<'_>) -> Result<BlockedGenerator> {
        let sizes = |key| read_axis(object, key, |node| read_tile(node, 1..=MAX_SIZE));
        let flags = |key| read_axis(object, key, |node| node.boolean());
        let counts = |key, most| read_axis(object, key, |node| node.integer(1..=most).map(Count));
        Ok(BlockedGenerator {
            thread: sizes("thread")?,
            vthread: sizes("vthread")?,
            inner: sizes("inner")?,
            reduce: sizes("reduce")?,
            stage: read_axis(object, "stage", read_stages)?,
            matrix_unit: read_axis(object, "matrix_unit", read_unit)?,
            stages: counts("stages", 8)?,
            asynchronous: flags("async")?,
            split: sizes("split")?,
            atomic: flags("atomic")?,
            persistent: flags("persistent")?,
            min_blocks: counts("min_blocks", 32)?,
            store: counts("store", MOST_LANES)?,
            load: read_axis(object, "load", |node| read_tile(node, 1..=MOST_LANES))?,
            raster: sizes("raster")?,
        })
    }

    /// How many schedules there are; the largest number if there are more than it.
    pub fn count(&self) -> u128 {
        count(self.lengths())
    }

    /// A schedule by its place in the order; `None` from [`BlockedGenerator::count`] on.
    pub fn get(&self, index: u128) -> Option<Blocked> {
        let at = places(self.lengths(), index)?;
        Some(Blocked {
            thread: self.thread[at[0]].clone(),
            vthread: self.vthread[at[1]].clone(),
            inner: self.inner[at[2]].clone(),
            reduce: self.reduce[at[3]].clone(),
            stage: self.stage[at[4]].clone(),
            matrix_unit: self.matrix_unit[at[5]],
            stages: self.stages[at[6]],
            asynchronous: self.asynchronous[at[7]],
            split: self.split[at[8]].clone(),
            atomic: self.atomic[at[9]],
            persistent: self.persistent[at[10]],
            min_blocks: self.min_blocks[at[11]],
            store: self.store[at[12]],
            load: self.load[at[13]].clone(),
            raster: self.raster[at[14]].clone(),
        })
    }

    /// All schedules in order, made one by one.
    pub fn iter(&self) -> impl Iterator<Item = Blocked> + '_ {
        (0..self.count()).map_while(|index| self.get(index))
    }

    /// Whether a schedule is one of these.
    pub fn contains(&self, blocked: &Blocked) -> bool {
        self.thread.contains(&blocked.thread)
            && self.vthread.contains(&blocked.vthread)
            && self.inner.contains(&blocked.inner)
            && self.reduce.contains(&blocked.reduce)
            && self.stage.contains(&blocked.stage)
            && self.matrix_unit.contains(&blocked.matrix_unit)
            && self.stages.contains(&blocked.stages)
            && self.asynchronous.contains(&blocked.asynchronous)
            && self.split.contains(&blocked.split)
            && self.atomic.contains(&blocked.atomic)
            && self.persistent.contains(&blocked.persistent)
            && self.min_blocks.contains(&blocked.min_blocks)
            && self.store.contains(&blocked.store)
            && self.load.contains(&blocked.load)
            && self.raster.contains(&blocked.raster)
    }

    fn lengths(&self) -> [usize; 15] {
        [
            self.thread.len(),
            self.vthread.len(),
            self.inner.len(),
            self.reduce.len(),
            self.stage.len(),
            self.matrix_unit.len(),
            self.stages.len(),
            self.asynchronous.len(),
            self.split.len(),
            self.atomic.len(),
            self.persistent.len(),
            self.min_blocks.len(),
            self.store.len(),
            self.load.len(),
            self.raster.len(),
        ]
    }
}

impl Product for BlockedGenerator {
    type Item = Blocked;

    fn each(&self) -> impl Iterator<Item = Blocked> + '_ {
        self.iter()
    }

    fn size(&self) -> u128 {
        self.count()
    }

    fn has(&self, blocked: &Blocked) -> bool {
        self.contains(blocked)
    }
}

/// The widest vector: 16 bytes of the smallest elements there are.
const MOST_LANES: i64 = 16;

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
    let object = node.object(&["vector", "pad", "reduce_outside"])?;
    let mut stage = Stage::default();
    if let Some(vector) = object.get("vector") {
        stage.vector = Count(vector.integer(1..=MOST_LANES)?);
    }
    if let Some(pad) = object.get("pad") {
        stage.pad = pad.integer(0..=MAX_SIZE)?;
    }
    if let Some(outside) = object.get("reduce_outside") {
        stage.reduce_outside = outside.boolean()?;
    }
    Ok(stage)
}

fn read_unit(node: &Node<'_>) -> Result<Option<Unit>> {
    const EXPECTED: &str = "\"half\", \"tf32\", or null for none";
    if node.is_null() {
        return Ok(None);
    }
    match read_name(node, EXPECTED)?.as_str() {
        "half" => Ok(Some(Unit::Half)),
        "tf32" => Ok(Some(Unit::Tf32)),
        _ => Err(node.expected(EXPECTED)),
    }
}
