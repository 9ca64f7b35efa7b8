//! The mutator of parallel work: how many blocks one parallel iteration carries out, and in which order they lie.
//!
//! ```text
//! i_task = 4  →  8
//! ```
//!
//! Source: `MutateParallel` of MetaSchedule.

use super::Move;
use super::choice::{Use, numbers};
use super::steps::near;
use crate::schedule::Level;
use crate::sketch::footprint::Footprint;

pub(super) fn moves(footprint: &Footprint, values: &[i64]) -> Vec<Move> {
    let sizes = |var: usize| near(values[var]).into_iter().map(move |size| vec![(var, size)]);
    footprint.of_level(Level::Task).flat_map(sizes).chain(numbers(footprint, values, Use::Order)).collect()
}
