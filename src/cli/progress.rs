//! How far a search has come: a bar on a terminal, now and then a line elsewhere.

use std::io::IsTerminal;
use std::time::{Duration, Instant};

use dietcode::core::search::{Event, Phase};
use indicatif::{ProgressBar, ProgressStyle};

use super::tell;

/// Shows the events of a search on standard error.
pub(crate) struct Progress {
    bar: Option<ProgressBar>,
    phase: Option<Phase>,
    end: Instant,
    last_line: Option<Instant>,
}

/// Between two lines, where there is no terminal.
const PAUSE: Duration = Duration::from_secs(5);

impl Progress {
    /// For a search that has so long.
    pub(crate) fn new(seconds: f64) -> Progress {
        let bar = std::io::stderr().is_terminal().then(|| {
            let bar = ProgressBar::new(0);
            let template = "{prefix:<10} [{wide_bar:.cyan/blue}] {pos}/{len}  {msg}";
            bar.set_style(ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar()));
            bar
        });
        let left = Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX);
        let end = Instant::now().checked_add(left).unwrap_or_else(|| Instant::now() + Duration::from_secs(86_400));
        Progress { bar, phase: None, end, last_line: None }
    }

    /// Shows an event of the search.
    pub(crate) fn show(&mut self, event: &Event) {
        match event {
            Event::Notice(text) => self.say(text),
            Event::Progress { phase, done, of, best } => {
                let left = self.end.saturating_duration_since(Instant::now()).as_secs();
                let message = format!("best so far {best:.1} GFLOP/s, {left} s left");
                self.step(*phase, *done, *of, &message);
            }
        }
    }

    /// Shows how many instances have been compared with the baselines.
    pub(crate) fn compared(&mut self, done: usize, of: usize) {
        match &self.bar {
            Some(bar) => {
                bar.set_prefix("comparing");
                bar.set_length(of as u64);
                bar.set_position(done as u64);
                bar.set_message("instances measured beside the baselines");
            }
            None => tell(&format!("comparing: {done} of {of} instances measured beside the baselines")),
        }
    }

    /// Shows how many of something were done.
    pub(crate) fn count(&self, what: &str, done: usize, of: usize) {
        match &self.bar {
            Some(bar) => {
                bar.set_prefix(what.to_owned());
                bar.set_length(of as u64);
                bar.set_position(done as u64);
                bar.set_message("micro-kernels");
            }
            None if done == of || done.is_multiple_of(50) => tell(&format!("{what}: {done} of {of} micro-kernels")),
            None => {}
        }
    }

    /// A sentence.
    pub(crate) fn say(&self, text: &str) {
        match &self.bar {
            Some(bar) => bar.println(text),
            None => tell(text),
        }
    }

    /// Takes the bar away.
    pub(crate) fn finish(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }

    fn step(&mut self, phase: Phase, done: usize, of: usize, message: &str) {
        let (prefix, what) = match phase {
            Phase::Screening => ("screening", "candidates tried"),
            Phase::Measuring => ("measuring", "survivors measured on all instances"),
            Phase::Finals => ("finals", "instances decided"),
        };
        let entered = self.phase.replace(phase) != Some(phase);
        if let Some(bar) = &self.bar {
            bar.set_prefix(prefix);
            bar.set_length(of as u64);
            bar.set_position(done as u64);
            bar.set_message(message.to_owned());
        } else if entered || done == of || self.last_line.is_none_or(|at| at.elapsed() >= PAUSE) {
            tell(&format!("{prefix}: {done} of {of} {what}, {message}"));
            self.last_line = Some(Instant::now());
        }
    }
}
