//! How fast a search goes: its trials, and how different they are.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use crate::ir::Name;

/// When each trial was screened, since the run began, and its register tile. A trial is a new structure that was checked and timed;
/// what is on record, and the default micro-kernels, are none.
#[derive(Clone, Debug, Default)]
pub struct Pace(Vec<(Duration, Vec<(Name, i64)>)>);

impl Pace {
    /// One more.
    pub(super) fn note(&mut self, at: Duration, register_tile: Vec<(Name, i64)>) {
        self.0.push((at, register_tile));
    }

    /// Trials a second, from the start of the run to the last of them: what was done besides counts too.
    pub fn trials_per_second(&self) -> f64 {
        let seconds = self.0.last().map_or(0.0, |(at, _)| at.as_secs_f64());
        if seconds > 0.0 { self.0.len() as f64 / seconds } else { 0.0 }
    }

    /// How many different register tiles a second tries, of those in which trials ended: nine in ten have at least so many. 0 without any.
    pub fn register_tiles_per_second(&self) -> usize {
        let mut seconds: BTreeMap<u64, BTreeSet<&[(Name, i64)]>> = BTreeMap::new();
        for (at, tile) in &self.0 {
            seconds.entry(at.as_secs()).or_default().insert(tile);
        }
        let mut counts: Vec<usize> = seconds.values().map(BTreeSet::len).collect();
        counts.sort_unstable();
        counts.get(counts.len() / 10).copied().unwrap_or(0)
    }
}

/// Spreads what has the same key evenly over a list, and keeps its order: `a a a a b b` becomes `a b a a b a`. So candidates whose
/// code is there already stand between those that wait for a compiler, and what is learned early is not of one kind.
pub(super) fn spread<T, K: Ord>(items: Vec<T>, key: impl Fn(&T) -> K) -> Vec<T> {
    let mut counts: BTreeMap<K, usize> = BTreeMap::new();
    items.iter().for_each(|item| *counts.entry(key(item)).or_default() += 1);
    let mut seen: BTreeMap<K, usize> = BTreeMap::new();
    let mut placed: Vec<(f64, T)> = Vec::new();
    for item in items {
        let key = key(&item);
        let before = seen.entry(key).or_default();
        let place = *before as f64 + 0.5;
        *before += 1;
        placed.push((place, item));
    }
    let key_of = |item: &T| counts[&key(item)] as f64;
    placed.iter_mut().for_each(|(place, item)| *place /= key_of(item));
    placed.sort_by(|a, b| a.0.total_cmp(&b.0));
    placed.into_iter().map(|(_, item)| item).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pace_is_of_the_whole_run() {
        assert_eq!((Pace::default().trials_per_second(), Pace::default().register_tiles_per_second()), (0.0, 0));
        let mut pace = Pace::default();
        for (millis, rows) in [(1000, 8), (1100, 8), (1900, 6), (2000, 8), (2100, 4), (4000, 8)] {
            pace.note(Duration::from_millis(millis), vec![("i_register".into(), rows)]);
        }
        assert_eq!((pace.trials_per_second(), pace.register_tiles_per_second()), (1.5, 1), "the least of few seconds");
        for (second, rows) in (5..20).flat_map(|second| [(second, 8), (second, 6)]) {
            pace.note(Duration::from_secs(second), vec![("i_register".into(), rows)]);
        }
        assert_eq!(pace.register_tiles_per_second(), 2, "one second of seventeen has less");
    }

    #[test]
    fn kinds_are_spread_evenly_in_their_order() {
        let items = vec![('a', 1), ('a', 2), ('a', 3), ('a', 4), ('b', 1), ('b', 2)];
        let found = spread(items, |(kind, _)| *kind);
        assert_eq!(found, [('a', 1), ('b', 1), ('a', 2), ('a', 3), ('b', 2), ('a', 4)]);
        assert_eq!(spread(vec![3, 1, 2], |_| ()), [3, 1, 2], "one kind stays as it is");
    }
}
