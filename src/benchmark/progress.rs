//! How far a run has come: a bar on a terminal, now and then a line elsewhere.

use std::time::{Duration, Instant};

use dietcode_core::message::printable;
use indicatif::ProgressBar;

use crate::heartbeat::{bar, tell};

use super::results::{Baseline, Entry, Outcome};
use super::table::{baseline_line, seconds};

/// Shows a run on standard error.
pub(super) struct Progress {
    bar: Option<ProgressBar>,
    flops: f64,
    last_line: Option<Instant>,
}

/// Between two lines, where there is no terminal.
const PAUSE: Duration = Duration::from_secs(5);

impl Progress {
    /// For a product of so many operations.
    pub(super) fn new(flops: f64) -> Progress {
        let bar = bar("measuring [{wide_bar:.cyan/blue}] {pos}/{len}  {msg}");
        Progress { bar, flops, last_line: None }
    }

    /// Says how fast the baselines are.
    pub(super) fn baselines(&self, baselines: &[Baseline]) {
        for baseline in baselines {
            self.say(&baseline_line(baseline, self.flops));
        }
    }

    /// Shows that so many configurations were measured.
    pub(super) fn measured(&mut self, done: usize, of: usize, configurations: &[Entry]) {
        let best = configurations.iter().filter_map(|entry| Some((entry.outcome.seconds()?, &entry.name)));
        let best = best.min_by(|(a, _), (b, _)| a.total_cmp(b));
        let failed = configurations.iter().filter(|entry| matches!(entry.outcome, Outcome::Failed(_))).count();
        let failed = (failed > 0).then(|| format!("{failed} failed"));
        let best = best.map(|(time, name)| format!("best so far {name}, {}", seconds(time)));
        let told: Vec<String> = best.into_iter().chain(failed).collect();
        match &self.bar {
            Some(bar) => {
                bar.set_length(of as u64);
                bar.set_position(done as u64);
                bar.set_message(told.join(", "));
            }
            None if done == of || self.last_line.is_none_or(|at| at.elapsed() >= PAUSE) => {
                let count = format!("{done} of {of} configurations");
                tell(&format!("measuring: {}", [vec![count], told].concat().join(", ")));
                self.last_line = Some(Instant::now());
            }
            None => {}
        }
    }

    /// A sentence.
    pub(super) fn say(&self, text: &str) {
        match &self.bar {
            Some(bar) => bar.println(printable(text)),
            None => tell(text),
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}
