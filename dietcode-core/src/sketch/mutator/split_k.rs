//! The mutator of split sums: more or fewer blocks share one.
//!
//! ```text
//! k_split = 4  →  8
//! ```

use super::Move;
use super::steps::near;
use crate::schedule::Level;
use crate::sketch::footprint::Footprint;

pub(super) fn moves(footprint: &Footprint, values: &[i64]) -> Vec<Move> {
    let sizes = |var: usize| near(values[var]).into_iter().map(move |size| vec![(var, size)]);
    footprint.of_level(Level::Split).flat_map(sizes).collect()
}
