//! What work items and work groups are on a GPU, as parameters of `blocked`.
//!
//! A work item is a thread, a work group a block of threads. Vectors go along whatever is contiguous.

use std::collections::BTreeMap;

use super::Blocked;
use super::roles::{Operand, Roles, lanes};
use crate::ir::Name;

/// The most neighbours that a thread stores at once.
const MOST_STORED: i64 = 8;

/// A loop with the elements of a thread, and how many threads a block has along it.
type TileAxis<'n> = (&'n Name, i64, i64);

/// Threads and their tiles, and the tile of the sum: so many steps of its innermost loop, one of each other.
pub(super) fn tiles(roles: &Roles, axes: &[TileAxis<'_>], steps: i64) -> Blocked {
    let others = roles.other_steps.iter().map(|name| (name.to_string(), 1));
    Blocked {
        thread: axes.iter().map(|(name, _, threads)| (name.to_string(), *threads)).collect(),
        inner: axes.iter().map(|(name, item, _)| (name.to_string(), *item)).collect(),
        reduce: others.chain([(roles.step.to_string(), steps)]).collect(),
        ..Blocked::default()
    }
}

/// How many neighbours of an operand are read at once, where its tile has these sizes. A tensor that is both operands is read
/// in one way.
pub(super) fn vector(roles: &Roles, operand: &Operand, vectorization_size: i64, size: impl Fn(&str) -> i64) -> i64 {
    let same = roles.operands.iter().filter(|other| other.name == operand.name);
    let vectors = same.map(|same| same.contiguous.as_ref().map_or(1, |along| lanes(vectorization_size, size(along))));
    vectors.min().unwrap_or(1)
}

/// How many neighbours a thread stores at once.
pub(super) fn store(roles: &Roles, blocked: &Blocked, vectorization_size: i64) -> i64 {
    let size = blocked.inner.get(&*roles.contiguous).copied().unwrap_or(1);
    lanes(vectorization_size.min(MOST_STORED), size)
}

/// Both operands in registers of each thread.
pub(super) fn in_registers(roles: &Roles, blocked: &Blocked, vectorization_size: i64) -> BTreeMap<String, i64> {
    let size =
        |name: &str| [&blocked.inner, &blocked.reduce].into_iter().find_map(|sizes| sizes.get(name)).map_or(1, |s| *s);
    let load = |operand: &Operand| (operand.name.clone(), vector(roles, operand, vectorization_size, size));
    roles.operands.iter().map(load).collect()
}

#[cfg(test)]
mod tests;
