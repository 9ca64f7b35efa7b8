//! Random draws that are made again: where nearly all were, a test would try little of what it says.

use std::sync::atomic::{AtomicUsize, Ordering};

/// How many were, on all threads of a test.
#[derive(Default)]
pub(crate) struct Redrawn(AtomicUsize);

impl Redrawn {
    /// One more.
    pub(crate) fn note(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    /// Few chance ones aside, at most so many times as many as there were cases.
    pub(crate) fn at_most(&self, share: f64, cases: usize, why: &str) {
        let redrawn = self.0.load(Ordering::Relaxed);
        println!("{cases} cases; {redrawn} draws {why}");
        assert!(redrawn as f64 <= share * cases as f64 + 20.0, "{redrawn} draws for {cases} cases {why}");
    }
}
