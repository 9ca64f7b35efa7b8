//! Evolution of the whole space, whose proposals are answered by the nearest candidates on record.

use std::collections::HashSet;

use super::guide::Guide;
use super::nearest::nearest;
use super::{Seen, Strategy};
use crate::Result;
use crate::search::Proposal;
use crate::search::evolution::{Asked, Known, Measured};

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
        let known = self.guide.known(seen);
        let with_loops = |(at, gflops): Measured| Ok(Known { lowered: self.guide.applied(seen, at)?, gflops });
        let known = known.into_iter().map(with_loops).collect::<Result<Vec<Known>>>()?;
        let taken: HashSet<_> = seen.selected.iter().map(|at| rated.structure(*at)).collect();
        let seed = self.seed.wrapping_mul(1 << 32).wrapping_add(seen.selected.len() as u64);
        settings.search(space, *model, &known, &taken, &self.guide.objective, Asked { seed, want, templates: 0 })
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
