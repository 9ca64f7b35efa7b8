//! What a file of results may say: it comes from elsewhere, and its figures decide what programs run.

use dietcode_core::runtime::MAX_THREADS;
use dietcode_core::sketch::Family;

use super::{Outcome, Results, Run};

/// What is wrong, as `where: found …, expected …`.
pub(super) fn check(results: &Results) -> Result<(), String> {
    let at = |(at, run): (usize, &Run)| check_run(run).map_err(|why| format!("runs[{at}].{why}"));
    results.runs.iter().enumerate().try_for_each(at)
}

fn check_run(run: &Run) -> Result<(), String> {
    if !(run.flops.is_finite() && run.flops >= 0.0) {
        return Err(format!("flops: found {}, expected how many operations a call has", run.flops));
    }
    if run.threads > MAX_THREADS {
        return Err(format!("threads: found {}, expected at most {MAX_THREADS}", run.threads));
    }
    for (var, value) in &run.shape {
        if i32::try_from(*value).map_or(true, |value| value < 1) {
            return Err(format!("shape.{}: found {value}, expected 1 to {}", var.escape_debug(), i32::MAX));
        }
    }
    for (at, baseline) in run.baselines.iter().enumerate() {
        check_outcome(&baseline.outcome).map_err(|why| format!("baselines[{at}].{why}"))?;
    }
    for (at, entry) in run.configurations.iter().enumerate() {
        let checked = check_parameters(&entry.name, &entry.parameters).and_then(|()| check_outcome(&entry.outcome));
        checked.map_err(|why| format!("configurations[{at}].{why}"))?;
    }
    Ok(())
}

/// A name stands for its parameters: configurations of several files are told apart by it.
fn check_parameters(name: &str, parameters: &Family) -> Result<(), String> {
    if let Some(broken) = parameters.conditions().into_iter().find(|condition| !condition.holds) {
        let expected = format!("expected {} ({})", broken.text, broken.why);
        return Err(format!("parameters: found some of no configuration of `{}`, {expected}", parameters.family()));
    }
    let expected = parameters.name();
    if name == expected {
        return Ok(());
    }
    Err(format!(
        "name: found `{}`, expected `{expected}`, which is what its parameters are called",
        name.escape_debug()
    ))
}

/// Repeats that took some time.
fn check_outcome(outcome: &Outcome) -> Result<(), String> {
    let Some(sample) = outcome.sample() else { return Ok(()) };
    if sample.seconds.is_empty() {
        return Err("outcome.measured.seconds: found an empty array, expected the seconds of each repeat".to_owned());
    }
    match sample.seconds.iter().find(|seconds| !seconds.is_normal() || **seconds < 0.0) {
        None => Ok(()),
        Some(odd) => Err(format!("outcome.measured.seconds: found {odd:e}, expected seconds greater than 0")),
    }
}
