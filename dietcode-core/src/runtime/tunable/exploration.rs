//! What is kept of a key that is explored within a budget, between the calls that do it.

use std::cell::Cell;
use std::time::Duration;

use super::budget::Cost;
use super::params::Params;
use super::race::{Race, Step};
use super::report::Outcome;

/// A thread asks in one of so many calls.
pub(super) const EACH: u32 = 61;

thread_local! {
    /// Calls since this thread has asked.
    static CALLS: Cell<u32> = const { Cell::new(0) };
}

/// One key that is explored, between its steps.
pub(super) struct Exploration<P: Params> {
    pub(super) words: Box<[u64]>,
    pub(super) proxy: P::Proxy,
    pub(super) race: Race,
    /// How many calls a sample has.
    pub(super) calls: u32,
    /// How long the last step took.
    pub(super) last: Duration,
    /// What is known of each candidate.
    pub(super) known: Vec<Trial>,
    /// How often another key was asked for.
    pub(super) others: u32,
}

/// What is known of a candidate.
#[derive(Clone, Default)]
pub(super) struct Trial {
    /// The seconds of its calls.
    pub(super) samples: Vec<f64>,
    /// Why it is out.
    pub(super) fault: Option<Outcome>,
}

/// Whether this call, the key of which is known, may explore.
#[inline]
pub(super) fn is_asked() -> bool {
    let calls = CALLS.get() + 1;
    CALLS.set(if calls < EACH { calls } else { 0 });
    calls >= EACH
}

impl<P: Params> Exploration<P> {
    /// What the next step is expected to take.
    pub(super) fn cost(&self) -> Cost {
        let calls = match self.race.next() {
            Some(Step::Pair { .. }) => 4 * u64::from(self.calls),
            _ => 2 * P::VARIANTS as u64,
        };
        Cost { calls, time: self.last }
    }
}
