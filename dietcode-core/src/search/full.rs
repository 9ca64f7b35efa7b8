//! The second look: a candidate is measured on the instances where its points let hope that it is the best, at all numbers of threads;
//! and after the last round, those that may be, since the points and the model are off by some.

use std::sync::Arc;

use super::screening::timing;
use super::{Part, Tuning};
use crate::Result;
use crate::measure::{Purpose, Timing};

/// Little: a candidate that comes near the best of an instance is measured again in the finals, and checked there.
const THOROUGH: Timing = Timing::warm(2, 0.01, 1.0).unchecked();

/// Two points and a model tell no more than whether a candidate is within this of the best, and less where figures of one micro-kernel
/// are apart.
pub(super) const MARGIN: f64 = 1.1;

/// The most candidates of an instance that are measured after the last round.
const MOST: usize = 8;

/// After so many measurements in a row without a figure, others have the cores: what is left waits until after the last round.
const IN_USE: usize = 3;

/// What is so many times slower at one number of threads is not the best at another.
const BEHIND: f64 = 1.25;

/// Measures candidates that were screened, where they are expected to be the best: on each instance those first of which most is
/// expected, since they decide whether the next one is worth it.
pub(super) fn measure(tuning: &mut Tuning<'_>, batch: &[usize]) -> Result<()> {
    let workloads = 0..tuning.workloads.len();
    let chosen: Vec<(usize, usize)> =
        workloads.flat_map(|at| hopeful(tuning, batch, at, 1.0).into_iter().map(move |one| (one, at))).collect();
    on_instances(tuning, &chosen)
}

/// Measures, after the last round, those that may be the best of an instance, as long as the time lasts.
pub(super) fn measure_finalists(tuning: &mut Tuning<'_>) -> Result<()> {
    let margin = MARGIN * tuning.uncertainty().exp();
    let all: Vec<usize> = (0..tuning.candidates.len()).collect();
    let unmeasured = |workload: usize| {
        let is_open = |at: &usize| (0..tuning.threads.len()).any(|threads| is_open(tuning, *at, threads, workload));
        hopeful(tuning, &all, workload, margin).into_iter().filter(is_open).take(MOST).collect()
    };
    let open: Vec<Vec<usize>> = (0..tuning.workloads.len()).map(unmeasured).collect();
    for rank in 0..MOST {
        let chosen: Vec<(usize, usize)> =
            open.iter().enumerate().filter_map(|(workload, open)| Some((*open.get(rank)?, workload))).collect();
        if tuning.budget.is_over(Part::Finalists) {
            break;
        }
        on_instances(tuning, &chosen)?;
    }
    Ok(())
}

/// Compiles what is measured on instances as a build does, side by side, and checks it as what was screened was checked, unless all that
/// is asked of it is on record.
fn compile(tuning: &mut Tuning<'_>, chosen: &[(usize, usize)]) -> Result<()> {
    let is_on_record = |at: usize, workload: usize| {
        let (name, shape) = (tuning.candidates[at].micro_kernel.name(), tuning.shape(workload));
        tuning.journal.replay.has(&name, &shape, tuning.threads[0])
    };
    let is_to_be_compiled =
        |(at, workload): &&(usize, usize)| !tuning.candidates[*at].is_compiled() && !is_on_record(*at, *workload);
    let mut of: Vec<usize> = chosen.iter().filter(is_to_be_compiled).map(|(at, _)| *at).collect();
    of.sort_unstable();
    of.dedup();
    of.retain(|at| !tuning.recall_failure(*at));
    if of.is_empty() {
        return Ok(());
    }
    let micro_kernels = of.iter().map(|at| tuning.candidates[*at].micro_kernel.clone()).collect();
    let mut building = tuning.device.build(micro_kernels, Purpose::Final);
    for (place, at) in of.iter().enumerate() {
        match building.take(place) {
            Ok(code) => drop(tuning.candidates[*at].code.set(code)),
            Err(failure) => tuning.fail(*at, failure)?,
        }
    }
    let cores = Arc::clone(tuning.device.cores());
    let _alone = cores.reserve(tuning.threads[0]);
    of.into_iter().try_for_each(|at| tuning.check(at, Purpose::Final))
}

/// Measures candidates, each on an instance (both as positions), at one number of threads after the other, since each takes its own cores.
pub(super) fn on_instances(tuning: &mut Tuning<'_>, chosen: &[(usize, usize)]) -> Result<()> {
    compile(tuning, chosen)?;
    let cores = Arc::clone(tuning.device.cores());
    for threads in 0..tuning.threads.len() {
        // Compilers need not wait where there is nothing to measure.
        if chosen.is_empty() {
            break;
        }
        let _alone = cores.reserve(tuning.threads[threads]);
        let mut unknown = 0;
        for (at, workload) in chosen {
            if unknown < IN_USE && is_open(tuning, *at, threads, *workload) {
                let best = tuning.best(threads, *workload) * 1e9;
                let best = (best > 0.0).then(|| tuning.workloads[*workload].instance.flops / best);
                tuning.measure(*at, threads, *workload, timing(THOROUGH, best))?;
                unknown = if is_open(tuning, *at, threads, *workload) { unknown + 1 } else { 0 };
            }
        }
    }
    Ok(())
}

/// Those that are expected to come within a margin of the best of an instance, at any number of threads; and its default. The best is the
/// most that is expected of them, and of what was measured there before: a model that is wrong about the instance is wrong about
/// that, too.
fn hopeful(tuning: &Tuning<'_>, among: &[usize], workload: usize, margin: f64) -> Vec<usize> {
    // What is expected of a cover no point of its own has shown: it counts as what it was measured at.
    let predicted = |at: usize, threads: usize| {
        let candidate = &tuning.candidates[at];
        match candidate.micro_kernel.cover {
            Some(_) => candidate.gflops[threads][workload].unwrap_or(0.0),
            None => candidate.predicted[threads][workload],
        }
    };
    let alive = || among.iter().copied().filter(|at| !tuning.candidates[*at].failed);
    let measured = (0..tuning.candidates.len()).filter(|at| tuning.candidates[*at].score(workload) > 0.0);
    let rivals: Vec<usize> = alive().chain(measured).collect();
    let best = |threads: usize| rivals.iter().map(|rival| predicted(*rival, threads)).fold(0.0, f64::max);
    let best: Vec<f64> = (0..tuning.threads.len()).map(best).collect();
    let share = |at: usize| {
        let shares = best.iter().enumerate().filter(|(_, best)| **best > 0.0);
        shares.map(|(threads, best)| predicted(at, threads) / best).fold(0.0, f64::max)
    };
    let mut chosen: Vec<(f64, usize)> = alive().map(|at| (share(at), at)).collect();
    chosen.retain(|(share, at)| share * margin >= 1.0 || tuning.is_default(*at, workload));
    chosen.sort_by(|(a, _), (b, _)| b.total_cmp(a));
    chosen.into_iter().map(|(_, at)| at).collect()
}

/// Whether a candidate has no figure at an instance and a number of threads where it may be the best.
fn is_open(tuning: &Tuning<'_>, at: usize, threads: usize, workload: usize) -> bool {
    let candidate = &tuning.candidates[at];
    !candidate.failed && candidate.gflops[threads][workload].is_none() && !is_behind(tuning, at, threads, workload)
}

/// Whether a candidate was that much slower than the best of an instance at an earlier number of threads that the next need not be
/// measured. A default is not put off.
fn is_behind(tuning: &Tuning<'_>, at: usize, threads: usize, workload: usize) -> bool {
    let slow = |earlier: usize| {
        let seen = tuning.candidates[at].gflops[earlier][workload];
        seen.is_some_and(|gflops| gflops * BEHIND < tuning.best(earlier, workload))
    };
    !tuning.is_default(at, workload) && (0..threads).any(slow)
}
