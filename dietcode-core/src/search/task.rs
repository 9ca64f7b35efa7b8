//! The search of one kernel: its state, and where its candidates come from.

use super::pace::spread;
use super::proposal::Proposal;
use super::strategy::Propose;
use super::{Found, Part, Tuning, full};
use crate::Result;
use crate::doing::doing;

/// One kernel of a run.
pub struct Task<'a> {
    /// Its state.
    pub tuning: Tuning<'a>,
    /// Where candidates come from.
    pub proposer: Box<dyn Propose>,
    /// How much its latency counts in a run of several; positive.
    pub weight: f64,
    /// The most candidates of a round.
    pub per_round: usize,
}

impl Task<'_> {
    /// The round before the first: the micro-kernels that run where nothing was tuned, in the order in which [`Defaults`](super::Defaults)
    /// counts them, each on all instances that it serves there. If one fails, there is nothing that the others could be compared with.
    pub(super) fn begin(&mut self, left: Option<usize>) -> Result<()> {
        self.tuning.trials = left;
        let defaults = self.tuning.defaults.micro_kernels.iter().cloned();
        let defaults = defaults.map(|default| Proposal::of_family(default, &*self.tuning.device));
        self.tuning.try_all(defaults.collect::<Result<_>>()?)?;
        self.tuning.journal.sync()?;
        self.tuning.check_default()
    }

    /// Another round, of as many candidates as are left at the most; how many were tried.
    pub(super) fn round(&mut self, left: Option<usize>) -> Result<usize> {
        if self.tuning.budget.is_over(Part::Rounds) {
            return Ok(0);
        }
        let before = self.tuning.candidates.len();
        self.tuning.trials = left.map(|left| before + left);
        self.tuning.round += 1;
        let want = left.map_or(self.per_round, |left| left.min(self.per_round));
        let proposing = doing(format!("proposing candidates for `{}`", self.tuning.device.def().name));
        let proposals = self.proposer.propose(&self.tuning, want)?;
        drop(proposing);
        self.tuning.try_all(spread(proposals, |proposal| proposal.micro_kernel.trace.register_tile()))?;
        self.tuning.journal.sync()?;
        Ok(self.tuning.candidates.len() - before)
    }

    /// The weighted sum over the instances of the seconds that the best take at the first number of threads; infinite as
    /// long as one has none.
    pub(super) fn latency(&self) -> f64 {
        let seconds = |(workload, best): (&super::WorkloadInstance, f64)| match best > 0.0 {
            true => workload.weight * workload.instance.flops / (best * 1e9),
            false => f64::INFINITY,
        };
        self.tuning.workloads.iter().zip(self.tuning.bests(0)).map(seconds).sum()
    }

    /// The operations of all instances, weighted like their latencies.
    pub(super) fn operations(&self) -> f64 {
        self.tuning.workloads.iter().map(|workload| workload.weight * workload.instance.flops).sum()
    }

    /// What was found, for the finals.
    pub(super) fn end(&mut self) -> Result<Found> {
        full::measure_finalists(&mut self.tuning)?;
        self.tuning.journal.sync()?;
        self.tuning.finish()
    }
}
