//! `dietcode bench --regret N`: how much longer what is dispatched takes than the best of all micro-kernels that could be, over the
//! config's range, and how fast it is beside libraries.
//!
//! The best of many by the same pairs that it is compared by would be the luckiest one, and the regret too large. So it is chosen by the medians
//! of the odd pairs, the first being odd, and what is dispatched is compared with it on the even ones.

use std::collections::{BTreeMap, BTreeSet};

use dietcode::core::codegen::registry::Decision;
use dietcode::core::config::{Cache, WklInst};
use dietcode::core::cost_model::cpu::Profile;
use dietcode::core::dispatch::{PICK, Winners, drawn};
use dietcode::core::machine::Target;
use dietcode::core::measure::{
    Baselines, Comparison, CpuHarness, Device, Finalist, Instance, Standing, Timing, compare,
};
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

/// A call that takes longer, in seconds, is made four times, and that is all.
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
    /// What caches held before each call.
    cache: Cache,
}

/// A shape at a number of threads.
#[derive(Debug, Serialize)]
struct AtShape {
    wkl: WklInst,
    threads: usize,
    /// What the decision tree picks.
    kernel: String,
    /// How many other micro-kernels were measured beside it; with none, nothing is known of its regret, which is 1.
    rivals: usize,
    /// The fastest on the odd pairs; the same where none is faster.
    best: String,
    /// The time of what is dispatched over the fastest's on the even pairs, where noise may leave it below 1.
    regret: f64,
    /// Whether that is more than 2% for certain, by all pairs and for any of the rivals.
    certain: bool,
    gflops: f64,
    gflops_of_best: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    library: Option<Library>,
}

/// The fastest library at a shape, on the odd pairs.
#[derive(Debug, Serialize)]
struct Library {
    name: String,
    /// Its time over that of what is dispatched, on the even pairs.
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
    let measured = Measured { mean, worst, least_of_library, libraries, shapes, unknown, left_out, cache };
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
    let Some(own) = seconds(&comparison, PICK) else { return Ok(comparison) };
    let near = |finalist: &&Finalist| seconds(&comparison, &finalist.name).is_some_and(|s| s < BEHIND * own);
    let near: Vec<Finalist> = finalists.iter().filter(near).cloned().collect();
    let round: f64 = near.iter().filter_map(|finalist| seconds(&comparison, &finalist.name)).sum();
    // Of slow calls there is one pair, and one more is needed to compare what was chosen by it.
    let is_slow = |finalist: &Finalist| comparison.sample(&finalist.name).is_some_and(|s| s.seconds.len() < FEWEST);
    let least = if near.iter().any(is_slow) { 2 } else { 0 };
    let rounds = (((SECONDS / round) as usize).min(ROUNDS - FEWEST) / 2 * 2).max(least);
    if rounds == 0 || near.len() == 1 {
        return Ok(comparison);
    }
    let further = compare(harness, instance, &near, threads, timing(rounds).unchecked())?;
    // Pairs are of samples that were taken together.
    let goes_on = |standing: &Standing| further.sample(&standing.name).is_some();
    let counts = comparison
        .standings
        .iter()
        .filter(|of| goes_on(of))
        .filter_map(|of| Some(of.outcome.as_ref().ok()?.seconds.len()));
    let together = counts.min().unwrap_or(0);
    for standing in &mut comparison.standings {
        // Who has no more of them is known by the first.
        if let (Ok(sample), Some(more)) = (&mut standing.outcome, further.sample(&standing.name)) {
            sample.extend(together, more);
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
    let library = best_of(&libraries).map(|best| Library { name: best.name.to_owned(), ratio: (-best.gain).exp() });
    let best = best_of(&rivals).filter(|best| best.chosen_by > 0.0);
    let is_certain = |best: &Best<'_>| look(best.gains, rivals.len()) == Some(Verdict::Wins);
    let gflops = |name: &str| comparison.sample(name).map_or(0.0, |s| s.gflops(workload.instance.flops).median);
    Some(AtShape {
        wkl: workload.wkl.clone(),
        threads: comparison.threads,
        regret: best.as_ref().map_or(1.0, |best| best.gain.exp()),
        certain: best.as_ref().is_some_and(is_certain),
        gflops: gflops(PICK),
        gflops_of_best: gflops(best.as_ref().map_or(PICK, |best| best.name)),
        best: best.map_or_else(|| kernel.clone(), |best| best.name.to_owned()),
        kernel,
        rivals: rivals.len(),
        library,
    })
}

/// The best of some at a shape, with its gains over what is dispatched.
struct Best<'a> {
    name: &'a str,
    gains: &'a [f64],
    /// The median of the odd pairs.
    chosen_by: f64,
    /// That of the even pairs. Who has only one pair is far behind, and known by that.
    gain: f64,
}

fn best_of<'a>(all: &'a [(&str, Vec<f64>)]) -> Option<Best<'a>> {
    let every_second = |gains: &[f64], first: usize| median(gains.iter().skip(first).step_by(2).copied().collect());
    let known = all.iter().filter_map(|(name, gains)| {
        let chosen_by = every_second(gains, 0)?;
        Some(Best { name, gains, chosen_by, gain: every_second(gains, 1).unwrap_or(chosen_by) })
    });
    known.max_by(|a, b| a.chosen_by.total_cmp(&b.chosen_by))
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
    let alone = match measured.shapes.iter().filter(|at| at.rivals == 0).count() {
        0 => String::new(),
        alone => {
            format!(
                "at {} nothing was measured against it: no other micro-kernel was promising there, and passed\n",
                counted(alone, "shape")
            )
        }
    };
    let cache = match measured.cache {
        Cache::Warm => String::new(),
        cache => format!(" with {cache} caches"),
    };
    format!(
        "\nTime of what is dispatched over that of the best micro-kernel, by pairs at {}{cache}: the worst\n{table}\n{}\
         {:.3} in the mean, {:.3} at worst; more than 2% for certain at {certain}\n{alone}{library}{unknown}",
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

#[cfg(test)]
mod tests {
    use dietcode::core::measure::{Sample, Standing};
    use rand::rngs::StdRng;
    use rand::{RngExt, SeedableRng};

    use super::*;

    fn compared(all: Vec<(&str, Vec<f64>)>) -> AtShape {
        let instance = Instance {
            shape: vec![1],
            dims: Vec::new(),
            dtypes: Vec::new(),
            output: 0,
            reads_output: false,
            scalars: Vec::new(),
            multiplies: false,
            prepared: Vec::new(),
            flops: 1e9,
        };
        let workload = WorkloadInstance { wkl: WklInst::from([("T".to_owned(), 1)]), instance, weight: 1.0 };
        let standing = |(name, seconds): (&str, Vec<f64>)| Standing {
            name: name.to_owned(),
            outcome: Ok(Sample { seconds, rel_err: 0.0, nearest: None, conditions: Vec::new() }),
        };
        let standings = all.into_iter().map(standing).collect();
        let comparison = Comparison { threads: 1, cache: Cache::Warm, standings, peak: None };
        at_shape(&workload, "own".to_owned(), &comparison).unwrap()
    }

    /// Seconds of so many pairs, of which the odd ones take one time and the even ones another.
    fn alternating(pairs: usize, [odd, even]: [f64; 2]) -> Vec<f64> {
        (0..2 * pairs).map(|round| if round / 2 % 2 == 0 { odd } else { even }).collect()
    }

    #[test]
    fn who_is_best_on_odd_pairs_is_compared_on_even_ones() {
        let of = |pairs: usize, lucky: [f64; 2]| {
            compared(vec![
                (PICK, alternating(pairs, [1.0, 1.0])),
                ("steady", alternating(pairs, [0.9, 0.9])),
                ("lucky", alternating(pairs, lucky)),
                ("blas:one", alternating(pairs, [2.0, 1.25])),
                ("blas:two", alternating(pairs, [1.5, 4.0])),
            ])
        };
        let at = of(4, [0.8, 1.25]);
        assert_eq!((&*at.best, at.regret, at.certain), ("lucky", 0.8, false));
        let library = at.library.unwrap();
        assert_eq!((&*library.name, library.ratio), ("blas:two", 4.0));
        let at = of(16, [1.25, 0.8]);
        assert!(at.best == "steady" && (at.regret - 1.0 / 0.9).abs() < 1e-12 && at.certain, "{at:?}");
        // One pair, of a library that takes much longer than a slow call.
        let at = compared(vec![(PICK, vec![1.0; 4]), ("blas:one", vec![3.0; 2])]);
        let ratio = at.library.unwrap().ratio;
        assert!(at.best == "own" && at.regret == 1.0 && (ratio - 3.0).abs() < 1e-12, "{ratio}");
    }

    #[test]
    fn what_nothing_was_measured_against_is_told() {
        let of = |all: Vec<(&str, Vec<f64>)>| {
            let shapes = vec![compared(all)];
            let (unknown, libraries) = (Vec::new(), BTreeSet::new());
            let cache = Cache::Rotated;
            text(&Measured {
                mean: 1.0,
                worst: 1.0,
                least_of_library: None,
                libraries,
                shapes,
                unknown,
                left_out: 0,
                cache,
            })
        };
        let [own, library, rival] = [PICK, "blas:one", "rival"].map(|name| (name, vec![1.0; 4]));
        let alone = of(vec![own.clone(), library.clone()]);
        assert!(alone.contains("at 1 shape nothing was measured against it"), "{alone}");
        assert!(alone.contains("by pairs at 1 shape with rotated caches"), "{alone}");
        let beside = of(vec![own, library, rival]);
        assert!(!beside.contains("nothing was measured"), "{beside}");
    }

    #[test]
    fn rivals_that_are_as_fast_leave_no_regret_however_many_they_are() {
        let mut random = StdRng::seed_from_u64(16);
        let names: Vec<String> = (0..16).map(|rival| format!("rival {rival}")).collect();
        let mut mean = 0.0;
        for _ in 0..400 {
            let mut seconds = || (0..12).map(|_| random.random_range(0.9..1.1)).collect::<Vec<f64>>();
            let own = (PICK, seconds());
            mean += compared([own].into_iter().chain(names.iter().map(|name| (&**name, seconds()))).collect()).regret
                / 400.0;
        }
        assert!((mean - 1.0).abs() < 0.01, "{mean}");
    }
}
