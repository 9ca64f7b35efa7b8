//! How long each part of a multiprocessor is busy, and which of them bounds the rest.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::machine::cuda::Pipe;

/// What a kernel is bound by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Limit {
    /// Bytes that a multiprocessor gets from the second-level cache and sends there.
    SecondLevel,
    /// Bytes of the device's memory: each tensor once.
    Memory,
    /// Nothing is busy for half of the time: blocks wait for memory, for barriers, or for warps that are not there.
    Latency,
    /// One of a multiprocessor's pipes.
    #[serde(untagged)]
    Pipe(Pipe),
}

impl Limit {
    /// As it is called in a table.
    pub fn name(self) -> &'static str {
        match self {
            Limit::SecondLevel => "second-level cache",
            Limit::Memory => "memory",
            Limit::Latency => "latency",
            Limit::Pipe(pipe) => pipe.name(),
        }
    }
}

/// For how many clocks a multiprocessor's parts are busy; all of them work at the same time.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(transparent)]
pub struct Clocks(pub BTreeMap<Limit, f64>);

impl Clocks {
    /// The part that is busy for longest, and how long.
    pub fn most(&self) -> (Limit, f64) {
        let all = self.0.iter().map(|(limit, clocks)| (*limit, *clocks));
        all.fold((Limit::Latency, 0.0), |most, next| if next.1 > most.1 { next } else { most })
    }

    /// So many times as long.
    pub(super) fn times(mut self, times: f64) -> Clocks {
        self.0.values_mut().for_each(|clocks| *clocks *= times);
        self
    }
}

impl FromIterator<(Limit, f64)> for Clocks {
    fn from_iter<I: IntoIterator<Item = (Limit, f64)>>(parts: I) -> Clocks {
        Clocks(parts.into_iter().collect())
    }
}
