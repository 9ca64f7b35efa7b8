//! When a run ends, whatever is left of it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use dietcode::{Error, Result};

use super::plan::{Plan, Problem};
use super::result::{Checked, Compared, Tuned};

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

/// What of a plan a run did not come to, or was stopped at, a sentence for each part.
pub(super) fn left_out(
    plan: &Plan,
    checked: &[Checked],
    tuned: &[Tuned],
    comparisons: &[Compared],
    is_stopped: bool,
) -> Vec<String> {
    let (all, begun) = (plan.checks.len(), checked.iter().map(|checked| checked.left_out).sum::<usize>());
    let checked = checked.len();
    let unchecked = (checked < all).then(|| format!("{} of {all} micro-kernels were not checked", all - checked));
    let begun = (begun > 0).then(|| format!("{begun} checks of a micro-kernel that was begun were not made"));
    let is_of = |t: &Tuned, problem: &Problem| t.problem == problem.name && t.precision == problem.precision;
    let place = |problem: &Problem| format!("{} in {}", problem.name, problem.precision);
    let problems = plan.problems.iter().filter(|problem| !tuned.iter().any(|t| is_of(t, problem)));
    let names: Vec<String> = problems.map(place).collect();
    let untuned = (!names.is_empty()).then(|| format!("not tuned: {}", names.join(", ")));
    // What failed says so itself.
    let is_cut = |problem: &&Problem| is_stopped && tuned.iter().any(|t| is_of(t, problem) && t.failure.is_none());
    let uncompared = plan.problems.iter().filter(is_cut).filter_map(|problem| {
        let is_of = |c: &&Compared| c.problem == problem.name && c.precision == problem.precision;
        let (all, compared) = (problem.workloads.len(), comparisons.iter().filter(is_of).count());
        let left = all.saturating_sub(compared);
        (left > 0).then(|| format!("{left} of {all} instances of {} were not compared", place(problem)))
    });
    unchecked.into_iter().chain(begun).chain(untuned).chain(uncompared).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use dietcode::core::reference::Arithmetic;

    use super::super::plan::Size;
    use super::*;

    #[test]
    fn what_was_cut_inside_of_a_config_and_of_a_micro_kernel_is_said() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("ops.rs"), include_str!("../../ops.rs")).unwrap();
        let path = folder.path().join("sums.json");
        let text = r#"{ "kernel": { "source": "ops.rs", "function": "row_sum" }, "shape": { "M": "T", "N": 2000 },
            "wkl_insts": [{ "T": 7 }, { "T": 30 }] }"#;
        std::fs::write(&path, text).unwrap();
        let plan = Plan::read(&[path], "sm_90".parse().unwrap(), Size::Rehearsal).unwrap();
        let problem = &plan.problems[0];
        let (name, precision, kernel) = (problem.name.clone(), problem.precision, "row_sum".to_owned());
        let compared = Compared {
            problem: name.clone(),
            precision,
            kernel: kernel.clone(),
            wkl: problem.workloads[0].wkl.clone(),
            shape: BTreeMap::new(),
            flops: 1.0,
            entries: Vec::new(),
        };
        let tuned = |failure: Option<&str>| Tuned {
            problem: name.clone(),
            precision,
            kernel: kernel.clone(),
            source_hash: String::new(),
            strategy: "evolution",
            seconds: 1.0,
            candidates: 1,
            failed: Vec::new(),
            default: String::new(),
            file: None,
            failure: failure.map(str::to_owned),
        };
        let checked = Checked {
            kernel: kernel.clone(),
            name: "a".to_owned(),
            arithmetic: Arithmetic::F32,
            toolchain: None,
            report: Vec::new(),
            compile_failure: None,
            checks: Vec::new(),
            left_out: 3,
        };
        let compared = [compared];
        let cut = "1 of 2 instances of sums in f32 were not compared";
        assert_eq!(left_out(&plan, &[], &[tuned(None)], &compared, true), [cut]);
        assert_eq!(left_out(&plan, &[], &[tuned(None)], &compared, false), [""; 0]);
        assert_eq!(left_out(&plan, &[], &[tuned(Some("why"))], &[], true), [""; 0]);
        assert_eq!(left_out(&plan, &[], &[], &[], true), ["not tuned: sums in f32"]);
        let begun = "3 checks of a micro-kernel that was begun were not made";
        assert_eq!(left_out(&plan, &[checked], &[tuned(None)], &compared, true), [begun, cut]);
    }
}
