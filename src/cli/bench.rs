//! `dietcode bench`

mod regret;
mod sweep;
mod turns;

use std::path::{Path, PathBuf};

use dietcode::core::config::{Cache, Shapes};
use dietcode::core::dispatch::{PICK, Winners};
use dietcode::core::measure::{Baselines, Comparison, CpuHarness, Device, Finalist, Timing, compare};
use dietcode::core::search::WorkloadInstance;
use dietcode::tuning::{Target, resolve_threads};
use dietcode::{Error, Result};

use super::explore::operations;
use super::files::each_once;
use super::progress::Progress;
use super::report::{Report, ReportFiles};
use super::setup::{BlasArguments, Setup, wkl_text};
use super::table::{Legend, Line, table};
use super::tune::{thread_count, threads_once};
use super::{counted, tell};

/// Measures the kernel at any shapes, tuned or not, beside other implementations.
///
/// What is measured is what a program would run: the micro-kernels of the tuned file behind their decision tree, or the
/// default one where there is no tuned file that holds here. Every result is checked. Exit status 1 says that a result of
/// the kernel was wrong.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  dietcode bench configs/bert_dense.json
  dietcode bench configs/bert_dense.json --wkl T=37,71 --threads 1 --json out.json
  dietcode bench configs/bert_dense.json --wkl T=1..256 --plot out.svg
  dietcode bench configs/bert_dense.json --only dietcode --only blas
  dietcode bench configs/bert_dense.json --sweep-grid --plot grid.svg
  dietcode bench configs/bert_dense.json --regret 200 --plot regret.svg
  echo 2 T=37 | dietcode bench configs/bert_dense.json --turns --only dietcode")]
pub(crate) struct Arguments {
    /// The config.
    config: PathBuf,
    /// Shapes, by the config's workload variables: T=37, or T=37,71, or T=5..128 (both ends and a few between them), or
    /// T=16..128:16, or B=2,T=5; may be given more than once. Default: all instances of the config.
    #[arg(long, value_name = "VARS")]
    wkl: Vec<Shapes>,
    /// A number of threads, 0 for all cores; may be given more than once.
    #[arg(long, value_name = "N", value_delimiter = ',', default_values_t = [1, 0], value_parser = thread_count)]
    threads: Vec<usize>,
    #[command(flatten)]
    blas: BlasArguments,
    /// Measure what this tuned file of the config would run too, by turns with the others; may be given more than once.
    #[arg(long, value_name = "FILE")]
    beside: Vec<PathBuf>,
    /// Measure only this implementation: dietcode, naive, matrixmultiply, or blas; may be given more than once.
    #[arg(long, value_name = "IMPL", value_parser = ["dietcode", "naive", "matrixmultiply", "blas"])]
    only: Vec<String>,
    /// Measure the kernel's micro-kernels on 1 to 4 waves of tiles instead, beside what measurements at a few points let expect of them;
    /// `--plot` draws both.
    #[arg(long, conflicts_with_all = ["only", "beside", "blas"])]
    sweep_grid: bool,
    /// Measure what is dispatched beside all micro-kernels of the tuned file and of the default, the best others on record beside the config,
    /// and libraries instead, by pairs: at all shapes of the config's range, or at N of them that `--seed` draws (else 0).
    #[arg(long, value_name = "N", conflicts_with_all = ["wkl", "only", "beside", "sweep_grid", "turns"],
          value_parser = clap::value_parser!(u32).range(1..=100_000))]
    regret: Option<u32>,
    /// With --regret, leave out shapes at which a call has more arithmetic operations; how many is told.
    #[arg(long, value_name = "N", default_value = "2e10", requires = "regret", value_parser = operations)]
    most_operations: f64,
    /// Measure one shape at a time, as standard input asks for it, so that another program can take turns with the kernel. Each line is a
    /// number of threads and a shape, as in `2 T=37`. Standard output has a line of JSON for each, behind one of the machine.
    #[arg(long, conflicts_with_all = ["wkl", "threads", "sweep_grid", "json", "plot"])]
    turns: bool,
    /// Where to sweep: cpu, cuda, or cuda-host, where figures are estimates.
    #[arg(long, value_name = "TARGET", default_value = "cpu", requires = "sweep_grid")]
    target: Target,
    /// Inputs are made from this. Default: new ones each time.
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    #[command(flatten)]
    files: ReportFiles,
}

const TIMING: Timing = Timing::warm(9, 0.2, 0.5);

/// Runs it.
pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    let setup = Setup::read(&arguments.config)?;
    let workloads = workloads(arguments, &setup)?;
    arguments.files.check()?;
    threads_once(&arguments.threads)?;
    each_once(&arguments.beside, "tuned file")?;
    if arguments.sweep_grid {
        return sweep::run(arguments, &setup, &workloads);
    }
    let mut progress = Progress::new(f64::MAX);
    let mut harness = setup.harness(arguments.seed)?;
    let winners = setup.winners(harness.cpu(), "measuring the default micro-kernel", |text| progress.say(text));
    if let Some(count) = arguments.regret {
        return regret::run(arguments, &setup, &mut harness, &winners, count as usize);
    }
    let mut own = vec![dispatched(&harness, &winners, PICK.to_owned())?];
    for path in &arguments.beside {
        let winners = Winners::load_from(path, &setup.config, (&setup.def, &setup.program), harness.cpu());
        let winners = winners.map_err(|miss| Error::input(format!("--beside {miss}")))?;
        own.push(dispatched(&harness, &winners, beside(path))?);
    }
    let blas = arguments.blas.find(&mut harness)?;
    let baselines = Baselines::new(&harness, blas)?;
    if arguments.turns {
        return turns::run(arguments, &setup, &mut harness, (&own, &baselines), winners.tuned.is_some());
    }
    let mut seen = Vec::new();
    let cache = setup.config.search.cache;
    let timing = Timing { cache, ..TIMING };
    let measured = measure(arguments, &mut harness, (&own, &baselines), &workloads, timing, &mut seen, &mut progress);
    progress.finish();
    // A shape that cannot be measured takes nothing from those before it.
    if measured.is_ok() || !seen.is_empty() {
        show(arguments, (&harness, cache), &baselines, &winners, &seen)?;
    }
    measured?;
    let failed =
        |(_, c): &&(&WorkloadInstance, Comparison)| c.standings.iter().any(|s| s.name == PICK && s.has_failed());
    match seen.iter().filter(failed).count() {
        0 => Ok(()),
        n => Err(Error::check(format!("the kernel failed on {n} of {} measurements", seen.len()))),
    }
}

/// Adds a comparison to `seen` for each number of threads and workload.
fn measure<'a>(
    arguments: &Arguments,
    harness: &mut CpuHarness,
    (own, baselines): (&[Finalist], &Baselines),
    workloads: &'a [WorkloadInstance],
    timing: Timing,
    seen: &mut Vec<(&'a WorkloadInstance, Comparison)>,
    progress: &mut Progress,
) -> Result<()> {
    let threads = resolve_threads(&arguments.threads, harness.cpu().cores);
    let count = threads.len() * workloads.len();
    for threads in threads {
        for workload in workloads {
            let finalists = finalists(arguments, harness, (own, baselines), workload)?;
            let comparison = compare(harness, &workload.instance, &finalists, threads, timing)?;
            complain(workload, &comparison, progress);
            seen.push((workload, comparison));
            progress.compared(seen.len(), count);
        }
    }
    Ok(())
}

/// All that were asked for and can carry out the kernel at this shape.
fn finalists(
    arguments: &Arguments,
    harness: &CpuHarness,
    (own, baselines): (&[Finalist], &Baselines),
    workload: &WorkloadInstance,
) -> Result<Vec<Finalist>> {
    let mut finalists = own.to_vec();
    finalists.extend(baselines.finalists(harness.def(), &workload.instance));
    finalists.retain(|c| arguments.beside.iter().any(|path| beside(path) == c.name) || wanted(arguments, &c.name));
    if finalists.is_empty() {
        let why = "found nothing to measure: no BLAS was found, or the kernel is no matrix product";
        return Err(Error::unavailable(why));
    }
    Ok(finalists)
}

/// The shapes that were asked for, but for those at which there is nothing to time.
fn workloads(arguments: &Arguments, setup: &Setup) -> Result<Vec<WorkloadInstance>> {
    let mut workloads = setup.asked(&arguments.wkl)?;
    workloads.retain(|workload| {
        if workload.instance.computes_nothing() {
            tell(&format!("{}: a call computes nothing and returns at once; not measured", wkl_text(&workload.wkl)));
        }
        !workload.instance.computes_nothing()
    });
    Ok(workloads)
}

/// The kernel as a program runs it.
fn dispatched(harness: &CpuHarness, winners: &Winners, name: String) -> Result<Finalist> {
    let units = winners.units(harness.def(), &harness.cpu().march)?;
    let built = harness.build(&units);
    let units = built
        .into_iter()
        .collect::<Result<Vec<_>, _>>()
        .map_err(|failure| Error::failed(format!("a micro-kernel of `{}` {failure}", harness.def().name)))?;
    Ok(Finalist { name, implementation: harness.dispatched(units, &winners.decision)? })
}

/// What a tuned file's micro-kernels are called among the others.
fn beside(path: &Path) -> String {
    path.display().to_string()
}

fn wanted(arguments: &Arguments, name: &str) -> bool {
    let kind = name.split(':').next().unwrap_or(name);
    arguments.only.is_empty() || arguments.only.iter().any(|only| only == kind)
}

fn complain(workload: &WorkloadInstance, comparison: &Comparison, progress: &Progress) {
    for standing in &comparison.standings {
        if let Err(failure) = &standing.outcome {
            let threads = counted(comparison.threads, "thread");
            let on = format!("{} at {} on {threads}", standing.name, wkl_text(&workload.wkl));
            progress.say(&format!("{on} {failure}"));
        }
    }
}

fn show(
    arguments: &Arguments,
    (harness, cache): (&CpuHarness, Cache),
    baselines: &Baselines,
    winners: &Winners,
    seen: &[(&WorkloadInstance, Comparison)],
) -> Result<()> {
    let mut report = Report::new(harness, cache);
    report.set_peaks(seen.iter().map(|(_, comparison)| comparison), |threads| harness.cores().apart(threads));
    let mut legend = Legend::default();
    let files = arguments.beside.iter().map(|path| beside(path));
    let others: Vec<String> =
        files.chain(baselines.names().into_iter().filter(|name| wanted(arguments, name))).collect();
    for same in seen.chunk_by(|(_, a), (_, b)| a.threads == b.threads) {
        let lines: Vec<Line<'_>> = same
            .iter()
            .map(|(workload, comparison)| Line {
                workload,
                comparison,
                own: PICK,
                kernel: winners.schedules[winners.decision.pick(&workload.instance.shape)].name(),
                predicted: None,
            })
            .collect();
        for line in &lines {
            let kernel = |name: &str| (name == PICK).then(|| line.kernel.clone());
            report.add(line.workload, line.comparison, |name| Some((name.to_owned(), kernel(name))));
        }
        arguments.files.print(&table(&lines, &others, &report, &mut legend))?;
    }
    arguments.files.print(&legend.text())?;
    report.in_use().iter().try_for_each(|line| arguments.files.print(line))?;
    report.write(&arguments.files)
}
