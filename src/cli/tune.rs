//! `dietcode tune`

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};

use dietcode::core::dispatch::{CPU, Conclusion, DEFAULT, PICK, Searched, Verified, conclude};
use dietcode::core::measure::{Baselines, Lab};
use dietcode::core::search::{Budget, Database, Point, Space, Tuning, search};
use dietcode::{Error, ErrorKind, Result};

use super::progress::Progress;
use super::report::{Report, ReportFiles, check_writable};
use super::setup::{BlasArguments, Setup, resolve_threads, wkl_text};
use super::table::{Legend, Line, table};
use super::{print, tell};

/// Finds the micro-kernels that are fastest on this machine, and writes them beside the config.
///
/// Candidates are compiled, checked against the nest itself, and measured. The winners go to <config>.cpu.tuned.json,
/// which is committed like a lock file and used by the next build; everything that was measured goes to
/// <config>.cpu.records.jsonl. At the end stands a table: the chosen micro-kernels beside the nest as it stands, the crate
/// matrixmultiply, and this system's BLAS. Ctrl-C ends the search early and keeps the best so far.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  dietcode tune configs/bert_dense.json
  dietcode tune configs/bert_dense.json --seconds 20 --threads 1
  dietcode tune configs/bert_dense.json --blas /opt/OpenBLAS/lib/libopenblas.so --json out.json")]
pub(crate) struct Arguments {
    /// The config.
    config: PathBuf,
    /// How long to search; the comparison at the end comes on top. Default: the config's `search.seconds`.
    #[arg(long, value_name = "S", value_parser = positive)]
    seconds: Option<f64>,
    /// The most candidates to try. Default: the config's `search.trials`, or all.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    trials: Option<u64>,
    /// Where random choices start: the order of candidates, the inputs. Default: the config's `search.seed`, and inputs
    /// that are new each time.
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// A number of threads to measure at, 0 for all cores; may be given more than once. Default: the config's.
    #[arg(long, value_name = "N", value_delimiter = ',', value_parser = thread_count)]
    threads: Vec<usize>,
    #[command(flatten)]
    blas: BlasArguments,
    #[command(flatten)]
    files: ReportFiles,
    /// Write the winners to this file instead of beside the config.
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
}

/// Set by an interrupt.
pub(super) static STOP: AtomicBool = AtomicBool::new(false);

/// Runs it.
pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    let setup = Setup::read(&arguments.config)?;
    let points = setup.points()?;
    arguments.files.check()?;
    arguments.output.iter().try_for_each(|path| check_writable(path))?;
    let settings = &setup.config.search;
    let seconds = arguments.seconds.unwrap_or(settings.seconds);
    stop_on_interrupt()?;
    let budget = Budget::start(seconds, &STOP);
    let mut lab = setup.lab(arguments.seed)?;
    let threads = threads(arguments, &setup, &lab);
    let mut progress = Progress::new(seconds);
    let database = open_database(&setup, &progress)?;
    let baselines = baselines(arguments, &mut lab, &progress)?;
    let seed = arguments.seed.unwrap_or(settings.seed);
    let trials = arguments.trials.or(settings.trials);
    let space = Space::of(&setup.config.cpu, &setup.def, lab.target(), trials, seed);
    describe(&space, &lab, &progress);
    let found = search(
        &mut Tuning {
            lab: &mut lab,
            points: &points,
            threads: &threads,
            budget,
            database,
            watch: &mut |event| progress.show(&event),
            candidates: Vec::new(),
        },
        &space,
    )?;
    let searched = Searched { config: &setup.config, points: &points, threads: &threads, found: &found };
    let conclusion = conclude(&mut lab, searched, &baselines, budget, |done| progress.compared(done, points.len()))?;
    progress.finish();
    let output = arguments.output.clone().unwrap_or_else(|| setup.config.tuned_path(CPU));
    conclusion.tuned.save(&output)?;
    show(&conclusion, &points, &lab, &baselines, &arguments.files)?;
    print(&format!("Written: {}\n", output.display()))
}

fn threads(arguments: &Arguments, setup: &Setup, lab: &Lab) -> Vec<usize> {
    let of_config = || setup.config.search.threads.iter().map(|n| usize::try_from(*n).unwrap_or(0)).collect();
    let asked = if arguments.threads.is_empty() { of_config() } else { arguments.threads.clone() };
    resolve_threads(&asked, lab.target().cores)
}

fn open_database(setup: &Setup, progress: &Progress) -> Result<Database> {
    let database = Database::open(&setup.config.path.with_extension(format!("{CPU}.records.jsonl")))?;
    database.notices.iter().for_each(|notice| progress.say(notice));
    Ok(database)
}

fn baselines(arguments: &Arguments, lab: &mut Lab, progress: &Progress) -> Result<Baselines> {
    let blas = arguments.blas.find(lab)?;
    let baselines = Baselines::new(lab, blas)?;
    match baselines.blas() {
        Some(blas) => progress.say(&format!("BLAS: {} ({})", blas.name, blas.library.display())),
        None => progress.say("BLAS: none found (--blas PATH names one)"),
    }
    Ok(baselines)
}

fn describe(space: &Space, lab: &Lab, progress: &Progress) {
    let target = lab.target();
    progress.say(&format!("{}, {} cores, -march={}, {}", target.model, target.cores, target.march, target.compiler));
    progress.say(&format!("{} candidates from {} schedules", space.candidates.len(), space.total));
    for (reason, count) in &space.invalid {
        progress.say(&format!("  {count} not valid: {reason}"));
    }
}

/// The tables, and the file if one is asked for.
fn show(
    conclusion: &Conclusion,
    points: &[Point],
    lab: &Lab,
    baselines: &Baselines,
    files: &ReportFiles,
) -> Result<()> {
    let mut report = Report::new(lab.target());
    report.set_peaks(conclusion.verified.iter().flatten().flat_map(|v| &v.comparisons));
    let mut legend = Legend::default();
    let counts = conclusion.verified.iter().flatten().map(|v| v.comparisons.len()).max().unwrap_or(0);
    for n in 0..counts {
        let lines = lines(conclusion, points, n);
        for line in &lines {
            report.add(line.point, line.comparison, |name| {
                (name == line.own).then(|| (PICK.to_owned(), Some(line.kernel.clone()))).or_else(|| other(name))
            });
        }
        print(&table(&lines, &columns(baselines), &report, &mut legend))?;
    }
    print(&legend.text())?;
    for (instance, _) in conclusion.tuned.instances.iter().zip(&conclusion.verified).filter(|(_, v)| v.is_none()) {
        let wkl = wkl_text(&instance.wkl);
        print(&format!("{wkl}: {}, not compared with others since the search was stopped\n", instance.micro_kernel))?;
    }
    report.write(files)
}

/// The verified instances at one of the numbers of threads.
fn lines<'a>(conclusion: &'a Conclusion, points: &'a [Point], n: usize) -> Vec<Line<'a>> {
    let line = |(at, verified): (usize, &'a Option<Verified>)| {
        let verified = verified.as_ref()?;
        let comparison = &verified.comparisons[n];
        let instance = &conclusion.tuned.instances[at];
        let seen = instance.measurements.iter().find(|m| m.threads == comparison.threads as i64);
        Some(Line {
            point: &points[at],
            comparison,
            own: verified.taken(),
            kernel: instance.micro_kernel.clone(),
            predicted: seen.map(|m| m.gflops_predicted),
        })
    };
    conclusion.verified.iter().enumerate().filter_map(line).collect()
}

/// The columns beside the kernel's own.
fn columns(baselines: &Baselines) -> Vec<String> {
    [vec![DEFAULT.to_owned()], baselines.names()].concat()
}

/// The baselines are reported; the default is not, unless it is what was chosen.
fn other(name: &str) -> Option<(String, Option<String>)> {
    (name != PICK && name != DEFAULT).then(|| (name.to_owned(), None))
}

pub(super) fn stop_on_interrupt() -> Result<()> {
    ctrlc::set_handler(|| {
        if STOP.swap(true, Ordering::Relaxed) {
            std::process::exit(130);
        }
        tell("\nfinishing what is being measured; press Ctrl-C again to leave at once");
    })
    .map_err(|e| Error::new(ErrorKind::Unavailable, "interrupts cannot be caught").caused_by(e))
}

pub(super) fn positive(text: &str) -> Result<f64, String> {
    let seconds = text.parse().ok().filter(|s: &f64| s.is_finite() && *s > 0.0 && *s <= 1e7);
    seconds.ok_or_else(|| "expected a number of seconds greater than 0".to_owned())
}

/// A number of threads that a pool can have.
pub(super) fn thread_count(text: &str) -> Result<usize, String> {
    let count = text.parse().ok().filter(|n| *n <= dietcode::runtime::MAX_THREADS);
    count.ok_or_else(|| format!("expected a number from 0 (all cores) to {}", dietcode::runtime::MAX_THREADS))
}
