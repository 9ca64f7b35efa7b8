//! Traces that are drawn from a space at random: what a search that learns from its measurements is compared with.

use super::Propose;
use crate::Result;
use crate::config::Evolution;
use crate::search::Tuning;
use crate::search::proposal::Proposal;
use crate::sketch::Space;

/// A space, and where its draws start.
struct Drawn {
    space: Space,
    settings: Evolution,
    seed: u64,
}

/// Proposes traces that are drawn at random, each structure once, and none that is on record; of an evolution's settings, only
/// the retries count.
pub fn drawn(space: Space, settings: Evolution, seed: u64) -> Box<dyn Propose> {
    Box::new(Drawn { space, settings, seed })
}

impl Propose for Drawn {
    fn propose(&mut self, tuning: &Tuning<'_>, want: usize) -> Result<Vec<Proposal>> {
        let seed = self.seed.wrapping_add(tuning.round as u64);
        self.settings.random(&self.space, &tuning.taken(), seed, want)
    }
}
