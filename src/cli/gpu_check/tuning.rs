//! Tunes each product in its share of the time, and times what was found against cuBLAS.

use std::time::Instant;

use dietcode::core::dispatch::{Measured, Picked, pick};
use dietcode::core::measure::baselines::Gemm;
use dietcode::core::measure::cuda::CudaHarness;
use dietcode::core::measure::{Failure, Implementation, Sample, Summary, Timing};
use dietcode::core::reference::Arithmetic;
use dietcode::core::search::{Budget, CudaCandidate, CudaTuning, Point};
use dietcode::core::syntax::KernelDef;
use dietcode::{ErrorKind, Result};

use super::Run;
use super::checks::named;
use super::plan::Problem;
use super::problems::Precision;
use super::result::{Compared, Entry, Failed, Measurer, Outcome, Tuned};

/// A micro-kernel may be so much slower than the best of an instance, if fewer of them do.
const TOLERANCE: f64 = 0.02;

/// Repeats of a figure that is reported.
const ROUNDS: usize = 15;

/// The same on the emulated device, whose times mean nothing.
const FEW_ROUNDS: usize = 2;

/// All products, one after the other; what is known is saved after each.
pub(super) fn tune_all(run: &mut Run<'_>, seconds: f64, outcome: &mut Outcome) -> Result<()> {
    let (start, problems) = (Instant::now(), &run.plan.problems);
    // Compiling, and comparing afterwards, is not of the time for tuning.
    let mut beside = 0.0;
    for (n, problem) in problems.iter().enumerate() {
        if run.is_stopped() {
            break;
        }
        let left = (seconds + beside - start.elapsed().as_secs_f64()).max(1.0);
        let share = left / (problems.len() - n) as f64;
        run.progress.say(&format!("tuning {} in {}: {share:.1} s", problem.name, problem.precision.name()));
        let mut harness = run.harness(&run.plan.defs[problem.def])?;
        let (seen, found) = tune(run, &mut harness, problem, share, &mut beside)?;
        outcome.tuned.push(seen);
        let Some((candidates, picked)) = found else { continue };
        let begun = Instant::now();
        if outcome.measurer.is_none() {
            outcome.measurer = measure_twice(run, &mut harness, problem, &candidates, &picked)?;
        }
        for point in 0..problem.points.len() {
            if run.is_stopped() {
                break;
            }
            outcome.comparisons.push(compare(run, &mut harness, problem, point, &candidates, &picked)?);
        }
        run.save(outcome)?;
        beside += begun.elapsed().as_secs_f64();
    }
    Ok(())
}

type Found = Option<(Vec<CudaCandidate>, Picked)>;

/// Tunes a product; what is not measuring is added to `beside`.
fn tune(
    run: &mut Run<'_>,
    harness: &mut CudaHarness,
    problem: &Problem,
    seconds: f64,
    beside: &mut f64,
) -> Result<(Tuned, Found)> {
    let def = &run.plan.defs[problem.def];
    let mut tuned = Tuned {
        problem: problem.name,
        precision: problem.precision,
        kernel: def.name.clone(),
        source_hash: format!("{:016x}", def.source_hash()),
        seconds,
        candidates: problem.candidates.len(),
        failed: Vec::new(),
        default: problem.candidates[0].name(),
        file: None,
        failure: None,
    };
    let mut failed = Vec::new();
    let budget = Budget::start(seconds, run.stop);
    let progress = &mut run.progress;
    let mut watch = |event| progress.show(&event);
    let mut tuning = CudaTuning::new(harness, def, &problem.points, budget, &mut watch);
    tuning.cold = run.cold;
    tuning.records = run.records.as_mut().map(|records| (records, &run.target));
    let begun = Instant::now();
    let compiled = tuning.compile(&run.compiler, &problem.candidates, &mut failed);
    *beside += begun.elapsed().as_secs_f64();
    let searched = compiled.and_then(|mut tuning| {
        tuning.budget = Budget::start(seconds, tuning.budget.stop());
        tuning.search()
    });
    tuned.failed.extend(failed.into_iter().map(|(name, failure)| Failed { name, failure }));
    let candidates = match searched {
        Ok(candidates) => candidates,
        // Nothing passed: that is a result, and the next product may do better.
        Err(error) if error.kind() == ErrorKind::Failed => {
            tuned.failure = Some(error.to_string());
            return Ok((tuned, None));
        }
        Err(error) => return Err(error),
    };
    let failures = candidates.iter().filter_map(|c| Some((c.blocked.name(), c.failure.clone()?)));
    tuned.failed.extend(failures.map(|(name, failure)| Failed { name, failure }));
    let picked = pick(def, &problem.points, &candidates, TOLERANCE)?;
    let compiler = &candidates[0].built.toolchain;
    let measured = Measured {
        def,
        capability: run.capability,
        device: run.target.machine(),
        space_hash: problem.config.as_ref().map_or("", |(_, hash)| hash),
        // A tuned file states the version of nvcc alone.
        compiler: compiler.strip_prefix("nvcc ").unwrap_or(compiler),
    };
    let file = measured.tuned(&problem.points, &candidates, &picked)?;
    if let (Some(folder), Some((stem, _))) = (run.tuned, &problem.config) {
        file.save(&folder.join(format!("{stem}.{}.tuned.json", run.capability)))?;
    }
    tuned.file = Some(file);
    Ok((tuned, Some((candidates, picked))))
}

/// Times the pick of the largest instance against itself.
fn measure_twice(
    run: &Run<'_>,
    harness: &mut CudaHarness,
    problem: &Problem,
    candidates: &[CudaCandidate],
    picked: &Picked,
) -> Result<Option<Measurer>> {
    let def = &run.plan.defs[problem.def];
    let Some((at, point)) =
        problem.points.iter().enumerate().max_by(|(_, a), (_, b)| a.instance.flops.total_cmp(&b.instance.flops))
    else {
        return Ok(None);
    };
    let candidate = &candidates[picked.picks[at]];
    let own = own(def, candidate, point)?;
    let outcomes = measure(run, harness, point, vec![own.clone(), own])?;
    let seconds: Vec<Summary> = outcomes.iter().flatten().map(Sample::seconds).collect();
    let [first, second] = seconds[..] else { return Ok(None) };
    let (fast, slow) = (first.median.min(second.median), first.median.max(second.median));
    Ok(Some(Measurer {
        kernel: def.name.clone(),
        micro_kernel: candidate.blocked.name(),
        shape: named(def, &point.instance.shape),
        seconds: [first, second],
        spread: slow / fast - 1.0,
    }))
}

/// Times the dispatched micro-kernel, the default and cuBLAS by turns at an instance.
fn compare(
    run: &Run<'_>,
    harness: &mut CudaHarness,
    problem: &Problem,
    at: usize,
    candidates: &[CudaCandidate],
    picked: &Picked,
) -> Result<Compared> {
    let (def, point) = (&run.plan.defs[problem.def], &problem.points[at]);
    let instance = &point.instance;
    let name = picked.tree.pick(&dietcode::core::config::Config::shape_vars(def), &instance.shape);
    let dispatched = candidates.iter().find(|c| c.blocked.name() == name).unwrap_or(&candidates[picked.picks[at]]);
    let mut finalists = vec![("dietcode", Some(dispatched), own(def, dispatched, point)?)];
    let default = &candidates[0];
    if default.blocked != dispatched.blocked && default.failure.is_none() {
        finalists.push(("default", Some(default), own(def, default, point)?));
    }
    let gemm = Gemm::of(def, instance).filter(|_| run.has_cublas);
    finalists.extend(gemm.map(|gemm| ("cublas", None, cublas(gemm, problem.precision))));
    let outcomes = measure(run, harness, point, finalists.iter().map(|(_, _, c)| c.clone()).collect())?;
    let entries = finalists.iter().zip(outcomes).map(|((implementation, candidate, _), outcome)| {
        let (sample, failure) = outcome.map_or_else(|failure| (None, Some(failure)), |sample| (Some(sample), None));
        Entry {
            implementation,
            micro_kernel: candidate.map(|candidate| candidate.blocked.name()),
            seconds: sample.as_ref().map(Sample::seconds),
            gflops: sample.as_ref().map(|sample| sample.gflops(instance.flops)),
            rel_err: sample.as_ref().map(|sample| sample.rel_err),
            failure,
        }
    });
    Ok(Compared {
        problem: problem.name,
        precision: problem.precision,
        kernel: def.name.clone(),
        wkl: point.wkl.clone(),
        shape: named(def, &instance.shape),
        flops: instance.flops,
        entries: entries.collect(),
    })
}

fn own(def: &KernelDef, candidate: &CudaCandidate, point: &Point) -> Result<Implementation> {
    Implementation::launched(&candidate.built, def, &point.instance.shape)
}

/// The same product by cuBLAS: f32 without tf32 is held to the bounds of f32, so that it is seen to be that. With tf32 it need
/// not round as we do.
fn cublas(gemm: Gemm, precision: Precision) -> Implementation {
    let arithmetic = match precision {
        Precision::F32 => Arithmetic::F32,
        Precision::Tf32 => Arithmetic::TruncatedTf32,
        Precision::F16 | Precision::Bf16 => Arithmetic::MatrixUnit,
    };
    Implementation::CuBlas { gemm, tf32: precision == Precision::Tf32, arithmetic }
}

fn measure(
    run: &Run<'_>,
    harness: &mut CudaHarness,
    point: &Point,
    implementations: Vec<Implementation>,
) -> Result<Vec<Result<Sample, Failure>>> {
    let rounds = if run.emulated { FEW_ROUNDS } else { ROUNDS };
    let timing = Timing { cold: run.cold, ..Timing::warm(rounds, 0.0, f64::MAX) };
    Ok(harness.measure(&point.instance, 0, implementations, timing)?.outcomes)
}
