//! Traces that are drawn from a space at random: what a search that learns from its measurements is compared with.

use std::sync::atomic::AtomicBool;

use super::Propose;
use crate::Result;
use crate::config::Evolution;
use crate::cost_model::Random;
use crate::search::evolution::Guidance;
use crate::search::proposal::Proposal;
use crate::search::{Objective, Tuning};
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
        let objective = Objective { instances: Vec::new(), weights: Vec::new(), units: 1 };
        let (model, stop) = (Random { seed }, AtomicBool::new(false));
        let by = Guidance {
            space: &self.space,
            model: &model,
            objective: &objective,
            cores: tuning.device.cores(),
            stop: &stop,
        };
        self.settings.random(by, &tuning.taken(), seed, want)
    }
}
