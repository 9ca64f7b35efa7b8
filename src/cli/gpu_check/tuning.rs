//! Tunes each product in its share of the time, beside cuBLAS.

use std::time::Instant;

use dietcode::core::config::Scheduling;
use dietcode::core::dispatch::{DEFAULT, Finalized, PICK, Searched, finalize};
use dietcode::core::machine::cuda::DeviceLimits;
use dietcode::core::measure::{Baselines, Device, Finalist, Sample, Standing, Summary, Timing, compare};
use dietcode::core::search::strategy::enumerated;
use dietcode::core::search::{Course, Database, Defaults, Found, Identity, Journal, Task, Tuning, search};
use dietcode::core::sketch::Blocked;
use dietcode::tuning::budget;
use dietcode::{ErrorKind, Result};

use super::Run;
use super::checks::named;
use super::plan::Problem;
use super::problems::Precision;
use super::result::{Compared, Entry, Failed, Measurer, Outcome, Tuned};

/// A micro-kernel may be so much slower than the best of an instance, if fewer of them do.
const TOLERANCE: f64 = 0.02;

/// So many candidates are proposed before the best so far are looked at.
const PER_ROUND: usize = 8;

/// All products, one after the other; what is known is saved after each.
pub(super) fn tune_all(run: &mut Run<'_>, seconds: f64, outcome: &mut Outcome) -> Result<()> {
    let (start, problems) = (Instant::now(), &run.plan.problems);
    // Comparing afterwards is not of the time for tuning.
    let mut beside = 0.0;
    for (n, problem) in problems.iter().enumerate() {
        if run.is_stopped() {
            break;
        }
        let left = (seconds + beside - start.elapsed().as_secs_f64()).max(1.0);
        let share = left / (problems.len() - n) as f64;
        run.progress.say(&format!("tuning {} in {}: {share:.1} s", problem.name, problem.precision.name()));
        let mut tuned = Tuned {
            problem: problem.name,
            precision: problem.precision,
            kernel: run.plan.defs[problem.def].name.clone(),
            source_hash: format!("{:016x}", run.plan.defs[problem.def].source_hash()),
            seconds: share,
            candidates: problem.candidates.len(),
            failed: Vec::new(),
            default: problem.candidates[0].name(),
            file: None,
            failure: None,
        };
        let found = tune(run, problem, share, &mut tuned, &mut beside);
        let found = match found {
            // Nothing passed: that is a result, and the next product may do better.
            Err(error) if matches!(error.kind(), ErrorKind::Failed | ErrorKind::Check) => {
                tuned.failure = Some(error.to_string());
                None
            }
            found => Some(found?),
        };
        outcome.tuned.push(tuned);
        let Some((finalized, found, mut device)) = found else { continue };
        if outcome.measurer.is_none() {
            outcome.measurer = measure_twice(&mut *device, problem, &found, &finalized)?;
        }
        outcome.comparisons.extend(compared(run, problem, &finalized));
        run.save(outcome)?;
    }
    Ok(())
}

type Tuning3 = (Finalized, Found, Box<dyn Device>);

/// Tunes a product; how long it took beside the search is added to `beside`.
fn tune(run: &mut Run<'_>, problem: &Problem, seconds: f64, tuned: &mut Tuned, beside: &mut f64) -> Result<Tuning3> {
    let device: Box<dyn Device> = Box::new(run.harness(&run.plan.defs[problem.def])?);
    let database = run.records.as_ref().map_or_else(|| Ok(Database::in_memory()), |path| Database::open(path))?;
    let identity = Identity { seed: run.seed, space_hash: String::new() };
    let journal = Journal::begin(database, &*device, identity);
    let of = vec![0; problem.workloads.len()];
    let limits = DeviceLimits::of(run.capability)?;
    let made = |blocked: &Blocked| Ok(blocked.micro_kernel(device.program(), limits)?.0);
    let mut candidates = problem.candidates.iter().map(made).collect::<Result<Vec<_>>>()?;
    let defaults = Defaults { micro_kernels: vec![candidates.remove(0)], of };
    let progress = std::cell::RefCell::new(&mut run.progress);
    let watch = |event| progress.borrow_mut().show(&event);
    let budget = budget(seconds, run.stop);
    let mut tuning = Tuning::new(device, problem.workloads.clone(), vec![0], defaults, budget.clone(), journal, &watch);
    tuning.cold = run.cold;
    let proposer = enumerated(candidates);
    let mut task = Task { tuning, proposer, weight: 1.0, per_round: PER_ROUND };
    let course = Course { trials: None, until: None, scheduling: Scheduling::default(), seed: run.seed };
    let found = search(std::slice::from_mut(&mut task), &course).swap_remove(0);
    tuned.failed.extend(task.tuning.take_failed().into_iter().map(|(name, failure)| Failed { name, failure }));
    let found = found?;
    tuned.failed.extend(found.failed.iter().cloned().map(|(name, failure)| Failed { name, failure }));
    let begun = Instant::now();
    let Tuning { mut device, workloads, threads, .. } = task.tuning;
    let baselines = Baselines::on_gpu(run.facts.cublas, problem.precision == Precision::Tf32);
    let space_hash = problem.config.as_ref().map_or("", |(_, hash)| hash);
    let searched = Searched {
        config: None,
        tolerance: TOLERANCE,
        space_hash,
        workloads: &workloads,
        threads: &threads,
        cold: run.cold,
        found: &found,
    };
    let finalized = finalize(&mut *device, searched, &baselines, &budget, |_| ())?;
    *beside += begun.elapsed().as_secs_f64();
    if let (Some(folder), Some((stem, _))) = (run.tuned, &problem.config) {
        finalized.tuned.save(&folder.join(format!("{stem}.{}.tuned.json", run.capability)))?;
    }
    tuned.file = Some(finalized.tuned.clone());
    Ok((finalized, found, device))
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
fn compared(run: &Run<'_>, problem: &Problem, finalized: &Finalized) -> Vec<Compared> {
    let def = &run.plan.defs[problem.def];
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
                "default" => Some(problem.candidates[0].name()),
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
                failure,
            })
        };
        Some(Compared {
            problem: problem.name,
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
