//! A round: what was proposed is compiled, screened, and measured where it could win.
//!
//! ```text
//! compilers   1 2 … 8 │ 9 10 … 16 │ …              ahead, on the cores that measurements leave them
//! screening           │ 1 2 … 8   │ 9 … 16 │ …      checked, and timed at points, at one number of threads: f_MK
//! measuring                                  │ 3 9  the best of the round, on the instances where that lets hope for the best of all, at
//!                                                   all numbers of threads
//! ```
//!
//! While the last quarter of a round is measured, the strategy prepares the next one of a kernel that is searched alone, on cores that nobody else
//! wants.
//!
//! Candidates are taken in an order that follows from their proposals, however fast their compilers are: so the same measurements lead to
//! the same decisions, and a run that is continued takes the way that it took before.

use std::collections::HashSet;

use super::database::{Shape, Structure};
use super::proposal::Proposal;
use super::{Part, Phase, Tuning, full, screening};
use crate::Result;
use crate::measure::{Building, Purpose};

/// Between two of these, screening gives the cores back to the compilers. More would delay the end of a search that is interrupted.
const BATCH: usize = 8;

/// Of a round this part is left when the next one is prepared.
const LAST: usize = 4;

/// What is compiled ahead, and who it is of: positions in the round.
struct Ahead {
    building: Building,
    of: Vec<usize>,
}

impl Tuning<'_> {
    /// Tries what was proposed, in order, until the time for rounds is used up. If another round follows, `prepare` is called before the last of
    /// them are measured.
    pub(super) fn try_all(&mut self, mut proposals: Vec<Proposal>, prepare: &mut dyn FnMut(&Tuning<'_>)) -> Result<()> {
        // The defaults are measured on all instances.
        if self.round > 0 {
            self.replace(&mut proposals);
        }
        let all = proposals.len();
        let last = if self.round > 0 { all - all / LAST } else { 0 };
        let are_left = self.trials.is_none_or(|trials| self.searched() + all < trials || self.round == 0);
        let mut prepare = Some(prepare).filter(|_| all > 0 && are_left && self.is_alone);
        let mut ahead = self.compile_ahead(&proposals);
        let mut numbered = proposals.into_iter().enumerate().peekable();
        let first = self.candidates.len();
        while let Some((number, _)) = numbered.peek() {
            if *number >= last {
                prepare.take().into_iter().for_each(|prepare| prepare(self));
            }
            if !self.candidates.is_empty() && self.budget.is_over(Part::Rounds) {
                break;
            }
            let mut batch = Vec::new();
            for (number, proposal) in numbered.by_ref().take(BATCH) {
                let at = self.admit(proposal);
                self.equip(at, number, &mut ahead)?;
                batch.push(at);
            }
            screening::screen(self, &batch)?;
            self.note_pace(&batch);
            self.time_default_again()?;
            self.progress(Phase::Rounds, self.searched(), self.trials);
        }
        // Nobody waits for what is left of it.
        drop(ahead);
        let prepare = prepare.filter(|_| !self.budget.is_over(Part::Rounds));
        prepare.into_iter().for_each(|prepare| prepare(self));
        full::measure(self, &(first..self.candidates.len()).collect::<Vec<_>>())?;
        self.progress(Phase::Rounds, self.searched(), self.trials);
        Ok(())
    }

    /// Counts what was screened, serves, and has a figure at each point; the defaults are no trials.
    fn note_pace(&mut self, batch: &[usize]) {
        let at = self.budget.elapsed();
        for candidate in batch.iter().map(|at| &self.candidates[*at]) {
            let is_timed = !candidate.failed && candidate.seconds.iter().all(Option::is_some);
            if self.round > 0 && is_timed && !self.journal.has(&candidate.micro_kernel.name()) {
                self.pace.note(at, candidate.micro_kernel.trace.register_tile());
            }
        }
    }

    /// What is on record of the run is not compiled, unless something of it turns out to be missing.
    fn compile_ahead(&self, proposals: &[Proposal]) -> Ahead {
        let fresh = |(_, proposal): &(usize, &Proposal)| !self.journal.has(&proposal.micro_kernel.name());
        let fresh = proposals.iter().enumerate().filter(fresh);
        let (of, micro_kernels) = fresh.map(|(number, proposal)| (number, proposal.screened().clone())).unzip();
        Ahead { building: self.device.build(micro_kernels, Purpose::Screening), of }
    }

    /// Gives a candidate its code, or notes why there is none. One that was screened before the run was continued needs none here.
    fn equip(&mut self, at: usize, number: usize, ahead: &mut Ahead) -> Result<()> {
        if self.was_screened(at) || self.recall_failure(at) {
            return Ok(());
        }
        let code = match ahead.of.binary_search(&number) {
            Ok(place) => ahead.building.take(place),
            Err(_) => self.candidates[at].screened(&*self.device).cloned(),
        };
        match code {
            Ok(code) => drop(self.candidates[at].screened.set(code)),
            Err(failure) => self.fail(at, failure)?,
        }
        Ok(())
    }

    /// The names of what was tried.
    pub(super) fn tried(&self) -> HashSet<String> {
        self.candidates.iter().map(|c| c.micro_kernel.name()).collect()
    }

    /// The structures that were tried, have failed before, or were measured before at an instance or a point of this run: nothing of
    /// that is proposed.
    pub(super) fn taken(&self) -> HashSet<Structure> {
        let instances = self.workloads.iter().map(|workload| &workload.instance).chain(&self.points.timed);
        let shapes: Vec<Shape> = instances.map(|instance| self.shape_of(instance)).collect();
        let mut taken = self.journal.measured(&shapes, self.cache);
        taken.extend(self.journal.failed().1);
        taken.extend(self.candidates.iter().map(|c| c.structure));
        taken
    }
}
