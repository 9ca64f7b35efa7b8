//! How far a run has come: a bar on a terminal, now and then a line elsewhere.

use crate::heartbeat::Bar;

use super::results::{Baseline, Entry, Outcome};
use super::table::{baseline_line, seconds};

/// Shows a run on standard error.
pub(super) struct Progress {
    bar: Bar,
    flops: f64,
}

impl Progress {
    /// For a product of so many operations.
    pub(super) fn new(flops: f64) -> Progress {
        Progress { bar: Bar::new("{prefix} [{wide_bar:.cyan/blue}] {pos}/{len}  {msg}"), flops }
    }

    /// Says how fast the baselines are.
    pub(super) fn baselines(&self, baselines: &[Baseline]) {
        for baseline in baselines {
            self.bar.say(&baseline_line(baseline, self.flops));
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
        if !self.bar.set("measuring", done, of, &told.join(", ")) {
            let count = format!("{done} of {of} configurations");
            self.bar.line(done == of, &format!("measuring: {}", [vec![count], told].concat().join(", ")));
        }
    }
}
