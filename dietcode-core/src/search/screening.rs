//! The first look: a candidate is checked and timed briefly on the cheapest instance, and on the one in the middle.
//!
//! That gives the rate f_MK of its tiles, and with how the other instances fit them what to expect there. One that is behind
//! wherever it could serve after the first of them is not timed on the second.

use super::Tuning;
use crate::Result;
use crate::measure::Timing;

/// Enough to tell a candidate that is much slower.
pub(super) const BRIEF: Timing = Timing::warm(2, 0.005, 0.5);

/// A candidate is not called again after a call that takes so many times as long as the best's.
const GIVEN_UP: f64 = 3.0;

/// A candidate that is expected to be so many times slower than the best everywhere is not timed on a second instance: rates differ by
/// less from one instance to another, as far as tiles fit.
const BEHIND: f64 = 1.5;

/// Screens candidates at the first number of threads.
pub(super) fn screen(tuning: &mut Tuning<'_>, batch: &[usize]) -> Result<()> {
    let cores = std::sync::Arc::clone(tuning.device.cores());
    let _alone = cores.reserve(tuning.threads[0]);
    for at in batch {
        for workload in sample_workloads(tuning) {
            if !tuning.candidates[*at].failed && !is_behind(tuning, *at) {
                tuning.measure(&[*at], 0, workload, timing(tuning, BRIEF, 0, workload))?;
            }
        }
    }
    Ok(())
}

/// A timing that ends early where the first calls are so much slower than the best.
pub(super) fn timing(tuning: &Tuning<'_>, timing: Timing, threads: usize, workload: usize) -> Timing {
    let best = tuning.best(threads, workload);
    let limit = GIVEN_UP * tuning.workloads[workload].instance.flops / (best * 1e9);
    Timing { slow_seconds: if best > 0.0 { limit.min(timing.slow_seconds) } else { timing.slow_seconds }, ..timing }
}

/// The cheapest instance, and the one in the middle.
fn sample_workloads(tuning: &Tuning<'_>) -> Vec<usize> {
    let by_work = by_work(tuning);
    let mut workloads = vec![by_work[0], by_work[by_work.len() / 2]];
    workloads.dedup();
    workloads
}

/// The instances, the cheapest first.
pub(super) fn by_work(tuning: &Tuning<'_>) -> Vec<usize> {
    let mut by_work: Vec<usize> = (0..tuning.workloads.len()).collect();
    by_work.sort_by(|a, b| tuning.workloads[*a].instance.flops.total_cmp(&tuning.workloads[*b].instance.flops));
    by_work
}

/// Whether what was seen of a candidate puts it behind on every instance. A default is not put off.
fn is_behind(tuning: &Tuning<'_>, at: usize) -> bool {
    let candidate = &tuning.candidates[at];
    let behind = |workload| candidate.expected(0, workload) * BEHIND < tuning.best(0, workload);
    let workloads = || 0..tuning.workloads.len();
    !workloads().any(|workload| tuning.is_default(at, workload))
        && candidate.rate(0).is_some()
        && workloads().all(behind)
}
