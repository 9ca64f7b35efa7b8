//! How the best of a run came with its trials: the geometric mean over the instances of the best GFLOP/s so far.

use std::collections::{BTreeMap, BTreeSet};

use dietcode::core::search::{Record, Target, geometric_mean};

use crate::cli::plot::{Chart, PlotAxis};
use crate::cli::table::place;

/// A run of a kernel on a target.
type Run<'a> = (&'a str, &'a Target, &'a str);

/// One chart for each number of threads, one line for each run.
pub(crate) fn charts(records: &[Record]) -> Vec<Chart> {
    let mut counts: BTreeSet<usize> = BTreeSet::new();
    let mut runs: Vec<(Run<'_>, Vec<&Record>)> = Vec::new();
    for record in records {
        counts.extend(record.timed().map(|(threads, _)| threads));
        let run: Run<'_> = (&record.workload.kernel, &record.target, &record.run);
        match runs.iter_mut().find(|(known, _)| *known == run) {
            Some((_, records)) => records.push(record),
            None => runs.push((run, vec![record])),
        }
    }
    counts.into_iter().map(|threads| chart(threads, &runs)).collect()
}

fn chart(threads: usize, runs: &[(Run<'_>, Vec<&Record>)]) -> Chart {
    let place = place(threads);
    let mut lines = BTreeMap::new();
    // As many digits for each, so that names are in the order of the runs.
    let digits = runs.len().to_string().len();
    for (n, ((kernel, ..), records)) in runs.iter().enumerate() {
        let line = best_so_far(records, threads);
        if !line.is_empty() {
            lines.insert(format!("{kernel}, run {:0digits$}", n + 1), line);
        }
    }
    let last = lines.values().flatten().map(|(trial, _)| *trial).max().unwrap_or(0);
    let caption = format!("Best so far on {place}, geometric mean of GFLOP/s over the instances");
    Chart { caption, peak: None, axis: PlotAxis::Trials(last), lines }
}

/// From the trial on at which each instance has a figure. Records without a trial number count by their order.
fn best_so_far(records: &[&Record], threads: usize) -> Vec<(usize, f64)> {
    let of_threads = |record: &&&Record| record.timed().is_some_and(|(found, _)| found == threads);
    let instances: BTreeSet<_> = records.iter().filter(of_threads).map(|record| &record.workload).collect();
    let (mut order, mut best, mut line) = (BTreeMap::new(), BTreeMap::new(), Vec::new());
    let mut by_trial: BTreeMap<usize, Vec<&Record>> = BTreeMap::new();
    for record in records {
        let next = order.len();
        let position = *order.entry(&record.name).or_insert(next);
        let trial = if record.run.is_empty() { position } else { usize::try_from(record.trial).unwrap_or(position) };
        by_trial.entry(trial).or_default().push(record);
    }
    for (trial, records) in by_trial {
        for record in records.iter().filter(of_threads) {
            let figure = record.timed().map_or(0.0, |(_, median)| median);
            let entry = best.entry(&record.workload).or_insert(figure);
            *entry = figure.max(*entry);
        }
        if best.len() == instances.len() && !instances.is_empty() {
            line.push((trial, geometric_mean(best.values().copied())));
        }
    }
    line
}
