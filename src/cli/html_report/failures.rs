//! What failed, by kind.

use std::collections::{BTreeMap, BTreeSet};

use dietcode::core::message::printable;
use dietcode::core::search::{Outcome, Record};
use maud::{Markup, html};

use super::kernels::button;
use super::subject::Subject;

/// Characters of a message.
const LONGEST: usize = 300;

/// Why there is no figure: the kind, and a sentence.
fn why(record: &Record) -> Option<(&str, String)> {
    match &record.outcome {
        Outcome::Failed(failure) => Some((failure.kind(), failure.to_string())),
        Outcome::Unknown { clean, asked, .. } => {
            Some(("unknown", format!("others took the cores: {clean} of {asked} samples count")))
        }
        Outcome::Measured { .. } | Outcome::Verdict { .. } | Outcome::Turns { .. } => None,
    }
}

/// How many records the section is about.
pub(super) fn count(subject: &Subject) -> usize {
    subject.records.iter().filter(|record| why(record).is_some()).count()
}

/// Bars with an example each.
pub(super) fn section(subject: &Subject) -> Markup {
    let mut kinds: BTreeMap<&str, Vec<(&Record, String)>> = BTreeMap::new();
    for record in &subject.records {
        if let Some((kind, message)) = why(record) {
            kinds.entry(kind).or_default().push((record, message));
        }
    }
    let mut kinds: Vec<(&str, Vec<(&Record, String)>)> = kinds.into_iter().collect();
    kinds.sort_by_key(|(_, records)| std::cmp::Reverse(records.len()));
    let most = kinds.first().map_or(1, |(_, records)| records.len());
    html! {
        @if kinds.is_empty() { p.good { "Nothing failed." } }
        @else { div.scroll { table.sortable.bars {
            thead { tr { th { "Kind" } th.n { "Records" } th.n { "Micro-kernels" } th { "The first" } th { "What it said" } } }
            tbody { @for (kind, records) in &kinds { @if let Some((record, message)) = records.first() { tr {
                td { (kind) }
                td.n.bar data-v=(records.len()) style=(format!("--share:{:.0}%", 100.0 * records.len() as f64 / most as f64)) { (records.len()) }
                td.n { (records.iter().map(|(record, _)| &record.name).collect::<BTreeSet<_>>().len()) }
                td { (button(subject, &record.name)) }
                td.message { (printable(&message.chars().take(LONGEST).collect::<String>())) }
            } } } }
        } } }
    }
}
