//! The mutator of places: a panel is filled in another loop.
//!
//! ```text
//! w_place = sample_compute_location(k_0, j_1) = 0  →  1
//! ```
//!
//! Source: `MutateComputeLocation` of MetaSchedule.

use super::Move;
use crate::sketch::footprint::{Domain, Footprint};

pub(super) fn moves(footprint: &Footprint, values: &[i64]) -> Vec<Move> {
    let places = footprint.vars.iter().enumerate().filter_map(|(var, of)| match of.domain {
        Domain::Place { count } => Some((var, count as i64)),
        _ => None,
    });
    let others =
        |(var, count): (usize, i64)| (0..count).filter(move |at| *at != values[var]).map(move |at| vec![(var, at)]);
    places.flat_map(others).collect()
}
