//! The search of one kernel: its state, and where its candidates come from.

use super::proposal::Proposal;
use super::strategy::Propose;
use super::{Found, Tuning, finals};
use crate::Result;
use crate::sketch::Tiled;

/// One kernel of a run.
pub struct Task<'a> {
    /// Its state.
    pub tuning: Tuning<'a>,
    /// Where candidates come from.
    pub proposer: Box<dyn Propose>,
}

/// Candidates of a round, as in MetaSchedule.
const PER_ROUND: usize = 64;

/// The rounds' share of the time; the finals have the rest.
const ROUNDS_END: f64 = 0.85;

impl Task<'_> {
    /// The round before the first: the micro-kernel that runs where nothing was tuned, on all instances.
    pub(super) fn begin(&mut self) -> Result<()> {
        let default = Tiled::default_for(self.tuning.lab.def(), self.tuning.lab.target());
        let default = Proposal::of_family(default.into(), &self.tuning.lab)?;
        self.tuning.try_all(vec![default], ROUNDS_END).map(drop)
    }

    /// Another round; whether there may be one after it.
    pub(super) fn round(&mut self) -> Result<bool> {
        let want = self.tuning.trials_left().min(PER_ROUND);
        if want == 0 || self.is_over() {
            return Ok(false);
        }
        self.tuning.round += 1;
        let proposals = self.proposer.propose(&self.tuning, want)?;
        Ok(!proposals.is_empty() && self.tuning.try_all(proposals, ROUNDS_END)?)
    }

    /// Whether the rounds have used up their share of the time.
    pub(super) fn is_over(&self) -> bool {
        self.tuning.budget.is_over(ROUNDS_END)
    }

    /// The finals.
    pub(super) fn end(&mut self) -> Result<Found> {
        finals::measure(&mut self.tuning)?;
        self.tuning.finish()
    }
}
