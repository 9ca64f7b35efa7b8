//! Picks at random: what every other strategy has to beat.

use rand::SeedableRng;
use rand::rngs::StdRng;
use rand::seq::SliceRandom;

use super::{Seen, Strategy};
use crate::Result;

/// Draws without putting back.
#[derive(Debug)]
pub struct Random(StdRng);

impl Random {
    /// Draws that depend on a seed only.
    pub fn new(seed: u64) -> Random {
        Random(StdRng::seed_from_u64(seed))
    }
}

impl Strategy for Random {
    fn name(&self) -> &'static str {
        "random"
    }

    fn pick(&mut self, seen: &Seen<'_>, want: usize) -> Result<Vec<usize>> {
        let mut left = seen.left();
        left.shuffle(&mut self.0);
        left.truncate(want);
        Ok(left)
    }
}
