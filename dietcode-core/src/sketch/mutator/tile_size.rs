//! The mutator of tiles: a factor moves from one level of an axis to another, or a size changes by an imperfect step.
//!
//! ```text
//! i_block, i_register = 8, 6  →  4, 12      a factor of 2 moves inwards
//!                             →  8, 7       a step
//! ```
//!
//! What lies outside of all factors is a level too, so that a size is also doubled and halved. Tiles that are bound to threads
//! are left alone (`thread_binding.rs`), and so are parts of sums (`split_k.rs`) and what orders a grid (`parallel.rs`). What is
//! unrolled follows: its factor is the product of the inner tiles.
//!
//! Source: `MutateTileSize` of MetaSchedule; steps that divide nothing are DietCode's.

use super::Move;
use super::steps::near;
use crate::schedule::Level;
use crate::sketch::footprint::{Footprint, divisors};
use crate::sketch::sample::is_bound_to_threads;

pub(super) fn moves(footprint: &Footprint, values: &[i64]) -> Vec<Move> {
    let mut moves = Vec::new();
    for axis in &footprint.axes {
        let free = |var: &&usize| footprint.vars[**var].level().is_some_and(is_free);
        let vars: Vec<usize> = axis.vars.iter().filter(free).copied().collect();
        for &var in &vars {
            moves.extend(near(values[var]).into_iter().map(|size| vec![(var, size)]));
            let others = vars.iter().filter(|to| **to != var);
            let moved = divisors(values[var]).into_iter().filter(|factor| *factor > 1);
            let pairs = moved.flat_map(|factor| others.clone().map(move |to| (factor, *to)));
            moves.extend(pairs.map(|(factor, to)| vec![(var, values[var] / factor), (to, values[to] * factor)]));
        }
    }
    moves
}

/// Whether sizes of a level are this mutator's.
fn is_free(level: Level) -> bool {
    !is_bound_to_threads(level) && !matches!(level, Level::Split | Level::Task)
}
