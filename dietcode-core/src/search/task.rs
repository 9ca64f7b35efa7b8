//! The search of one kernel: its state, and where its candidates come from.

use super::candidate::geometric_mean;
use super::pace::spread;
use super::proposal::Proposal;
use super::strategy::Propose;
use super::{Found, Part, Tuning, covers, full};
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
    pub(super) fn begin(&mut self, trials: Option<usize>) -> Result<()> {
        self.tuning.trials = trials;
        let defaults = self.tuning.defaults.micro_kernels.iter().cloned();
        let defaults = defaults.map(|default| Proposal::of_family(default, &*self.tuning.device));
        self.try_all(defaults.collect::<Result<_>>()?)?;
        self.tuning.check_default()
    }

    /// Tries candidates, while the proposer prepares those of the next round.
    fn try_all(&mut self, proposals: Vec<Proposal>) -> Result<()> {
        let Task { tuning, proposer, .. } = self;
        let tried = tuning.try_all(proposals, &mut |tuning| proposer.prepare(tuning));
        let preparing = doing(format!("preparing the next candidates for `{}`", tuning.device.def().name));
        // What is measured behind the last round knows nothing of it.
        proposer.settle(tried.is_ok() && !tuning.budget.is_over(Part::Rounds));
        drop(preparing);
        tried?;
        tuning.journal.sync()
    }

    /// Another round, of as many candidates as are left at the most; how many were tried.
    pub(super) fn round(&mut self, left: Option<usize>) -> Result<usize> {
        if self.tuning.budget.is_over(Part::Rounds) {
            return Ok(0);
        }
        let before = self.tuning.searched();
        self.tuning.trials = left.map(|left| before + left);
        self.tuning.round += 1;
        let want = left.map_or(self.per_round, |left| left.min(self.per_round));
        let proposing = doing(format!("proposing candidates for `{}`", self.tuning.device.def().name));
        let proposals = self.proposer.propose(&self.tuning, want)?;
        drop(proposing);
        self.try_all(spread(proposals, |proposal| proposal.micro_kernel.trace.register_tile()))?;
        Ok(self.tuning.searched() - before)
    }

    /// The weighted sum over the instances of the seconds that the best take, of each in the geometric mean over the numbers of threads
    /// that have a figure; infinite as long as one has none.
    pub(super) fn latency(&self) -> f64 {
        let bests: Vec<Vec<f64>> = (0..self.tuning.threads.len()).map(|threads| self.tuning.bests(threads)).collect();
        let seconds = |(at, workload): (usize, &super::WorkloadInstance)| {
            let measured: Vec<f64> = bests.iter().map(|row| row[at]).filter(|best| *best > 0.0).collect();
            match measured.is_empty() {
                true => f64::INFINITY,
                false => workload.weight * workload.instance.flops / (geometric_mean(measured.into_iter()) * 1e9),
            }
        };
        self.tuning.workloads.iter().enumerate().map(seconds).sum()
    }

    /// The operations of all instances, weighted like their latencies.
    pub(super) fn operations(&self) -> f64 {
        self.tuning.workloads.iter().map(|workload| workload.weight * workload.instance.flops).sum()
    }

    /// What was found, for the finals, with covers of it, of as many trials as are left.
    pub(super) fn end(&mut self, left: &mut Option<usize>) -> Result<Found> {
        full::measure_finalists(&mut self.tuning)?;
        let before = self.tuning.searched();
        covers::measure(&mut self.tuning, *left)?;
        *left = left.map(|left| left.saturating_sub(self.tuning.searched() - before));
        self.tuning.journal.sync()?;
        self.tuning.finish()
    }
}
