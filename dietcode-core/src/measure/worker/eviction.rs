//! Empties the caches of the cores that are timed, as what runs between two calls of a program does.

use std::hint::black_box;
use std::thread;

use crate::machine::last_level;

/// Other data, for each thread as much as the last-level cache holds.
pub(super) struct Eviction(Vec<Vec<u8>>);

impl Eviction {
    /// For calls on so many threads.
    pub(super) fn new(threads: usize) -> Eviction {
        Eviction(vec![vec![1; last_level()]; threads.max(1)])
    }

    /// Reads all of it, on as many cores as the process has for its threads, while none of them computes. What is looked for is not
    /// there; the standard library is optimized where this crate is not, and a loop over lines would take several times as long.
    pub(super) fn evict(&self) {
        let read = |data: &[u8]| black_box(black_box(data).contains(&0));
        thread::scope(|scope| {
            self.0.iter().for_each(|data| drop(scope.spawn(move || read(data))));
        });
    }
}
