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

    /// Reads all of it, on as many cores as the process has for its threads, while none of them computes. Both halves are equal: the C
    /// library compares them in less than half of the time of a search by the standard library, and in a quarter of that of a loop over
    /// lines where this crate is not optimized.
    pub(super) fn evict(&self) {
        let read = |data: &[u8]| {
            let (one, other) = data.split_at(data.len() / 2);
            black_box(black_box(one) == black_box(other))
        };
        thread::scope(|scope| {
            self.0.iter().for_each(|data| drop(scope.spawn(move || read(data))));
        });
    }
}
