//! The loops between blocks: their order, and the one loop that they become.

use std::collections::BTreeMap;

use crate::ir::Name;
use crate::schedule::Schedule;
use crate::{Error, Result};

/// The loops between blocks, each with the iteration variable that it is a part of.
pub(super) type Between = [(Name, Name)];

/// The loops in the order of the grid: those that are rasterised innermost, since only neighbours fuse.
pub(super) fn order(between: &Between, raster: &BTreeMap<String, i64>) -> Vec<Name> {
    let mut between: Vec<&(Name, Name)> = between.iter().collect();
    between.sort_by_key(|(variable, _)| raster.contains_key(&**variable));
    between.into_iter().map(|(_, name)| name.clone()).collect()
}

/// Makes one loop of all of them, which stand in their order. Of a pair with tiles, it takes one tile after the other.
///
/// # Errors
/// Tiles along another number of loops than two.
pub(super) fn fuse(
    schedule: &mut Schedule,
    between: &Between,
    raster: &BTreeMap<String, i64>,
    into: &str,
) -> Result<Option<Name>> {
    if !matches!(raster.len(), 0 | 2) {
        let why = format!("raster: it names {} loops; two make a tile of blocks", raster.len());
        return Err(Error::input(why));
    }
    let mut loops = order(between, raster);
    let tile: Vec<i64> = between.iter().filter_map(|(variable, _)| raster.get(&**variable).copied()).collect();
    if let [rows, columns] = tile[..]
        && let Some(pair) = fuse_all(schedule, &loops.split_off(loops.len() - tile.len()), into)?
    {
        schedule.rasterize(&pair, [rows, columns])?;
        loops.push(pair);
    }
    fuse_all(schedule, &loops, into)
}

/// One loop of neighbours.
pub(super) fn fuse_all(schedule: &mut Schedule, loops: &[Name], into: &str) -> Result<Option<Name>> {
    let mut fused: Option<Name> = None;
    for next in loops {
        fused = Some(match fused {
            None => next.clone(),
            Some(so_far) => {
                let both = schedule.fresh_name(into);
                schedule.fuse(&so_far, next, &both)?;
                both
            }
        });
    }
    Ok(fused)
}
