//! One run: the baselines, then configuration after configuration beside them.
//!
//! Configurations are measured in groups, and every group has the baselines in it: what drifts, drifts under both sides of a
//! ratio.

use std::collections::BTreeMap;

use dietcode_core::Result;
use dietcode_core::measure::{Failure, Interrupt, Sample};

use super::bench::{Bench, DISPATCHED, Repeats, Subject};
use super::progress::Progress;
use super::results::{Baseline, Entry, Outcome};

/// The calls of a group take about so long, in seconds: so long one waits for news.
const GROUP_SECONDS: f64 = 2.0;

/// No group is larger. One that crashes costs the others of its group another check.
const MOST_TOGETHER: usize = 8;

/// Who takes so many times longer than the dispatcher's choice is called once, and no more...
const HOPELESS: f64 = 10.0;

/// ... unless that call is this short.
const SHORT_SECONDS: f64 = 0.1;

/// What a run came to.
pub(super) struct Rounds {
    pub(super) baselines: Vec<Baseline>,
    pub(super) configurations: Vec<Entry>,
    /// Why not everything was measured.
    pub(super) stopped: Option<String>,
}

/// Measures the baselines, and then the configurations, which come with the outcome that they have already or none.
pub(super) fn run(
    bench: &mut Bench<'_>,
    mut configurations: Vec<Entry>,
    reps: usize,
    interrupt: Interrupt,
    progress: &mut Progress,
) -> Result<Rounds> {
    let (subjects, baselines) = baselines(bench, reps)?;
    progress.baselines(&baselines);
    let mut beside: Vec<Beside> = Vec::new();
    for (subject, baseline) in subjects.into_iter().zip(&baselines) {
        if let Some(seconds) = baseline.outcome.seconds() {
            beside.push(Beside { subject, name: baseline.name.clone(), seconds });
        }
    }
    let dispatched = beside.iter().find(|b| b.subject == Subject::Dispatched).map(|b| b.seconds);
    let slow_seconds = dispatched.map_or(f64::MAX, |seconds| (HOPELESS * seconds).max(SHORT_SECONDS));
    let repeats = Repeats { reps, slow_seconds };
    let waiting: Vec<usize> =
        (0..configurations.len()).filter(|at| configurations[*at].outcome == Outcome::NotReached).collect();
    // What a library's threads do between its calls is waited for, and costs more than the calls: groups are large.
    let slowest = beside.iter().map(|b| b.seconds).fold(0.0, f64::max);
    for group in waiting.chunks(together(slowest * reps as f64)) {
        if interrupt.is_due() {
            break;
        }
        measure(bench, &mut configurations, group, &beside, repeats)?;
        progress.measured(waiting.len() - not_reached(&waiting, &configurations), waiting.len(), &configurations);
    }
    let left = not_reached(&waiting, &configurations);
    let why = if interrupt.is_asked_for() { "the run was interrupted" } else { "the time was up" };
    let stopped = (left > 0).then(|| format!("{left} of {} configurations were not reached: {why}", waiting.len()));
    Ok(Rounds { baselines, configurations, stopped })
}

/// How many of these nothing is known of.
fn not_reached(of: &[usize], configurations: &[Entry]) -> usize {
    of.iter().filter(|at| configurations[**at].outcome == Outcome::NotReached).count()
}

/// A baseline that passed: it is measured again in each group.
struct Beside {
    subject: Subject,
    name: String,
    /// Its median, alone with the other baselines.
    seconds: f64,
}

/// How many configurations are measured at a time, if the repeats of one take so long.
fn together(seconds: f64) -> usize {
    ((GROUP_SECONDS / seconds.max(1e-3)) as usize).clamp(1, MOST_TOGETHER)
}

fn baselines(bench: &mut Bench<'_>, reps: usize) -> Result<(Vec<Subject>, Vec<Baseline>)> {
    let mut subjects: Vec<Subject> = bench.library.iter().map(|_| Subject::Library).collect();
    subjects.push(Subject::Dispatched);
    let outcomes = bench.measure(&subjects, Repeats { reps, slow_seconds: f64::MAX })?;
    let baseline = |(subject, outcome): (&Subject, Result<Sample, Failure>)| Baseline {
        name: bench
            .library
            .as_ref()
            .filter(|_| *subject == Subject::Library)
            .map_or_else(|| DISPATCHED.to_owned(), |library| library.name.clone()),
        micro_kernel: if *subject == Subject::Dispatched { bench.selected().ok() } else { None },
        outcome: Outcome::of(outcome),
    };
    let baselines = subjects.iter().zip(outcomes).map(baseline).collect();
    Ok((subjects, baselines))
}

/// Measures a group beside the baselines, and notes what came of it.
fn measure(
    bench: &mut Bench<'_>,
    configurations: &mut [Entry],
    group: &[usize],
    beside: &[Beside],
    repeats: Repeats,
) -> Result<()> {
    let own = group.iter().map(|at| Subject::Configuration(configurations[*at].name.clone()));
    let subjects: Vec<Subject> = beside.iter().map(|b| b.subject.clone()).chain(own).collect();
    let mut outcomes = bench.measure(&subjects, repeats)?;
    let own = outcomes.split_off(beside.len());
    let medians: BTreeMap<&str, f64> = beside
        .iter()
        .zip(&outcomes)
        .map(|(b, outcome)| (b.name.as_str(), outcome.as_ref().map_or(b.seconds, |sample| sample.seconds().median)))
        .collect();
    for (at, outcome) in group.iter().zip(own) {
        let entry = &mut configurations[*at];
        entry.outcome = Outcome::of(outcome);
        if let Some(seconds) = entry.outcome.seconds() {
            entry.ratios = medians.iter().map(|(name, median)| ((*name).to_owned(), median / seconds)).collect();
        }
    }
    Ok(())
}
