//! When a run ends, whatever is left of it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use dietcode::{Error, Result};

use super::plan::Plan;
use super::result::Outcome;

/// The time that a run has, from its start.
pub(super) struct Deadline {
    start: Instant,
    seconds: f64,
    passed: Arc<AtomicBool>,
}

impl Deadline {
    /// Begins now. When it passes, `stop` is set, as by an interrupt: what is being measured is finished, and nothing is begun.
    ///
    /// # Errors
    /// If no thread can wait for it.
    pub(super) fn begin(seconds: f64, stop: &'static AtomicBool) -> Result<Deadline> {
        let passed = Arc::new(AtomicBool::new(false));
        // What is longer than a clock can count does not pass.
        if let Ok(duration) = Duration::try_from_secs_f64(seconds) {
            let passed = Arc::clone(&passed);
            let wait = move || {
                thread::sleep(duration);
                passed.store(true, Ordering::Relaxed);
                stop.store(true, Ordering::Relaxed);
            };
            let unavailable = |e| Error::unavailable("no thread can be started to wait for the deadline").caused_by(e);
            thread::Builder::new().name("deadline".to_owned()).spawn(wait).map_err(unavailable)?;
        }
        Ok(Deadline { start: Instant::now(), seconds, passed })
    }

    /// Seconds that are left.
    pub(super) fn left(&self) -> f64 {
        (self.seconds - self.start.elapsed().as_secs_f64()).max(0.0)
    }

    /// Whether half of it is over: what is tuned has the other half.
    pub(super) fn is_half_over(&self) -> bool {
        self.left() < self.seconds / 2.0
    }

    pub(super) fn has_passed(&self) -> bool {
        self.passed.load(Ordering::Relaxed)
    }
}

/// What of a plan a run did not come to, a sentence for each part.
pub(super) fn left_out(plan: &Plan, outcome: &Outcome) -> Vec<String> {
    let (all, checked) = (plan.checks.len(), outcome.micro_kernels.len());
    let unchecked = (checked < all).then(|| format!("{} of {all} micro-kernels were not checked", all - checked));
    let is_tuned = |name: &str, precision| outcome.tuned.iter().any(|t| t.problem == name && t.precision == precision);
    let problems = plan.problems.iter().filter(|problem| !is_tuned(&problem.name, problem.precision));
    let names: Vec<String> = problems.map(|problem| format!("{} in {}", problem.name, problem.precision)).collect();
    let untuned = (!names.is_empty()).then(|| format!("not tuned: {}", names.join(", ")));
    unchecked.into_iter().chain(untuned).collect()
}
