//! Evolution whose space is the pool: what is on record, and nothing else.
//!
//! Its generations would go from neighbour to neighbour, towards what the model predicts to be fastest. In a pool of some hundreds,
//! a population of 512 and its mutants are all of it; so what a round is selected from is the whole pool, as the model rates it,
//! and no generation is carried out. This says what the model and the choice of picks are worth, and nothing of what mutation
//! and crossover find in a space that is too large to go through.

use super::guide::Guide;
use super::{Seen, Strategy};
use crate::Result;

/// Goes through the pool.
pub struct Evolved<'a> {
    guide: &'a Guide<'a>,
    seed: u64,
}

impl<'a> Evolved<'a> {
    /// The share that is selected at random depends on the seed.
    pub fn new(guide: &'a Guide<'a>, seed: u64) -> Evolved<'a> {
        Evolved { guide, seed }
    }
}

impl Strategy for Evolved<'_> {
    fn name(&self) -> &'static str {
        "evolution"
    }

    fn pick(&mut self, seen: &Seen<'_>, want: usize) -> Result<Vec<usize>> {
        let Guide { settings, rated, .. } = self.guide;
        let (left, known) = (seen.left(), self.guide.known(seen));
        // Each round has random choices of its own.
        let seed = self.seed.wrapping_mul(1 << 32).wrapping_add(seen.selected.len() as u64);
        Ok(settings.pick_among(rated, (&left, &known), &self.guide.objective, seed, want))
    }
}
