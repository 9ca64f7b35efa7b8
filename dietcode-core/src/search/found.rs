//! What a search found, and what is expected where it did not measure.

use super::full::MARGIN;
use super::{Candidate, Pace, geometric_mean};
use crate::measure::Failure;

/// What a search found.
#[derive(Debug)]
pub struct Found {
    /// All candidates that compiled and passed their checks, with their figures.
    pub candidates: Vec<Candidate>,
    /// Which of them runs where nothing was tuned, for each instance.
    pub default: Vec<usize>,
    /// How many were tried beside the defaults, with those that failed.
    pub tried: usize,
    /// How many of them were not measured, since their outcome was on record.
    pub known: usize,
    /// How fast it went.
    pub pace: Pace,
    /// Those that failed, by name, with the reason.
    pub failed: Vec<(String, Failure)>,
    /// The highest measured GFLOP/s of each instance, 0 where there is none: `[threads][instance]`.
    best: Vec<Vec<f64>>,
}

impl Found {
    /// Of all candidates, those that failed too.
    pub(super) fn of(
        candidates: Vec<Candidate>,
        default: Vec<usize>,
        (tried, known): (usize, usize),
        pace: Pace,
        failed: Vec<(String, Failure)>,
    ) -> Found {
        let candidates: Vec<Candidate> = candidates.into_iter().filter(|candidate| !candidate.failed).collect();
        let best = |(threads, row): (usize, &Vec<Option<f64>>)| {
            let best = |at: usize| candidates.iter().filter_map(|c| c.gflops[threads][at]).fold(0.0, f64::max);
            (0..row.len()).map(best).collect()
        };
        let best =
            candidates.first().map_or_else(Vec::new, |first| first.gflops.iter().enumerate().map(best).collect());
        Found { candidates, default, tried, known, pace, failed, best }
    }

    /// The geometric mean over the numbers of threads of a candidate's GFLOP/s on an instance, both as positions. What was not measured
    /// is taken as predicted, but behind what was: nothing is the best of an instance by a prediction.
    pub(crate) fn expected_score(&self, candidate: usize, instance: usize) -> f64 {
        let candidate = &self.candidates[candidate];
        let predicted = |threads: usize| match self.best[threads][instance] {
            best if best > 0.0 => candidate.predicted[threads][instance].min(best / MARGIN),
            _ => candidate.predicted[threads][instance],
        };
        let expected = |threads: usize| candidate.gflops[threads][instance].unwrap_or_else(|| predicted(threads));
        geometric_mean((0..self.best.len()).map(expected))
    }
}
