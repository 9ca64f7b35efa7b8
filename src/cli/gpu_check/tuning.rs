//! Tunes each config in its share of the time, beside cuBLAS.

use std::borrow::Cow;
use std::cell::RefCell;
use std::time::Instant;

use dietcode::core::config::{Cache, Strategy};
use dietcode::core::dispatch::{DEFAULT, Finalized, PICK, default_on_gpu};
use dietcode::core::measure::{Baselines, Device, Finalist, Sample, Standing, Summary, Timing, compare};
use dietcode::core::search::{Database, Found, Journal, Task, search};
use dietcode::core::sketch::rules::{CustomRules, Tf32};
use dietcode::tuning::{Kernel, budget, course, finish};
use dietcode::{ErrorKind, Result};

use super::Run;
use super::checks::named;
use super::plan::Problem;
use super::result::{Compared, Entry, Failed, Measurer, Outcome, Tuned};

/// All configs, one after the other; what is known is saved after each.
pub(super) fn tune_all(run: &mut Run<'_>, seconds: f64, outcome: &mut Outcome) -> Result<()> {
    let (start, problems) = (Instant::now(), &run.plan.problems);
    // Comparing afterwards is not of the time for tuning.
    let mut beside = 0.0;
    for (n, problem) in problems.iter().enumerate() {
        if run.is_stopped() {
            break;
        }
        // What is found is compared afterwards, for which there is as much time at the least.
        let left = (seconds + beside - start.elapsed().as_secs_f64()).min(run.deadline.left() / 2.0).max(1.0);
        let share = left / (problems.len() - n) as f64;
        run.progress.say(&format!("tuning {} in {}: {share:.1} s", problem.name, problem.precision));
        let def = &problem.setup.def;
        let mut tuned = Tuned {
            problem: problem.name.clone(),
            precision: problem.precision,
            kernel: def.name.clone(),
            source_hash: format!("{:016x}", def.source_hash()),
            strategy: problem.setup.config.search.strategy.name(),
            seconds: share,
            candidates: 0,
            failed: Vec::new(),
            default: String::new(),
            file: None,
            failure: None,
        };
        // What no GPU can run is left out; it takes nothing from the others.
        if let Err(error) = default_on_gpu(def, &problem.setup.program, run.limits) {
            run.progress.say(&error.to_string());
            tuned.failure = Some(error.to_string());
            outcome.tuned.push(tuned);
            continue;
        }
        let found = match tune(run, problem, share, &mut tuned, &mut beside) {
            // It was stopped before its defaults were measured, which says nothing of them.
            Err(error) if run.is_stopped() && error.kind() == ErrorKind::Failed => break,
            // Nothing passed: that is a result, and the next config may do better.
            Err(error) if matches!(error.kind(), ErrorKind::Failed | ErrorKind::Check) => {
                tuned.failure = Some(error.to_string());
                None
            }
            found => Some(found?),
        };
        if let Some((finalized, found, mut device)) = found {
            if outcome.measurer.is_none() {
                outcome.measurer = measure_twice(&mut *device, problem, &found, &finalized)?;
            }
            outcome.comparisons.extend(compared(problem, &tuned.default, &finalized));
        }
        outcome.tuned.push(tuned);
        run.save(outcome)?;
    }
    Ok(())
}

type Tuning3 = (Finalized, Found, Box<dyn Device>);

/// Tunes a config; how long it took beside the search is added to `beside`.
fn tune(run: &mut Run<'_>, problem: &Problem, seconds: f64, tuned: &mut Tuned, beside: &mut f64) -> Result<Tuning3> {
    let own = &problem.setup.config;
    let config = match own.search.strategy {
        Strategy::Enumerate => Cow::Owned(run.plan.listing(problem)),
        _ => Cow::Borrowed(own),
    };
    let device: Box<dyn Device> = Box::new(run.harness(&problem.setup.def)?);
    let database = run.records.as_ref().map_or_else(|| Ok(Database::in_memory()), |path| Database::open(path))?;
    let progress = RefCell::new(&mut run.progress);
    let watch = |event| progress.borrow_mut().show(&event);
    let budget = budget(seconds, run.stop).for_rounds();
    let journal = |device: &dyn Device, identity| Journal::begin(database, device, identity);
    let kernel = Kernel { config: &config, rules: &CustomRules::default(), workloads: &problem.workloads };
    let mut task = kernel.task(device, &budget, &watch, journal)?;
    if run.cold {
        task.tuning.cache = Cache::Cold;
    }
    tuned.default = task.tuning.defaults.micro_kernels[0].name();
    let found = search(std::slice::from_mut(&mut task), &course(&config)).swap_remove(0);
    let failed = |(name, failure)| Failed { name, failure };
    tuned.failed.extend(task.tuning.take_failed().into_iter().map(failed));
    let found = found?;
    tuned.candidates = found.tried;
    tuned.failed.extend(found.failed.iter().cloned().map(failed));
    let begun = Instant::now();
    let baselines = Baselines::on_gpu(run.facts.cublas, own.search.tf32 == Tf32::Once);
    let finalized = finish(own, &mut task, &found, &baselines, |_| ())?;
    *beside += begun.elapsed().as_secs_f64();
    let path = run.tuned.and_then(|folder| problem.tuned_path(folder, run.capability));
    path.map_or(Ok(()), |path| finalized.tuned.save(&path))?;
    tuned.file = Some(finalized.tuned.clone());
    let Task { tuning, .. } = task;
    Ok((finalized, found, tuning.device))
}

/// Times what was selected for the largest instance against itself.
fn measure_twice(
    device: &mut dyn Device,
    problem: &Problem,
    found: &Found,
    finalized: &Finalized,
) -> Result<Option<Measurer>> {
    let workloads = problem.workloads.iter().zip(&finalized.selected);
    let largest = workloads.max_by(|(a, _), (b, _)| a.instance.flops.total_cmp(&b.instance.flops));
    let Some((workload, selected)) = largest else { return Ok(None) };
    let candidate = &found.candidates[*selected];
    let Ok(code) = candidate.code(device) else { return Ok(None) };
    let implementation = device.implementation(code, &workload.instance)?;
    let twice =
        ["first", "second"].map(|name| Finalist { name: name.to_owned(), implementation: implementation.clone() });
    let comparison = compare(device, &workload.instance, &twice, 0, Timing::warm(5, 0.05, 1.0))?;
    let outcomes = comparison.standings.iter().filter_map(|standing| standing.outcome.as_ref().ok());
    let seconds: Vec<Summary> = outcomes.map(Sample::seconds).collect();
    let [first, second] = seconds[..] else { return Ok(None) };
    let (fast, slow) = (first.median.min(second.median), first.median.max(second.median));
    Ok(Some(Measurer {
        kernel: device.def().name.clone(),
        micro_kernel: candidate.micro_kernel.name(),
        shape: named(device.def(), &workload.instance.shape),
        seconds: [first, second],
        spread: slow / fast - 1.0,
    }))
}

/// What was verified: the dispatched micro-kernel, the default where that is another, and cuBLAS.
fn compared(problem: &Problem, default: &str, finalized: &Finalized) -> Vec<Compared> {
    let def = &problem.setup.def;
    let of = problem.workloads.iter().zip(&finalized.verified).zip(&finalized.tuned.instances);
    of.filter_map(|((workload, verified), instance)| {
        let verified = verified.as_ref()?;
        let flops = workload.instance.flops;
        let entry = |standing: &Standing| {
            let implementation = match &*standing.name {
                name if name == verified.taken() => "dietcode",
                DEFAULT => "default",
                // It was tried, and the default stands.
                PICK => return None,
                _ => "cublas",
            };
            let micro_kernel = match implementation {
                "dietcode" => Some(instance.micro_kernel.clone()),
                "default" => Some(default.to_owned()),
                _ => None,
            };
            let (sample, failure) = match &standing.outcome {
                Ok(sample) => (Some(sample), None),
                Err(failure) => (None, Some(failure.clone())),
            };
            Some(Entry {
                implementation,
                micro_kernel,
                seconds: sample.map(Sample::seconds),
                gflops: sample.map(|sample| sample.gflops(flops)),
                rel_err: sample.map(|sample| sample.rel_err),
                conditions: sample.map_or_else(Vec::new, |sample| sample.conditions.clone()),
                failure,
            })
        };
        Some(Compared {
            problem: problem.name.clone(),
            precision: problem.precision,
            kernel: def.name.clone(),
            wkl: workload.wkl.clone(),
            shape: named(def, &workload.instance.shape),
            flops,
            entries: verified.comparisons.iter().flat_map(|c| c.standings.iter().filter_map(entry)).collect(),
        })
    })
    .collect()
}
