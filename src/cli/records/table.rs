//! The records as a person reads them.

use std::collections::BTreeMap;

use comfy_table::Table;
use dietcode::core::message::one_line;
use dietcode::core::search::{Outcome, Record, Target, Workload};

use crate::cli::counted;
use crate::cli::setup::wkl_text;
use crate::cli::table::{Legend, gflops, grid};

type Series<'a> = (&'a Workload, &'a Target, usize);

/// The best record of each instance on each target at each number of threads, in that order.
pub(super) fn best(records: &[Record]) -> Vec<&Record> {
    let mut best: BTreeMap<Series<'_>, (f64, &Record)> = BTreeMap::new();
    for record in records {
        let Some((threads, median)) = record.figure() else { continue };
        let entry = best.entry((&record.workload, &record.target, threads)).or_insert((median, record));
        if median > entry.0 {
            *entry = (median, record);
        }
    }
    best.into_values().map(|(_, record)| record).collect()
}

/// The table of what is shown, and what all the records are.
pub(super) fn text(records: &[Record], shown: &[&Record]) -> String {
    if records.is_empty() {
        return "No records.\n".to_owned();
    }
    let mut legend = Legend::default();
    let mut text = String::new();
    if !shown.is_empty() {
        text = format!("{}\n", table(shown, &tried(records), &mut legend));
    }
    text + &legend.text() + &summary(records)
}

fn table(shown: &[&Record], tried: &BTreeMap<Series<'_>, usize>, legend: &mut Legend) -> Table {
    let head = ["kernel", "instance", "target", "threads", "GFLOP/s", "± IQR", "micro-kernel", "trial", "measured"];
    let row = |record: &&Record| {
        let (threads, median, iqr) = match &record.outcome {
            Outcome::Measured { threads, gflops: summary, .. } => {
                let threads = if *threads == 0 { "–".to_owned() } else { threads.to_string() };
                (threads, gflops(Some(summary.median)), gflops(Some(summary.iqr)))
            }
            Outcome::Unknown { threads, .. } => (threads.to_string(), "unknown".to_owned(), "–".to_owned()),
            Outcome::Verdict { against, verdict, .. } => {
                ("–".to_owned(), format!("{verdict} against {}", legend.letter(&one_line(against))), "–".to_owned())
            }
            Outcome::Turns { unknown: true, .. } => ("–".to_owned(), "unknown".to_owned(), "–".to_owned()),
            Outcome::Turns { gflops, .. } => (
                "–".to_owned(),
                format!("by turns with {}", counted(gflops.len().saturating_sub(1), "other")),
                "–".to_owned(),
            ),
            Outcome::Failed(failure) => ("–".to_owned(), failure.kind().to_owned(), "–".to_owned()),
        };
        let point = record.figure().map(|(threads, _)| (&record.workload, &record.target, threads));
        let measured = point.and_then(|point| tried.get(&point)).map_or_else(|| "–".to_owned(), usize::to_string);
        let trial = if record.run.is_empty() { "–".to_owned() } else { record.trial.to_string() };
        let [kernel, target] = [&record.workload.kernel, record.target.model()].map(|text| one_line(text).into_owned());
        let letter = legend.letter(&one_line(&record.name));
        [kernel, instance(record), target, threads, median, iqr, letter, trial, measured]
    };
    grid(head, shown.iter().map(row))
}

/// How many figures there are of each instance.
fn tried(records: &[Record]) -> BTreeMap<Series<'_>, usize> {
    let mut tried = BTreeMap::new();
    for record in records {
        if let Some((threads, _)) = record.figure() {
            *tried.entry((&record.workload, &record.target, threads)).or_default() += 1;
        }
    }
    tried
}

/// `M=64,N=768`.
pub(super) fn instance(record: &Record) -> String {
    let Some(shape) = &record.workload.shape else { return "any".to_owned() };
    one_line(&wkl_text(shape)).into_owned()
}

/// `2,000 records, 3 of them failures: 2 crash, 1 timeout`, without the comma.
fn summary(records: &[Record]) -> String {
    let mut kinds: BTreeMap<&str, usize> = BTreeMap::new();
    for record in records {
        if let Outcome::Failed(failure) = &record.outcome {
            *kinds.entry(failure.kind()).or_default() += 1;
        }
    }
    let failures: usize = kinds.values().sum();
    let kinds: Vec<String> = kinds.iter().map(|(kind, count)| format!("{count} {kind}")).collect();
    let of_them = if failures == 0 { String::new() } else { format!(", {failures} failed: {}", kinds.join(", ")) };
    format!("{}{of_them}\n", counted(records.len(), "record"))
}
