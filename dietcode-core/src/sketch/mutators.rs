//! The mutators of a space, and how often each is chosen.
//!
//! | mutator            | changes                                                   | probability |
//! |--------------------|-----------------------------------------------------------|-------------|
//! | `tile_size`        | sizes of tiles, but for threads and orders of a grid      | 0.9         |
//! | `compute_location` | where a panel is filled                                   | 0.05        |
//! | `split_k`          | blocks that share a sum                                   | 0.05        |
//! | `thread_binding`   | along which axes the threads of a block lie               | 0.05        |
//! | `unroll`           | how much is unrolled, where that is free                  | 0.03        |
//! | `choice`           | widths of copies, padding, edges, what is asked for ahead | 0.03        |
//! | `parallel`         | what a parallel iteration carries out, their order        | 0.02        |
//!
//! Source: `Mutator` of TVM's MetaSchedule (`src/meta_schedule/mutator`). Its probabilities for CPUs are those of tile size, compute
//! location, unroll and parallel. On GPUs it has 0.02 for thread binding beside 0.08 for unroll; here nothing is free to be unrolled
//! there, so that threads change more often. Split-K and choice are not among its own.

use std::fmt::{self, Display, Formatter};

use serde::{Deserialize, Serialize};

use crate::named::named;

named! {
    /// What leads from a trace to one nearby.
    #[derive(Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum Mutator {
        /// Sizes of tiles.
        TileSize = "tile_size",
        /// Where a panel is filled.
        ComputeLocation = "compute_location",
        /// Blocks that share a sum.
        SplitK = "split_k",
        /// Along which axes threads lie.
        ThreadBinding = "thread_binding",
        /// How much is unrolled.
        Unroll = "unroll",
        /// The other numbers.
        Choice = "choice",
        /// What a parallel iteration carries out.
        Parallel = "parallel",
    }
}

/// How often each mutator is chosen, relative to the others that have moves from a trace.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Mutators([f64; Mutator::ALL.len()]);

impl Default for Mutators {
    fn default() -> Mutators {
        Mutators([0.9, 0.05, 0.05, 0.05, 0.03, 0.03, 0.02])
    }
}

impl Mutators {
    /// That of a mutator.
    pub fn probability(&self, of: Mutator) -> f64 {
        self.0[of as usize]
    }

    /// Sets that of a mutator; 0: it is not chosen.
    pub fn set(&mut self, of: Mutator, probability: f64) {
        self.0[of as usize] = probability;
    }

    /// Whether none of them is ever chosen.
    pub fn is_none(&self) -> bool {
        self.0.iter().all(|probability| *probability <= 0.0)
    }
}

/// `tile_size 0.9, compute_location 0.05, …`.
impl Display for Mutators {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let each = Mutator::ALL.map(|mutator| format!("{} {}", mutator.name(), self.probability(mutator)));
        f.write_str(&each.join(", "))
    }
}
