//! What a program reads: the machine and one row per figure.

use std::collections::BTreeMap;
use std::path::PathBuf;

use dietcode::Result;
use dietcode::core::config::WklInst;
use dietcode::core::cpu_features;
use dietcode::core::measure::Comparison;
use dietcode::core::search::Point;
use dietcode::core::target::CpuTarget;
use serde::Serialize;

use super::json::{JsonArgument, check_writable};
use super::plot::{self, Axis, Chart, threads_text};
use super::setup::wkl_text;

/// Where figures go beside the terminal.
#[derive(Debug, clap::Args)]
pub(crate) struct ReportFiles {
    #[command(flatten)]
    json: JsonArgument,
    /// Also draw the figures, as an SVG.
    #[arg(long, value_name = "FILE")]
    plot: Option<PathBuf>,
}

impl ReportFiles {
    /// Whether any was asked for.
    pub(crate) fn any(&self) -> bool {
        self.json.is_given() || self.plot.is_some()
    }

    /// Whether they can be written.
    pub(crate) fn check(&self) -> Result<()> {
        self.json.check()?;
        self.plot.iter().try_for_each(|path| check_writable(path))
    }

    /// As [`JsonArgument::print`].
    pub(crate) fn print(&self, text: &str) -> Result<()> {
        self.json.print(text)
    }
}

/// What `--json` writes.
#[derive(Debug, Serialize)]
pub(crate) struct Report {
    machine: Machine,
    /// What it took to find the kernels, if they were searched for.
    #[serde(skip_serializing_if = "Option::is_none")]
    search: Option<Effort>,
    rows: Vec<Row>,
}

/// What a search took.
#[derive(Debug, Serialize)]
pub(crate) struct Effort {
    /// From the start until everything was measured; without the comparison with others.
    pub(crate) seconds: f64,
    /// Candidates.
    pub(crate) tried: usize,
    /// Those of them whose outcome was on record, so that nothing was measured.
    pub(crate) known: usize,
}

#[derive(Debug, Serialize)]
struct Machine {
    cpu: String,
    cores: i64,
    features: Vec<&'static str>,
    march: String,
    compiler: String,
    l1_bytes: i64,
    l2_bytes: i64,
    l3_bytes: i64,
    /// The measured peak of fused multiply-adds, by number of threads.
    fma_peak_gflops: BTreeMap<String, f64>,
    clock: &'static str,
    caches: &'static str,
}

#[derive(Debug, Serialize)]
struct Row {
    wkl: WklInst,
    threads: usize,
    #[serde(rename = "impl")]
    implementation: String,
    gflops_median: f64,
    gflops_iqr: f64,
    rel_err: f64,
    /// The micro-kernel; null for others than dietcode.
    kernel: Option<String>,
}

impl Report {
    /// Without rows.
    pub(crate) fn new(target: &CpuTarget) -> Report {
        let machine = Machine {
            cpu: target.model.clone(),
            cores: target.cores,
            features: cpu_features::names(target.features),
            march: target.march.clone(),
            compiler: target.compiler.clone(),
            l1_bytes: target.l1_bytes,
            l2_bytes: target.l2_bytes,
            l3_bytes: target.l3_bytes,
            fma_peak_gflops: BTreeMap::new(),
            clock: "CLOCK_MONOTONIC",
            caches: "warm",
        };
        Report { machine, search: None, rows: Vec::new() }
    }

    /// Notes what the search took.
    pub(crate) fn set_effort(&mut self, effort: Effort) {
        self.search = Some(effort);
    }

    /// Adds everybody of a comparison who has a figure; `called` gives the name a contestant is reported under, if any,
    /// and its micro-kernel.
    pub(crate) fn add(
        &mut self,
        point: &Point,
        comparison: &Comparison,
        called: impl Fn(&str) -> Option<(String, Option<String>)>,
    ) {
        for standing in &comparison.standings {
            let (Ok(sample), Some((implementation, kernel))) = (&standing.outcome, called(&standing.name)) else {
                continue;
            };
            let gflops = sample.gflops(point.instance.flops);
            self.rows.push(Row {
                wkl: point.wkl.clone(),
                threads: comparison.threads,
                implementation,
                gflops_median: gflops.median,
                gflops_iqr: gflops.iqr,
                rel_err: sample.rel_err,
                kernel,
            });
        }
    }

    /// Notes the peak: the highest of the comparisons at each number of threads. What disturbs a measurement only ever makes
    /// it lower.
    pub(crate) fn set_peaks<'a>(&mut self, comparisons: impl Iterator<Item = &'a Comparison>) {
        for (threads, peak) in comparisons.filter_map(|comparison| Some((comparison.threads, comparison.peak?))) {
            let highest = self.machine.fma_peak_gflops.entry(threads.to_string()).or_insert(peak);
            *highest = highest.max(peak);
        }
    }

    /// The peak at a number of threads.
    pub(crate) fn peak(&self, threads: usize) -> Option<f64> {
        self.machine.fma_peak_gflops.get(&threads.to_string()).copied()
    }

    /// Writes the files that were asked for.
    pub(crate) fn write(&self, files: &ReportFiles) -> Result<()> {
        files.json.write(self)?;
        files.plot.iter().try_for_each(|path| plot::write(&self.charts(), path))
    }

    /// One chart for each number of threads.
    fn charts(&self) -> Vec<Chart> {
        let mut charts: Vec<Chart> = Vec::new();
        for row in &self.rows {
            let caption = format!("GFLOP/s on {}", threads_text(row.threads));
            let at = charts.iter().position(|chart| chart.caption == caption).unwrap_or_else(|| {
                let (peak, axis) = (self.peak(row.threads), Axis::Shapes(Vec::new()));
                charts.push(Chart { caption, peak, axis, lines: BTreeMap::new() });
                charts.len() - 1
            });
            let chart = &mut charts[at];
            let Axis::Shapes(shapes) = &mut chart.axis else { continue };
            let shape = wkl_text(&row.wkl);
            let position = shapes.iter().position(|known| *known == shape).unwrap_or_else(|| {
                shapes.push(shape);
                shapes.len() - 1
            });
            chart.lines.entry(row.implementation.clone()).or_default().push((position, row.gflops_median));
        }
        charts
    }
}
