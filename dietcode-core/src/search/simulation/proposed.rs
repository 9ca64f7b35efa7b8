//! Evolution of the whole space, whose proposals are answered by the nearest candidates on record.

use std::collections::HashSet;
use std::sync::atomic::AtomicBool;

use super::guide::Guide;
use super::nearest::nearest;
use super::{Seen, Strategy};
use crate::Result;
use crate::measure::Cores;
use crate::search::Proposal;
use crate::search::evolution::{Asked, Guidance, Known};

/// Proposes as a search does.
pub struct Proposed<'a> {
    guide: &'a Guide<'a>,
    seed: u64,
}

impl<'a> Proposed<'a> {
    /// Its random choices depend on the seed only.
    pub fn new(guide: &'a Guide<'a>, seed: u64) -> Proposed<'a> {
        Proposed { guide, seed }
    }

    /// What evolution proposes, knowing what was selected.
    fn proposals(&self, seen: &Seen<'_>, want: usize) -> Result<Vec<Proposal>> {
        let Guide { settings, space, model, rated, .. } = self.guide;
        let known = self.guide.known(seen).into_iter();
        let known = known.map(|(at, gflops)| Known { trace: seen.pool.candidates[at].trace.clone(), gflops });
        let known: Vec<Known> = known.collect();
        let taken: HashSet<_> = seen.selected.iter().map(|at| rated.structure(*at)).collect();
        let seed = self.seed.wrapping_mul(1 << 32).wrapping_add(seen.selected.len() as u64);
        let (cores, stop) = (Cores::of_process(), AtomicBool::new(false));
        let by = Guidance { space, model: *model, objective: &self.guide.objective, cores: &cores, stop: &stop };
        settings.search(by, &known, &taken, Asked { seed, want, templates: 0 })
    }
}

impl Strategy for Proposed<'_> {
    fn name(&self) -> &'static str {
        "nearest"
    }

    fn pick(&mut self, seen: &Seen<'_>, want: usize) -> Result<Vec<usize>> {
        let (mut left, mut selected) = (seen.left(), Vec::new());
        for proposal in self.proposals(seen, want)? {
            let Some(at) = nearest(seen.pool, &left, &proposal.lowered.trace) else { continue };
            left.retain(|other| *other != at);
            selected.push(at);
        }
        // Where nothing on record is of the proposed sketches any more, what is left is as good as anything.
        let missing = want.saturating_sub(selected.len()).min(left.len());
        selected.extend(left.drain(..missing));
        Ok(selected)
    }
}
