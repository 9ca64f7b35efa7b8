//! Where the figures are from.

use std::collections::{BTreeMap, BTreeSet};

use dietcode::core::dispatch::day;
use dietcode::core::message::printable;
use dietcode::core::search::{Record, Target};
use maud::{Markup, html};

use super::subject::Subject;

/// Runs that are listed, the last ones.
const RUNS: usize = 20;

/// A list of facts, and one of runs.
pub(super) fn section(subject: &Subject) -> Markup {
    let first = &subject.records[0];
    let mut runs: BTreeMap<&str, Vec<&Record>> = BTreeMap::new();
    subject.records.iter().for_each(|record| runs.entry(&record.run).or_default().push(record));
    let mut runs: Vec<(&str, Vec<&Record>)> = runs.into_iter().collect();
    runs.sort_by_key(|(_, records)| records.iter().map(|record| record.time).min());
    let left_out = runs.len().saturating_sub(RUNS);
    html! {
        dl.facts {
            @for (what, value) in facts(subject) { dt { (what) } dd { (printable(&value)) } }
            dt { "Hash of the nest" } dd { code { (printable(&first.workload.source_hash)) } }
            @for notice in &subject.notices { dt { "Missing" } dd.warn { (printable(notice)) } }
        }
        div.scroll { table.sortable {
            thead { tr { th { "Run" } th { "Began, UTC" } th.n { "Seconds" } th.n { "Trials" } th.n { "Records" } th.n { "Seed" } th { "Hash of the space" } } }
            tbody { @for (run, records) in runs.iter().skip(left_out) {
                @let times = records.iter().fold((u64::MAX, 0), |(first, last), record| (first.min(record.time), last.max(record.time)));
                @let trials = records.iter().map(|record| record.trial).collect::<BTreeSet<_>>().len();
                tr {
                    td { code { @if run.is_empty() { "no run" } @else { (printable(run)) } } }
                    td data-v=(times.0) { (time(times.0)) }
                    td.n { (times.1 - times.0) } td.n { (trials) } td.n { (records.len()) }
                    td.n { (records[0].seed) } td { code { (printable(&records[0].space_hash)) } }
                }
            } }
        } }
        @if left_out > 0 { p.note { (left_out) " earlier runs are left out." } }
        p.note { "Seconds are those between the first and the last record of a run." }
    }
}

fn facts(subject: &Subject) -> Vec<(&'static str, String)> {
    let mut facts = match &subject.target {
        Target::Cpu { cpu, march, compiler } => {
            vec![("CPU", cpu.clone()), ("-march", march.clone()), ("Compiler", compiler.clone())]
        }
        Target::Cuda { device, capability, driver, toolchain } => {
            let device = format!("{device} ({capability})");
            vec![("Device", device), ("Driver", driver.clone()), ("Toolchain", toolchain.clone())]
        }
    };
    if let Some(which) = subject.estimates() {
        facts.push(("Estimates of the model", format!("{which}: no such device was there")));
    }
    let files: Vec<String> = subject.files.iter().map(|file| file.display().to_string()).collect();
    facts.push(("Records", files.join(", ")));
    if let Some(nest) = &subject.nest {
        let search = &nest.setup.config.search;
        let trials = search.trials.map_or_else(String::new, |trials| format!(", {trials} trials"));
        facts.push(("Config", nest.setup.config.path.display().to_string()));
        facts.push(("Budget in the config", format!("{} s{trials}", search.seconds)));
        facts.push(("Strategy and model in the config", format!("{}, {}", search.strategy, search.model)));
    }
    if let Some(tuned) = &subject.tuned {
        let provenance = &tuned.provenance;
        facts.push(("Tuned file", format!("of {}, space {}", provenance.date, provenance.space_hash)));
        if !provenance.features.is_empty() {
            facts.push(("CPU features", provenance.features.join(" ")));
        }
    }
    facts.push(("Page by", format!("dietcode {}", env!("CARGO_PKG_VERSION"))));
    facts
}

/// `2026-11-23 22:04` of seconds since 1970.
fn time(seconds: u64) -> String {
    format!("{} {:02}:{:02}", day(seconds), seconds / 3600 % 24, seconds / 60 % 60)
}
