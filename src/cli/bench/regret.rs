//! `dietcode bench --regret N`: how much longer what is dispatched takes than the best of all micro-kernels that could be, over the
//! config's range, and how fast it is beside libraries.

use std::collections::BTreeMap;

use dietcode::core::config::{Cache, WklInst};
use dietcode::core::dispatch::{DEFAULT, PICK, Winners, drawn};
use dietcode::core::measure::{Baselines, Comparison, CpuHarness, Device, Finalist, Instance, Timing, compare};
use dietcode::core::paired::{Verdict, gains, look, median};
use dietcode::core::search::WorkloadInstance;
use dietcode::tuning::resolve_threads;
use dietcode::{Error, Result};
use serde::Serialize;

use super::{Arguments, complain, dispatched};
use crate::cli::counted;
use crate::cli::plot::{Chart, PlotAxis};
use crate::cli::progress::Progress;
use crate::cli::setup::{Setup, wkl_text};
use crate::cli::table::{Legend, grid, place};

/// Thirty-two rounds, which are sixteen pairs: enough for certainty against eight others. Of calls that take longer than 0.1 s one pair.
const TIMING: Timing = Timing::warm(32, 0.0, 0.1);

/// Shapes of more operations are not drawn.
const MOST_OPERATIONS: f64 = 2e9;

/// What their names begin with among the finalists.
const LIBRARIES: [&str; 2] = ["blas", "matrixmultiply"];

/// So many shapes are listed, the worst first.
const LISTED: usize = 10;

/// What is written as JSON.
#[derive(Debug, Serialize)]
struct Measured {
    /// Over all shapes and numbers of threads.
    mean: f64,
    worst: f64,
    /// The least ratio of a library; none: no library has the kernel.
    #[serde(skip_serializing_if = "Option::is_none")]
    least_of_library: Option<f64>,
    shapes: Vec<AtShape>,
}

/// A shape at a number of threads.
#[derive(Debug, Serialize)]
struct AtShape {
    wkl: WklInst,
    threads: usize,
    /// What the decision tree picks.
    kernel: String,
    /// The fastest; the same where none is faster.
    best: String,
    /// The time of what is dispatched over the fastest's, 1 or more.
    regret: f64,
    /// Whether that is more than 2% for certain.
    certain: bool,
    gflops: f64,
    gflops_of_best: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    library: Option<Library>,
}

/// The fastest library at a shape.
#[derive(Debug, Serialize)]
struct Library {
    name: String,
    /// Its time over that of what is dispatched.
    ratio: f64,
}

/// Measures so many shapes, and shows the worst.
pub(super) fn run(
    arguments: &Arguments,
    setup: &Setup,
    harness: &mut CpuHarness,
    winners: &Winners,
    count: usize,
) -> Result<()> {
    let workloads = workloads(setup, (count, arguments.seed.unwrap_or(0)))?;
    let own = dispatched(harness, winners, PICK.to_owned())?;
    let single = |at: usize| -> Result<Finalist> {
        let name = winners.schedules[at].name();
        let (schedules, lowered) = (vec![winners.schedules[at].clone()], vec![winners.lowered[at].clone()]);
        let alone = Winners {
            schedules,
            lowered,
            decision: dietcode::core::codegen::registry::Decision::Pick(0),
            ..winners.clone()
        };
        dispatched(harness, &alone, name)
    };
    let members = (0..winners.schedules.len()).map(single).collect::<Result<Vec<Finalist>>>()?;
    let default = Winners::default_for(&setup.program, harness.cpu());
    let default = (dispatched(harness, &default, DEFAULT.to_owned())?, default);
    let blas = arguments.blas.find(harness)?;
    let baselines = Baselines::new(harness, blas)?;
    let timing = Timing { cold: setup.config.search.cache == Cache::Cold, ..TIMING };
    let threads = resolve_threads(&arguments.threads, harness.cpu().cores);
    let mut progress = Progress::new(f64::MAX);
    let (mut shapes, mut failed) = (Vec::new(), 0);
    for threads in &threads {
        for workload in &workloads {
            let kernel = winners.schedules[winners.decision.pick(&workload.instance.shape)].name();
            let of_default = default.1.schedules[default.1.decision.pick(&workload.instance.shape)].name();
            let is_new = members.iter().all(|member| member.name != of_default);
            let mut finalists = vec![own.clone()];
            finalists.extend(members.iter().filter(|member| member.name != kernel).cloned());
            finalists.extend(Some(default.0.clone()).filter(|_| is_new));
            let libraries = baselines.finalists(harness.def(), &workload.instance);
            finalists.extend(libraries.into_iter().filter(|finalist| is_library(&finalist.name)));
            let comparison = compare(harness, &workload.instance, &finalists, *threads, timing)?;
            complain(workload, &comparison, &progress);
            failed += comparison.standings.iter().filter(|s| s.name == PICK && s.has_failed()).count();
            shapes.extend(at_shape(workload, kernel, &comparison));
            progress.compared(shapes.len(), threads * workloads.len());
        }
    }
    progress.finish();
    if shapes.is_empty() && failed == 0 {
        return Err(Error::unavailable("--regret: found no shape that could be measured"));
    }
    if shapes.is_empty() {
        return Err(failed_at(failed));
    }
    let mean = shapes.iter().map(|at| at.regret).sum::<f64>() / shapes.len() as f64;
    let worst = shapes.iter().map(|at| at.regret).fold(1.0, f64::max);
    let ratios = shapes.iter().filter_map(|at| Some(at.library.as_ref()?.ratio));
    let least_of_library = ratios.reduce(f64::min);
    let measured = Measured { mean, worst, least_of_library, shapes };
    arguments.files.print(&text(&measured))?;
    arguments.files.write(&measured, || threads.iter().map(|threads| chart(&measured, *threads)).collect())?;
    if failed > 0 { Err(failed_at(failed)) } else { Ok(()) }
}

/// The nest as it stands is none.
fn is_library(name: &str) -> bool {
    LIBRARIES.iter().any(|library| name.starts_with(library))
}

fn failed_at(measurements: usize) -> Error {
    Error::check(format!("the kernel failed on {}", counted(measurements, "measurement")))
}

/// Shapes of the range at which there is something to time.
fn workloads(setup: &Setup, draw: (usize, u64)) -> Result<Vec<WorkloadInstance>> {
    let accept = |shape: &[i64]| {
        let instance = Instance::of(&setup.def, shape);
        instance.is_ok_and(|instance| !instance.computes_nothing() && instance.flops <= MOST_OPERATIONS)
    };
    drawn(&setup.config, &setup.vars, draw, accept).iter().map(|wkl| setup.workload(wkl, 1.0)).collect()
}

/// What a comparison says; nothing where what is dispatched has no figure.
fn at_shape(workload: &WorkloadInstance, kernel: String, comparison: &Comparison) -> Option<AtShape> {
    let own = comparison.sample(PICK)?;
    let others = comparison.standings.iter().filter(|standing| standing.name != PICK);
    let (libraries, rivals): (Vec<_>, Vec<_>) = others
        .filter_map(|rival| Some((rival.name.as_str(), gains(&rival.outcome.as_ref().ok()?.seconds, &own.seconds))))
        .partition(|(name, _)| is_library(name));
    let library =
        |(name, gains): (&str, Vec<f64>)| Some(Library { name: name.to_owned(), ratio: (-median(gains)?).exp() });
    let library = libraries.into_iter().filter_map(library).min_by(|a, b| a.ratio.total_cmp(&b.ratio));
    let ahead = rivals
        .iter()
        .map(|(name, gains)| (*name, median(gains.clone()).unwrap_or_default(), look(gains, rivals.len())));
    let best = ahead.max_by(|a, b| a.1.total_cmp(&b.1)).filter(|(_, gain, _)| *gain > 0.0);
    let gflops = |name: &str| comparison.sample(name).map_or(0.0, |s| s.gflops(workload.instance.flops).median);
    Some(AtShape {
        wkl: workload.wkl.clone(),
        threads: comparison.threads,
        regret: best.map_or(1.0, |(_, gain, _)| gain.exp()),
        certain: best.is_some_and(|(_, _, verdict)| verdict == Some(Verdict::Wins)),
        gflops: gflops(PICK),
        gflops_of_best: gflops(best.map_or(PICK, |(name, ..)| name)),
        best: best.map_or_else(|| kernel.clone(), |(name, ..)| name.to_owned()),
        kernel,
        library,
    })
}

fn text(measured: &Measured) -> String {
    let mut worst: Vec<&AtShape> = measured.shapes.iter().collect();
    worst.sort_by(|a, b| b.regret.total_cmp(&a.regret));
    let mut legend = Legend::default();
    let mut row = |at: &&AtShape| {
        let certain = if at.certain { "yes" } else { "no" };
        let [kernel, best] = [&at.kernel, &at.best].map(|name| legend.letter(name));
        [wkl_text(&at.wkl), place(at.threads), kernel, best, format!("{:.3}", at.regret), certain.to_owned()]
    };
    let rows: Vec<[String; 6]> = worst.iter().take(LISTED).map(&mut row).collect();
    let table = grid(["shape", "on", "dispatched", "best", "regret", "certain"], rows);
    let certain = measured.shapes.iter().filter(|at| at.certain).count();
    let least = measured.shapes.iter().filter_map(|at| Some((at, at.library.as_ref()?)));
    let least = least.min_by(|(_, a), (_, b)| a.ratio.total_cmp(&b.ratio));
    let library = least.map_or_else(String::new, |(at, Library { name, ratio })| {
        format!("{ratio:.3} times as fast as {name} at the least, at {} on {}\n", wkl_text(&at.wkl), place(at.threads))
    });
    format!(
        "\nTime of what is dispatched over that of the best micro-kernel, by pairs at {}: the worst\n{table}\n{}\
         {:.3} in the mean, {:.3} at worst; more than 2% for certain at {certain}\n{library}",
        counted(measured.shapes.len(), "shape"),
        legend.text(),
        measured.mean,
        measured.worst
    )
}

/// Both over the shapes, those of fewest operations a second first.
fn chart(measured: &Measured, threads: usize) -> Chart {
    let mut all: Vec<&AtShape> = measured.shapes.iter().filter(|at| at.threads == threads).collect();
    all.sort_by(|a, b| a.gflops_of_best.total_cmp(&b.gflops_of_best));
    let line = |figure: fn(&AtShape) -> f64| all.iter().map(|at| figure(at)).enumerate().collect::<Vec<_>>();
    let lines = [("dispatched", line(|at| at.gflops)), ("best", line(|at| at.gflops_of_best))];
    let lines: BTreeMap<String, Vec<(usize, f64)>> = lines.map(|(name, line)| (name.to_owned(), line)).into();
    let names = all.iter().map(|at| wkl_text(&at.wkl)).collect();
    Chart { caption: format!("GFLOP/s on {}", place(threads)), peak: None, axis: PlotAxis::Shapes(names), lines }
}
