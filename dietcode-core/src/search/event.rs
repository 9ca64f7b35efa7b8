//! What a search reports while it runs.

use std::collections::BTreeMap;

/// What a search is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Compiling and measuring what is proposed, round by round.
    Rounds,
    /// Measuring the best of each instance against each other.
    Finals,
}

/// Something that happened.
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    /// It has come further.
    Progress(Status),
    /// A sentence for people.
    Notice(String),
}

/// How far the search of one kernel has come.
#[derive(Clone, Debug, PartialEq)]
pub struct Status {
    /// The kernel.
    pub kernel: String,
    /// What is being done.
    pub phase: Phase,
    /// The round; 0 is the one with the default micro-kernel.
    pub round: usize,
    /// Candidates that were tried or measured so far; in the finals, instances decided.
    pub done: usize,
    /// Of how many, if that is known.
    pub of: Option<usize>,
    /// Candidates of the run that is continued, which were on record.
    pub known: usize,
    /// How many candidates failed, by the kind of failure.
    pub failures: BTreeMap<&'static str, usize>,
    /// The best GFLOP/s of each instance at the first number of threads; 0 where nothing was measured.
    pub best: Vec<f64>,
    /// The same of the default micro-kernel.
    pub default: Vec<f64>,
    /// The weighted geometric mean over instances and numbers of threads of how much of the roofline the best reach, from 0
    /// to 1, if the roofline was measured.
    pub roofline: Option<f64>,
}
