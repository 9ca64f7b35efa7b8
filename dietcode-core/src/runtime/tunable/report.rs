//! What a tuning has found, for people and for the next process.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::{Error, ErrorKind};

/// The default's place among the candidates.
pub(super) const DEFAULT: usize = 0;

/// What one tuning has found.
#[derive(Clone, Debug)]
pub struct Report {
    /// The operation.
    pub op: String,
    /// The call's key, as text.
    pub key: String,
    /// The candidate that was chosen.
    pub chosen: String,
    /// Whether it was found by an earlier process, and read from the file of results. Then the figures are those of that process, of the
    /// chosen candidate and the default alone.
    pub is_from_file: bool,
    /// Why the default was chosen without a trial, if that is so.
    pub untried: Option<String>,
    /// What became of each candidate, the default first.
    pub candidates: Vec<(String, Outcome)>,
}

/// What a result is one of.
#[derive(Clone, Copy)]
#[cfg_attr(not(feature = "results"), allow(dead_code, reason = "a file of results reads them"))]
pub(super) struct Subject<'a> {
    pub(super) op: &'a str,
    pub(super) key: &'a str,
    /// The names of all candidates, the default first.
    pub(super) candidates: &'a [String],
    pub(super) validators: &'a BTreeMap<String, String>,
}

impl Subject<'_> {
    /// What this process has found of it.
    pub(super) fn report(&self, chosen: &str, candidates: Vec<(String, Outcome)>) -> Report {
        let [op, key, chosen] = [self.op, self.key, chosen].map(str::to_owned);
        Report { op, key, chosen, is_from_file: false, untried: None, candidates }
    }
}

/// What became of a candidate.
#[derive(Clone, Debug, PartialEq)]
pub enum Outcome {
    /// It computes what the default computes, and a call takes this long: the median of the samples.
    Timed(Duration),
    /// So does it, but the first calls took this long, more than 1.5 times the best.
    Dropped(Duration),
    /// It does not take these operands.
    Unsupported(String),
    /// It computes something else.
    Wrong(String),
    /// It gave another error, or panicked.
    Failed(String),
}

impl Outcome {
    pub(super) fn of_error(error: &Error) -> Outcome {
        match error.kind() {
            ErrorKind::Unsupported => Outcome::Unsupported(error.to_string()),
            _ => Outcome::Failed(error.to_string()),
        }
    }

    /// What is wrong with the candidate, if something is.
    pub fn fault(&self) -> Option<&str> {
        match self {
            Outcome::Wrong(what) | Outcome::Failed(what) => Some(what),
            Outcome::Timed(_) | Outcome::Dropped(_) | Outcome::Unsupported(_) => None,
        }
    }
}
