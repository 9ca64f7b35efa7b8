//! Traces that are drawn from a space at random: what a search that learns from its measurements is compared with.

use std::collections::HashSet;

use rand::SeedableRng;
use rand::rngs::StdRng;

use super::Propose;
use crate::Result;
use crate::search::Tuning;
use crate::search::database::Structure;
use crate::search::proposal::Proposal;
use crate::sketch::Space;

/// A space, and how far its draws have come.
struct Drawn {
    space: Space,
    rng: StdRng,
}

/// Draws for each candidate that is wanted: after so many, what is left of a space is as good as nothing.
const DRAWS: usize = 16;

/// Proposes traces that are drawn from a seed on, each structure once, and none that is on record.
pub fn drawn(space: Space, seed: u64) -> Box<dyn Propose> {
    Box::new(Drawn { space, rng: StdRng::seed_from_u64(seed) })
}

impl Propose for Drawn {
    fn propose(&mut self, tuning: &Tuning<'_>, want: usize) -> Result<Vec<Proposal>> {
        let sampler = self.space.sampler()?;
        let mut taken: HashSet<Structure> = tuning.taken();
        let mut proposals = Vec::new();
        for _ in 0..want.saturating_mul(DRAWS) {
            if proposals.len() == want {
                break;
            }
            // What lowering refuses was drawn in vain; there is little of that.
            let Ok(applied) = self.space.apply(&sampler.sample(&mut self.rng)) else { continue };
            if taken.insert(applied.hash) {
                proposals.push(Proposal::of_space(applied)?);
            }
        }
        Ok(proposals)
    }
}
