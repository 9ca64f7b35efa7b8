//! The candidates that a config's generators list, one after the other: those first that were the best in earlier runs.

use std::collections::{HashMap, VecDeque};

use super::Propose;
use crate::Result;
use crate::search::Tuning;
use crate::search::proposal::Proposal;
use crate::sketch::MicroKernel;

/// What is left of a list.
struct Enumerated {
    left: VecDeque<MicroKernel>,
    sorted: bool,
}

/// Proposes the candidates of a list in their order, after those that are good on record. Who has failed is left out.
pub fn enumerated(candidates: impl IntoIterator<Item = MicroKernel>) -> Box<dyn Propose> {
    Box::new(Enumerated { left: candidates.into_iter().collect(), sorted: false })
}

impl Propose for Enumerated {
    fn propose(&mut self, tuning: &Tuning<'_>, want: usize) -> Result<Vec<Proposal>> {
        if !std::mem::replace(&mut self.sorted, true) {
            self.sort(tuning);
        }
        let count = want.min(self.left.len());
        self.left.drain(..count).map(|micro_kernel| Proposal::of_family(micro_kernel, &*tuning.device)).collect()
    }
}

impl Enumerated {
    fn sort(&mut self, tuning: &Tuning<'_>) {
        let (failed, tried) = (tuning.journal.failed().0, tuning.tried());
        self.left.retain(|kernel| !failed.contains(&*kernel.name()) && !tried.contains(&kernel.name()));
        let ranked = tuning.journal.ranked(tuning.cache).into_iter().enumerate();
        let ranks: HashMap<String, usize> = ranked.map(|(rank, kernel)| (kernel.name(), rank)).collect();
        // Sorting is stable: what is not on record stays as the seed shuffled it.
        self.left
            .make_contiguous()
            .sort_by_cached_key(|kernel| ranks.get(&kernel.name()).copied().unwrap_or(usize::MAX));
    }
}
