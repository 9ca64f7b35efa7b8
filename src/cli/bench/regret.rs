//! `dietcode bench --regret N`: how much longer what is dispatched takes than the best of all micro-kernels that could be, over the
//! config's range, and how fast it is beside libraries.

use std::collections::{BTreeMap, BTreeSet};

use dietcode::core::codegen::registry::Decision;
use dietcode::core::config::{Cache, WklInst};
use dietcode::core::cost_model::cpu::Profile;
use dietcode::core::dispatch::{PICK, Winners, drawn};
use dietcode::core::machine::Target;
use dietcode::core::measure::{Baselines, Comparison, CpuHarness, Device, Finalist, Instance, Timing, compare};
use dietcode::core::paired::{Verdict, gains, look, median};
use dietcode::core::search::{WorkloadInstance, best_on_record};
use dietcode::core::sketch::{Lowered, MicroKernel};
use dietcode::tuning::{records_path, resolve_threads};
use dietcode::{Error, Result};
use serde::Serialize;

use super::{Arguments, complain, dispatched};
use crate::cli::plot::{Chart, PlotAxis};
use crate::cli::progress::Progress;
use crate::cli::setup::{Setup, wkl_text};
use crate::cli::table::{Legend, grid, place};
use crate::cli::{counted, tell};

/// The most rounds, which are sixteen pairs: enough for certainty against eight others.
const ROUNDS: usize = 32;

/// The fewest, however long calls take: two pairs.
const FEWEST: usize = 4;

/// So many seconds of further rounds at a shape: two hundred of them on two numbers of threads take about half an hour.
const SECONDS: f64 = 3.0;

/// A call that takes longer, in seconds, is made once more, and that is all.
const SLOW: f64 = 0.5;

/// Who takes so many times as long as what is dispatched by the fewest rounds is not the best, and has no more of them.
const BEHIND: f64 = 1.3;

/// Who is expected to take so many times as long as what is dispatched is not called: the nest as it stands may take minutes.
const HOPELESS: f64 = 8.0;

/// Results of more operations are not compared with a reference, which takes longer than all calls: code is checked at smaller shapes.
const CHECKED: f64 = 1e9;

/// So many micro-kernels on record are measured beside those that are dispatched.
const RECORDED: usize = 4;

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
    /// Those that were called at some shape.
    libraries: BTreeSet<String>,
    shapes: Vec<AtShape>,
    /// Shapes without a figure, as others took the cores from one that may be the best.
    unknown: Vec<Unknown>,
    /// How many shapes of more operations were left out, of those that were drawn.
    left_out: usize,
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

/// A shape at a number of threads, of which nothing is known.
#[derive(Debug, Serialize)]
struct Unknown {
    wkl: WklInst,
    threads: usize,
    /// Who has no figure.
    name: String,
}

/// A micro-kernel that is measured alone.
struct Rival {
    finalist: Finalist,
    lowered: Lowered,
}

/// Measures so many shapes, and shows the worst.
pub(super) fn run(
    arguments: &Arguments,
    setup: &Setup,
    harness: &mut CpuHarness,
    winners: &Winners,
    count: usize,
) -> Result<()> {
    let (workloads, left_out) = workloads(arguments, setup, count)?;
    let own = dispatched(harness, winners, PICK.to_owned())?;
    let rivals = rivals(setup, harness, winners)?;
    let blas = arguments.blas.find(harness)?;
    let baselines = Baselines::new(harness, blas)?;
    let cache = setup.config.search.cache;
    let threads = resolve_threads(&arguments.threads, harness.cpu().cores);
    let all = threads.len() * workloads.len();
    let mut progress = Progress::new(f64::MAX);
    let (mut shapes, mut unknown, mut libraries, mut failed) = (Vec::new(), Vec::new(), BTreeSet::new(), 0);
    for workload in &workloads {
        for threads in &threads {
            let row = winners.decision.pick(&workload.instance.shape);
            let kernel = winners.schedules[row].name();
            let hopeful = hopeful(harness, (&winners.lowered[row], &kernel), &rivals, (workload, *threads));
            let of_libraries = baselines.finalists(harness.def(), &workload.instance);
            let of_libraries = of_libraries.into_iter().filter(|finalist| is_library(&finalist.name));
            let finalists: Vec<Finalist> = [own.clone()].into_iter().chain(hopeful).chain(of_libraries).collect();
            libraries.extend(finalists.iter().filter(|f| is_library(&f.name)).map(|f| f.name.clone()));
            let comparison = measure(harness, workload, &finalists, (*threads, cache))?;
            complain(workload, &comparison, &progress);
            failed += comparison.standings.iter().filter(|s| s.name == PICK && s.has_failed()).count();
            match comparison.standings.iter().find(|standing| standing.is_unknown()) {
                Some(standing) => {
                    let (wkl, name) = (workload.wkl.clone(), standing.name.clone());
                    unknown.push(Unknown { wkl, threads: *threads, name });
                }
                None => shapes.extend(at_shape(workload, kernel, &comparison)),
            }
            progress.compared(shapes.len() + unknown.len(), all);
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
    let measured = Measured { mean, worst, least_of_library, libraries, shapes, unknown, left_out };
    arguments.files.print(&text(&measured))?;
    arguments.files.write(&measured, || threads.iter().map(|threads| chart(&measured, *threads)).collect())?;
    if failed > 0 { Err(failed_at(failed)) } else { Ok(()) }
}

/// Every micro-kernel of the tuned file, of the default, and the best on record beside the config that are neither.
fn rivals(setup: &Setup, harness: &CpuHarness, winners: &Winners) -> Result<Vec<Rival>> {
    let default = Winners::default_for(&setup.program, harness.cpu());
    let both = |winners: &Winners| winners.schedules.iter().cloned().zip(winners.lowered.iter().cloned()).collect();
    let mut all: Vec<(MicroKernel, Lowered)> = both(winners);
    let is_new =
        |all: &[(MicroKernel, Lowered)], of: &MicroKernel| all.iter().all(|(known, _)| known.name() != of.name());
    for one in both(&default) {
        if is_new(&all, &one.0) {
            all.push(one);
        }
    }
    let records = records_path(&setup.config, harness);
    let target = Target::Cpu(harness.cpu().clone());
    let mut recorded = 0;
    for micro_kernel in if records.exists() { best_on_record(&records, harness)? } else { Vec::new() } {
        // One that an earlier version could carry out.
        let Ok(lowered) = micro_kernel.lowered(&setup.program, &target) else { continue };
        if recorded < RECORDED && is_new(&all, &micro_kernel) {
            all.push((micro_kernel, lowered));
            recorded += 1;
        }
    }
    let rival = |(micro_kernel, lowered): (MicroKernel, Lowered)| {
        let (name, schedules, of) = (micro_kernel.name(), vec![micro_kernel], vec![lowered.clone()]);
        let alone = Winners { schedules, lowered: of, decision: Decision::Pick(0), ..winners.clone() };
        Ok(Rival { finalist: dispatched(harness, &alone, name)?, lowered })
    };
    all.into_iter().map(rival).collect()
}

/// The rivals that the model does not expect to take many times as long at a shape as what is dispatched there, which is none of them.
fn hopeful(
    harness: &CpuHarness,
    (own, kernel): (&Lowered, &str),
    rivals: &[Rival],
    (workload, threads): (&WorkloadInstance, usize),
) -> Vec<Finalist> {
    let seconds = |of: &Lowered| Profile::of(of).seconds(harness.cpu(), &workload.instance.shape, threads);
    let most = HOPELESS * seconds(own);
    let others = rivals.iter().filter(|rival| rival.finalist.name != kernel);
    // Of what the model does not fit nothing is known.
    let is_hopeful = |rival: &&Rival| {
        let expected = seconds(&rival.lowered);
        expected.is_nan() || expected <= most
    };
    others.filter(is_hopeful).map(|rival| rival.finalist.clone()).collect()
}

/// Two pairs of all, and as many more as there is time for of those that may be the best.
fn measure(
    harness: &mut CpuHarness,
    workload: &WorkloadInstance,
    finalists: &[Finalist],
    (threads, cache): (usize, Cache),
) -> Result<Comparison> {
    let instance = &workload.instance;
    let timing = |rounds| Timing { cache, ..Timing::warm(rounds, 0.0, SLOW) };
    let first = timing(FEWEST);
    let first = if instance.flops > CHECKED { first.unchecked() } else { first };
    let mut comparison = compare(harness, instance, finalists, threads, first)?;
    let seconds = |comparison: &Comparison, name: &str| median(comparison.sample(name)?.seconds.clone());
    let Some(own) = seconds(&comparison, PICK).filter(|own| *own < SLOW) else { return Ok(comparison) };
    let near = |finalist: &&Finalist| seconds(&comparison, &finalist.name).is_some_and(|s| s < BEHIND * own);
    let near: Vec<Finalist> = finalists.iter().filter(near).cloned().collect();
    let round: f64 = near.iter().filter_map(|finalist| seconds(&comparison, &finalist.name)).sum();
    let rounds = ((SECONDS / round) as usize).min(ROUNDS - FEWEST) / 2 * 2;
    if rounds == 0 || near.len() == 1 {
        return Ok(comparison);
    }
    let further = compare(harness, instance, &near, threads, timing(rounds).unchecked())?;
    for standing in &mut comparison.standings {
        // Who has no more of them is known by the first.
        if let (Ok(sample), Some(more)) = (&mut standing.outcome, further.sample(&standing.name)) {
            sample.seconds.extend(&more.seconds);
        }
    }
    Ok(comparison)
}

/// The nest as it stands is none.
fn is_library(name: &str) -> bool {
    LIBRARIES.iter().any(|library| name.starts_with(library))
}

fn failed_at(measurements: usize) -> Error {
    Error::check(format!("the kernel failed on {}", counted(measurements, "measurement")))
}

/// Shapes of the range at which there is something to time, and how many were left out, which is told.
fn workloads(arguments: &Arguments, setup: &Setup, count: usize) -> Result<(Vec<WorkloadInstance>, usize)> {
    let most = arguments.most_operations;
    let mut left_out = BTreeSet::new();
    let accept = |shape: &[i64]| {
        let Some(instance) = Instance::of(&setup.def, shape).ok().filter(|instance| !instance.computes_nothing())
        else {
            return false;
        };
        if instance.flops > most {
            left_out.insert(shape.to_vec());
        }
        instance.flops <= most
    };
    let drawn = drawn(&setup.config, &setup.vars, (count, arguments.seed.unwrap_or(0)), accept);
    if !left_out.is_empty() {
        let (shapes, kept) = (counted(left_out.len(), "shape"), drawn.len());
        tell(&format!("{shapes} of more than {most:e} operations (`--most-operations`) left out, {kept} measured"));
    }
    let workloads = drawn.iter().map(|wkl| setup.workload(wkl, 1.0)).collect::<Result<_>>()?;
    Ok((workloads, left_out.len()))
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
    let unknown = match measured.unknown.len() {
        0 => String::new(),
        unknown => format!("of {} nothing is known: others took the cores\n", counted(unknown, "shape")),
    };
    format!(
        "\nTime of what is dispatched over that of the best micro-kernel, by pairs at {}: the worst\n{table}\n{}\
         {:.3} in the mean, {:.3} at worst; more than 2% for certain at {certain}\n{library}{unknown}",
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
