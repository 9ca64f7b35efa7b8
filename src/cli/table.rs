//! What a person reads: one table per number of threads.

use std::collections::BTreeMap;

use comfy_table::presets::UTF8_FULL_CONDENSED;
use comfy_table::{Cell, CellAlignment, Row, Table};
use dietcode::core::config::Cache;
use dietcode::core::measure::{Baselines, Comparison, Standing};
use dietcode::core::search::WorkloadInstance;

use super::counted;
use super::report::Report;
use super::setup::wkl_text;

/// A comparison with what else stands in its row.
pub(crate) struct Line<'a> {
    pub(crate) workload: &'a WorkloadInstance,
    pub(crate) comparison: &'a Comparison,
    /// The implementation whose figure is the kernel's.
    pub(crate) own: &'a str,
    /// The micro-kernel's name.
    pub(crate) kernel: String,
    /// What the cost model expects, in GFLOP/s.
    pub(crate) predicted: Option<f64>,
}

/// Long names have a letter in the tables and a line below them.
#[derive(Default)]
pub(crate) struct Legend(BTreeMap<String, String>);

impl Legend {
    /// The letter of a name, the next one for a new name.
    pub(crate) fn letter(&mut self, name: &str) -> String {
        let next = self.0.len();
        let letter =
            || char::from_u32('A' as u32 + next as u32).filter(|_| next < 26).map_or(format!("#{next}"), String::from);
        self.0.entry(name.to_owned()).or_insert_with(letter).clone()
    }

    /// A line for each letter.
    pub(crate) fn text(&self) -> String {
        let mut lines: Vec<String> = self.0.iter().map(|(name, letter)| format!("  {letter}  {name}\n")).collect();
        lines.sort();
        lines.concat()
    }
}

/// A table with these columns and rows, whose cells stand at the right.
pub(crate) fn grid<R: IntoIterator<Item = String>>(head: impl Into<Row>, rows: impl IntoIterator<Item = R>) -> Table {
    let mut table = Table::new();
    table.load_style(UTF8_FULL_CONDENSED).set_header(head);
    let right = |text| Cell::new(text).set_alignment(CellAlignment::Right);
    table.add_rows(rows.into_iter().map(|row| row.into_iter().map(right)));
    table
}

/// The table of some comparisons at one number of threads; `others` are the columns beside the kernel's own.
pub(crate) fn table(lines: &[Line<'_>], others: &[String], report: &Report, legend: &mut Legend) -> String {
    let is_predicted = lines.iter().any(|line| line.predicted.is_some());
    let mut head = vec!["instance", "kernel", "predicted", "measured", "± IQR", "of peak"];
    head.extend(is_predicted.then_some("of predicted"));
    let row = |line: &Line<'_>| {
        let measured = line.comparison.sample(line.own).map(|s| s.gflops(line.workload.instance.flops));
        let peak = report.peak(line.comparison.threads).or(line.comparison.peak);
        let share = |of: Option<f64>| {
            let share = measured.zip(of.filter(|of| *of > 0.0)).map(|(m, of)| format!("{:.0}%", 100.0 * m.median / of));
            share.unwrap_or_else(|| "–".into())
        };
        let mut row = vec![wkl_text(&line.workload.wkl), legend.letter(&line.kernel)];
        row.push(gflops(line.predicted));
        let is_there = line.comparison.standings.iter().any(|standing| standing.name == line.own);
        row.push(if is_there { cell(line, line.own) } else { "–".into() });
        row.push(gflops(measured.map(|m| m.iqr)));
        row.push(share(peak));
        row.extend(is_predicted.then(|| share(line.predicted)));
        row.extend(others.iter().map(|name| cell(line, name)));
        row
    };
    let head: Vec<&str> = head.into_iter().chain(others.iter().map(String::as_str)).collect();
    let table = grid(head, lines.iter().map(row));
    let threads = lines.first().map_or(1, |line| line.comparison.threads);
    let peak =
        report.peak(threads).map_or(String::new(), |peak| format!("; the peak of fused multiply-adds is {peak:.1}"));
    let on = place(threads);
    let how = if report.estimated {
        "estimates of the model, nothing was timed"
    } else {
        // All lines are of one config.
        match lines.first().map_or(Cache::Warm, |line| line.comparison.cache) {
            Cache::Warm => "medians, warm caches, measured by turns",
            Cache::Rotated => "medians, other inputs in each call, measured by turns",
            Cache::Cold => "medians, cold caches, measured by turns",
        }
    };
    let mut text = format!("\nGFLOP/s on {on}: {how}{peak}\n{table}\n");
    let partial = |name: &&String| lines.iter().any(|line| Baselines::times_part(name, &line.workload.instance));
    for name in others.iter().filter(partial) {
        text += &format!("{name}: timed on a part of its iterations where a call is long, and scaled to all\n");
    }
    text
}

/// `1 thread`, `2 threads`; where there are none to choose, `a GPU`.
pub(crate) fn place(threads: usize) -> String {
    if threads == 0 { "a GPU".to_owned() } else { counted(threads, "thread") }
}

/// The throughput of one of the others, or why it has none.
fn cell(line: &Line<'_>, name: &str) -> String {
    let standing = line.comparison.standings.iter().find(|standing| standing.name == name);
    match standing {
        Some(Standing { outcome: Ok(sample), .. }) => gflops(Some(sample.gflops(line.workload.instance.flops).median)),
        Some(Standing { outcome: Err(failure), .. }) => failure.kind().to_owned(),
        None if line.workload.instance.is_empty() => "–".to_owned(),
        None if name == "blas" => "none found".to_owned(),
        None => "no matmul".to_owned(),
    }
}

/// A throughput, as a table has it.
pub(crate) fn gflops(value: Option<f64>) -> String {
    value.map_or_else(
        || "–".to_owned(),
        |value| if value < 10.0 { format!("{value:.2}") } else { format!("{value:.1}") },
    )
}
