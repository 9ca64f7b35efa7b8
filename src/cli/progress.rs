//! How far a search has come: a bar on a terminal, now and then a line elsewhere.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use dietcode::core::search::{Event, Phase, Status, WorkloadInstance};
use dietcode::heartbeat::{Bar, Heartbeat, tell};

use super::setup::wkl_text;
use super::table::gflops;

/// Shows the events of a search on standard error.
pub(crate) struct Progress {
    bar: Bar,
    /// Until it has its bar or its last line.
    _heartbeat: Heartbeat,
    /// The kernels with their instances.
    kernels: BTreeMap<String, Vec<Instance>>,
    /// What was shown last: kernel, phase, round.
    entered: Option<(String, Phase, usize)>,
    start: Instant,
    budget: Duration,
}

/// A column of what is shown.
struct Instance {
    name: String,
    /// The BLAS's GFLOP/s.
    blas: Option<f64>,
}

/// Longer budgets are none.
const UNLIMITED: Duration = Duration::from_secs(10 * 86_400);

impl Progress {
    /// For a search that has so long.
    pub(crate) fn new(seconds: f64) -> Progress {
        let budget = Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX);
        Progress {
            bar: Bar::new("{prefix:<10} [{wide_bar:.cyan/blue}] {pos}/{len}\n{msg}"),
            _heartbeat: Heartbeat::start(),
            kernels: BTreeMap::new(),
            entered: None,
            start: Instant::now(),
            budget,
        }
    }

    /// Tells the instances of a kernel that will be searched, and the BLAS's GFLOP/s there.
    pub(crate) fn expect_kernel(&mut self, kernel: &str, workloads: &[WorkloadInstance], blas: &[Option<f64>]) {
        let instance = |(workload, blas): (&WorkloadInstance, &Option<f64>)| Instance {
            name: wkl_text(&workload.wkl),
            blas: *blas,
        };
        self.kernels.insert(kernel.to_owned(), workloads.iter().zip(blas).map(instance).collect());
    }

    /// Shows an event of the search.
    pub(crate) fn show(&mut self, event: &Event) {
        match event {
            Event::Notice(text) => self.say(text),
            Event::Progress(status) => self.step(status),
        }
    }

    /// Shows how many instances have been compared with the baselines.
    pub(crate) fn compared(&mut self, done: usize, of: usize) {
        if !self.bar.set("comparing", done, of, "measured beside the baselines") {
            tell(&format!("comparing: {done} of {of} measured beside the baselines"));
        }
    }

    /// Shows how many of something were done.
    pub(crate) fn count(&self, what: &str, done: usize, of: usize) {
        if !self.bar.set(what, done, of, "micro-kernels") && (done == of || done.is_multiple_of(50)) {
            tell(&format!("{what}: {done} of {of} micro-kernels"));
        }
    }

    /// A sentence.
    pub(crate) fn say(&self, text: &str) {
        self.bar.say(text);
    }

    /// Takes the bar away.
    pub(crate) fn finish(&self) {
        self.bar.finish();
    }

    fn step(&mut self, status: &Status) {
        let (phase, what) = match status.phase {
            Phase::Rounds => (format!("round {}", status.round), "candidates tried"),
            Phase::Finals => ("finals".to_owned(), "instances decided"),
        };
        let entered = Some((status.kernel.clone(), status.phase, status.round));
        let is_new = std::mem::replace(&mut self.entered, entered.clone()) != entered;
        let message = [self.counts(status), self.bests(status)].concat().join(", ");
        let of = status.of.unwrap_or(status.done);
        if !self.bar.set(&phase, status.done, of, &format!("{}: {message}", status.kernel)) {
            let of = status.of.map_or_else(String::new, |of| format!(" of {of}"));
            let line = format!("{}, {phase}: {}{of} {what}, {message}", status.kernel, status.done);
            self.bar.line(is_new || status.of == Some(status.done), &line);
        }
    }

    /// What is counted: known, failed, left.
    fn counts(&self, status: &Status) -> Vec<String> {
        let mut counts = Vec::new();
        if status.known > 0 {
            counts.push(format!("{} known from the records", status.known));
        }
        if !status.failures.is_empty() {
            let kinds = status.failures.iter().map(|(kind, count)| format!("{kind} {count}"));
            counts.push(format!("failed: {}", kinds.collect::<Vec<_>>().join(" ")));
        }
        counts.extend(status.roofline.map(|share| format!("{:.0}% of the roofline", 100.0 * share)));
        counts.extend(self.left(status).map(|left| format!("{} s left", left.as_secs())));
        counts
    }

    /// The budget's rest, or how long the other trials will take if that is less.
    fn left(&self, status: &Status) -> Option<Duration> {
        let elapsed = self.start.elapsed();
        let trials = status.of.filter(|_| status.phase == Phase::Rounds && status.done > 1);
        let trials = trials.map(|of| elapsed.mul_f64(of.saturating_sub(status.done) as f64 / status.done as f64));
        let budget = Some(self.budget.saturating_sub(elapsed)).filter(|_| self.budget < UNLIMITED);
        [trials, budget].into_iter().flatten().min()
    }

    /// The best of each instance, and how it compares; of instances without a name, the highest.
    fn bests(&self, status: &Status) -> Vec<String> {
        let Some(instances) = self.kernels.get(&status.kernel) else {
            let best = status.best.iter().copied().fold(0.0, f64::max);
            return vec![format!("best so far {best:.1} GFLOP/s")];
        };
        let seen = instances.iter().zip(&status.best).zip(&status.default).filter(|((_, best), _)| **best > 0.0);
        let line = |((instance, best), default): ((&Instance, &f64), &f64)| {
            let default = (*default > 0.0).then(|| format!("{:.2}× default", best / default));
            let blas = instance.blas.map(|blas| format!("{:.2}× BLAS", best / blas));
            let against: Vec<String> = default.into_iter().chain(blas).collect();
            format!("{} {} ({})", instance.name, gflops(Some(*best)), against.join(", "))
        };
        seen.map(line).collect()
    }
}
