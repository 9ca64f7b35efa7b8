//! The mutator of what is unrolled, where that is a decision: elsewhere it is the product of the inner tiles.
//!
//! ```text
//! i_unroll = sample_categorical(1, 2, 4, 8) = 2  →  8
//! ```
//!
//! Source: `MutateUnroll` of MetaSchedule.

use super::Move;
use super::choice::{Use, numbers};
use crate::sketch::footprint::Footprint;

pub(super) fn moves(footprint: &Footprint, values: &[i64]) -> Vec<Move> {
    numbers(footprint, values, Use::Unroll)
}
