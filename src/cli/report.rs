//! What a program reads: the machine and one row per figure.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::time::Instant;

use dietcode::core::config::{Cache, WklInst};
use dietcode::core::cpu_features;
use dietcode::core::machine::CpuTarget;
use dietcode::core::measure::{self, Comparison, Device, Standing};
use dietcode::core::search::{Found, WorkloadInstance};
use dietcode::{Error, Result};
use serde::Serialize;

use super::counted;
use super::json::{JsonArgument, check_writable};
use super::plot::{self, Chart, PlotAxis};
use super::setup::wkl_text;
use super::table::place;

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

    /// Writes those that were asked for.
    pub(crate) fn write(&self, value: &impl Serialize, charts: impl Fn() -> Vec<Chart>) -> Result<()> {
        self.json.write(value)?;
        self.plot.iter().try_for_each(|path| plot::write(&charts(), 1, path).map_err(Error::unavailable))
    }
}

/// What `--json` writes.
#[derive(Debug, Serialize)]
pub(crate) struct Report {
    machine: Place,
    /// Whether figures are a model's: nothing was timed.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(crate) estimated: bool,
    /// What it took to find the kernels, if they were searched for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) search: Option<Effort>,
    in_use: InUse,
    rows: Vec<Row>,
}

/// What speaks for others having used the machine meanwhile, so that figures are lower than they would be.
#[derive(Debug, Default, Serialize)]
struct InUse {
    /// Comparisons, each of an instance at a number of threads.
    comparisons: usize,
    /// Those of them in which something has no figure, since others took the cores too often.
    unknown: usize,
    /// Numbers of threads whose peak is not plausible: below what was measured of a kernel, or far below as many times that of
    /// one thread as they have cores.
    low_peaks: BTreeSet<usize>,
}

/// Cores that all work run more slowly than one alone, and yet at more than this share.
const PEAK_SHARE: f64 = 0.6;

/// Figures are medians, and may be so much above a peak, which is one too.
const ABOVE_PEAK: f64 = 1.05;

/// When a search began and ended.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SearchTime {
    pub(crate) start: Instant,
    /// From there to its end.
    pub(crate) seconds: f64,
    /// What it and the comparison may take; none where another limit was given alone.
    pub(crate) budget: Option<f64>,
}

/// What a search took.
#[derive(Debug, Serialize)]
pub(crate) struct Effort {
    /// From the start until everything was measured; without the comparison with others.
    pub(crate) seconds: f64,
    /// From the start until what was found is written, the comparison included.
    pub(crate) whole_seconds: f64,
    /// What it may take; none where only the number of its trials was given.
    pub(crate) budget: Option<f64>,
    /// Candidates beside the defaults.
    pub(crate) tried: usize,
    /// Those of them whose outcome was on record, so that nothing was measured.
    pub(crate) known: usize,
    /// Trials a second: new structures that were checked and timed, from the start to the last of them.
    pub(crate) trials_per_second: f64,
    /// How many register tiles are among those of a second: in nine of ten seconds at least so many.
    pub(crate) register_tiles_per_second: usize,
}

impl Effort {
    /// Of a search that has ended, and what followed until now.
    pub(crate) fn of(found: &Found, time: &SearchTime) -> Effort {
        Effort {
            seconds: time.seconds,
            whole_seconds: time.start.elapsed().as_secs_f64(),
            budget: time.budget,
            tried: found.tried,
            known: found.known,
            trials_per_second: found.pace.trials_per_second(),
            register_tiles_per_second: found.pace.register_tiles_per_second(),
        }
    }

    /// A sentence of it.
    pub(crate) fn text(&self) -> String {
        let Effort { tried, seconds, trials_per_second, register_tiles_per_second, .. } = self;
        format!(
            "{tried} candidates in {seconds:.0} s: {trials_per_second:.1} trials a second, {register_tiles_per_second} register \
             tiles among them\n"
        )
    }
}

/// A CPU, or a GPU.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub(crate) enum Place {
    Cpu(Box<Machine>),
    Gpu(measure::Machine),
}

#[derive(Debug, Serialize)]
pub(crate) struct Machine {
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

impl Place {
    /// A CPU, and what its caches hold before a call.
    pub(crate) fn of_cpu(target: &CpuTarget, cache: Cache) -> Place {
        Place::Cpu(Box::new(Machine {
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
            caches: cache.name(),
        }))
    }
}

impl Report {
    /// Without rows.
    pub(crate) fn new(device: &dyn Device, cache: Cache) -> Report {
        let estimated = device.is_estimating();
        let machine =
            device.cpu().map_or_else(|| Place::Gpu(device.machine().clone()), |cpu| Place::of_cpu(cpu, cache));
        Report { machine, estimated, search: None, in_use: InUse::default(), rows: Vec::new() }
    }

    /// Adds all implementations of a comparison that have a figure; `called` gives the name an implementation is reported under, if any,
    /// and its micro-kernel.
    pub(crate) fn add(
        &mut self,
        workload: &WorkloadInstance,
        comparison: &Comparison,
        called: impl Fn(&str) -> Option<(String, Option<String>)>,
    ) {
        for standing in &comparison.standings {
            let (Ok(sample), Some((implementation, kernel))) = (&standing.outcome, called(&standing.name)) else {
                continue;
            };
            let gflops = sample.gflops(workload.instance.flops);
            if self.peak(comparison.threads).is_some_and(|peak| gflops.median > ABOVE_PEAK * peak) {
                self.in_use.low_peaks.insert(comparison.threads);
            }
            self.rows.push(Row {
                wkl: workload.wkl.clone(),
                threads: comparison.threads,
                implementation,
                gflops_median: gflops.median,
                gflops_iqr: gflops.iqr,
                rel_err: sample.rel_err,
                kernel,
            });
        }
    }

    /// Notes the peak at each number of threads: the highest of all comparisons, since what disturbs a measurement only ever makes it
    /// lower. `apart` tells how many cores so many threads have.
    pub(crate) fn set_peaks<'a>(
        &mut self,
        comparisons: impl Iterator<Item = &'a Comparison>,
        apart: impl Fn(usize) -> usize,
    ) {
        let mut peaks: BTreeMap<usize, f64> = BTreeMap::new();
        for comparison in comparisons {
            self.in_use.comparisons += 1;
            self.in_use.unknown += usize::from(comparison.standings.iter().any(Standing::is_unknown));
            let Some(peak) = comparison.peak else { continue };
            let highest = peaks.entry(comparison.threads).or_insert(peak);
            *highest = highest.max(peak);
        }
        let one = peaks.get(&1).copied().unwrap_or(0.0);
        let is_low = |(threads, peak): &(&usize, &f64)| **peak < PEAK_SHARE * one * apart(**threads) as f64;
        self.in_use.low_peaks = peaks.iter().filter(is_low).map(|(threads, _)| *threads).collect();
        if let Place::Cpu(machine) = &mut self.machine {
            let peaks = peaks.iter().map(|(threads, peak)| (threads.to_string(), *peak));
            machine.fma_peak_gflops = peaks.collect();
        }
    }

    /// A line that says that others used the machine, if they did.
    pub(crate) fn in_use(&self) -> Option<String> {
        let InUse { comparisons, unknown, low_peaks } = &self.in_use;
        let unknown = (*unknown > 0)
            .then(|| format!("others took the cores too often for a figure in {unknown} of {comparisons} comparisons"));
        let low = low_peaks.iter().filter_map(|threads| {
            Some(format!(
                "the peak on {}, {:.1} GFLOP/s, is not plausible",
                counted(*threads, "thread"),
                self.peak(*threads)?
            ))
        });
        let why: Vec<String> = unknown.into_iter().chain(low).collect();
        (!why.is_empty())
            .then(|| format!("This machine was in use: {}; measure again when nothing else runs.\n", why.join(", ")))
    }

    /// The peak at a number of threads.
    pub(crate) fn peak(&self, threads: usize) -> Option<f64> {
        match &self.machine {
            Place::Cpu(machine) => machine.fma_peak_gflops.get(&threads.to_string()).copied(),
            Place::Gpu(_) => None,
        }
    }

    /// Writes the files that were asked for.
    pub(crate) fn write(&self, files: &ReportFiles) -> Result<()> {
        files.write(self, || self.charts())
    }

    /// One chart for each number of threads.
    fn charts(&self) -> Vec<Chart> {
        let mut charts: Vec<Chart> = Vec::new();
        for row in &self.rows {
            let caption = format!("GFLOP/s on {}", place(row.threads));
            let at = charts.iter().position(|chart| chart.caption == caption).unwrap_or_else(|| {
                let (peak, axis) = (self.peak(row.threads), PlotAxis::Shapes(Vec::new()));
                charts.push(Chart { caption, peak, axis, lines: BTreeMap::new() });
                charts.len() - 1
            });
            let chart = &mut charts[at];
            let PlotAxis::Shapes(shapes) = &mut chart.axis else { continue };
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
#[cfg(test)]
mod tests {
    use dietcode::core::machine::Target;
    use dietcode::core::measure::{Failure, Instance, Sample, SimulatedDevice};
    use dietcode::core::syntax::{KernelDef, scan};

    use super::*;

    /// A report of comparisons by threads, peak, and clean samples of the nine that were asked for.
    fn report(comparisons: &[(usize, f64, usize)]) -> Report {
        let comparisons: Vec<Comparison> = comparisons
            .iter()
            .map(|(threads, peak, clean)| {
                let outcome = match clean {
                    9 => Ok(Sample { seconds: vec![0.1; 9], rel_err: 0.0, nearest: None, conditions: Vec::new() }),
                    _ => Err(Failure::Unknown { clean: *clean, asked: 9 }),
                };
                let standings = vec![Standing { name: "dietcode".into(), outcome }];
                Comparison { threads: *threads, cache: Cache::Warm, standings, peak: Some(*peak) }
            })
            .collect();
        let device = SimulatedDevice::new(def(), Target::Cpu(target()), Box::new(|_, _, _| Ok(1.0)));
        let mut report = Report::new(&device, Cache::Warm);
        report.set_peaks(comparisons.iter(), |threads| threads.min(2));
        report
    }

    fn def() -> KernelDef {
        let nest = "#[dynamic_kernel] pub fn f(x: &[f32; N], y: &mut [f32; N]) { for i in 0..N { y[i] = x[i]; } }";
        scan(nest).unwrap()[0].parse().unwrap()
    }

    fn target() -> CpuTarget {
        CpuTarget {
            model: "a CPU".into(),
            cores: 4,
            features: 0,
            march: "native".into(),
            compiler: "gcc 12".into(),
            vector_bytes: 32,
            vector_registers: 16,
            l1_bytes: 0,
            l2_bytes: 0,
            l3_bytes: 0,
        }
    }

    #[test]
    fn a_machine_that_nobody_else_uses_needs_no_words() {
        let quiet = report(&[(1, 115.0, 9), (2, 210.0, 9), (4, 200.0, 9)]);
        assert_eq!(quiet.in_use(), None, "four threads have two cores");
    }

    #[test]
    fn two_threads_that_reach_no_more_than_one_are_told() {
        let used = report(&[(1, 115.0, 9), (2, 112.0, 9)]);
        let line = used.in_use().unwrap();
        assert!(line.contains("the peak on 2 threads, 112.0 GFLOP/s, is not plausible"), "{line}");
        assert_eq!(serde_json::to_value(&used).unwrap()["in_use"]["low_peaks"], serde_json::json!([2]));
    }

    #[test]
    fn a_kernel_that_is_faster_than_the_peak_is_told() {
        let mut used = report(&[(1, 7.1, 9)]);
        let workload = workload(1e9);
        let sample = Sample { seconds: vec![0.1], rel_err: 0.0, nearest: None, conditions: Vec::new() };
        let standings = vec![Standing { name: "dietcode".into(), outcome: Ok(sample) }];
        let comparison = Comparison { threads: 1, cache: Cache::Warm, standings, peak: Some(7.1) };
        used.add(&workload, &comparison, |name| Some((name.to_owned(), None)));
        let line = used.in_use().unwrap();
        assert!(line.contains("the peak on 1 thread, 7.1 GFLOP/s, is not plausible"), "{line}");
    }

    /// An instance of so many operations.
    fn workload(flops: f64) -> WorkloadInstance {
        let instance = Instance { flops, ..Instance::of(&def(), &[1]).unwrap() };
        WorkloadInstance { wkl: WklInst::default(), weight: 1.0, instance }
    }

    #[test]
    fn comparisons_without_a_figure_are_counted_and_have_no_row() {
        let used = report(&[(2, 200.0, 8), (2, 205.0, 9), (1, 60.0, 0), (1, 110.0, 1)]);
        assert_eq!((used.peak(1), used.peak(2)), (Some(110.0), Some(205.0)));
        let line = used.in_use().unwrap();
        assert!(line.contains("in 3 of 4 comparisons") && line.lines().count() == 1, "{line}");
    }
}
