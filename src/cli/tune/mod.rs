//! `dietcode tune`
mod kernel;
mod made;
mod show;

use std::cell::RefCell;
use std::fmt::Display;
use std::path::{Path, PathBuf};
use std::time::Instant;

use dietcode::core::config::{Model, Shapes, Strategy};
use dietcode::core::dispatch::target_name;
use dietcode::core::measure::CpuHarness;
use dietcode::core::measure::baselines::BlasLibrary;
use dietcode::core::search::{Course, Event, Task, search};
use dietcode::tuning::{self, Opened, Target};
use dietcode::{Error, Result};

use self::kernel::Kernel;
use self::made::KernelPath;
use super::files::{check_tuned, each_once};
use super::interrupt::{STOP, finish_first};
use super::progress::Progress;
use super::report::{ReportFiles, SearchTime};
use super::setup::{BlasArguments, Setup};
use super::tell;

/// Finds the micro-kernels that are fastest on this machine, and writes them beside the config.
///
/// Candidates are proposed, compiled, checked against the nest itself, and measured, for all instances of the config
/// together. The winners go to <config>.cpu.tuned.json, which is committed like a lock file and used by the next build;
/// everything that was measured goes to <config>.cpu.records.jsonl. At the end stands a table: the chosen micro-kernels
/// beside the nest as it stands, the crate matrixmultiply, and this system's BLAS. Ctrl-C finishes what is being measured
/// and keeps the best so far.
///
/// Several configs share the trials and the time: whose kernels gain most gets most, by their
/// `search.weight`.
///
/// Without a config, --kernel with --wkl makes one: configs/NAME.json in the kernel's package, which is yours to change then.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  dietcode tune configs/bert_dense.json
  dietcode tune --kernel src/ops.rs:dense --wkl M=16..2048,N=768,K=768   makes configs/dense.json
  dietcode tune configs/bert_dense.json --trials 256 --threads 1
  dietcode tune configs/bert_dense.json --until 0.95
  dietcode tune configs/bert_dense.json --target cuda-host --trials 64   for a GPU that is not here
  dietcode tune configs/bert_dense.json --trials 256 --resume     after it was killed
  dietcode tune configs/bert_dense.json configs/batch_matmul.json --seconds 600
  dietcode tune configs/bert_dense.json --wkl T=128 -o t128.json
  dietcode tune configs/bert_dense.json --blas /opt/OpenBLAS/lib/libopenblas.so --json out.json")]
pub(crate) struct Arguments {
    /// The configs.
    #[arg(required_unless_present = "kernel", conflicts_with = "kernel", value_name = "CONFIG")]
    configs: Vec<PathBuf>,
    /// Make a config for this kernel, and tune by it: a function with #[dynamic_kernel], such as src/ops.rs:dense, or
    /// src/ops.rs if it has one alone. A config that is there is not overwritten.
    #[arg(long, value_name = "FILE:NAME")]
    kernel: Option<KernelPath>,
    /// What to tune for; may be given more than once: cpu; cuda, the first GPU, or, where there is none, the devices that the config
    /// names, by estimates; cuda-host, the newest of them that the emulator stands for, by estimates. Estimates are what the model
    /// makes of the compiler's report, and are marked as such; nvcc is needed for them. Default: cpu.
    #[arg(long, value_name = "TARGET", value_delimiter = ',')]
    target: Vec<Target>,
    /// How long to search, decide and compare; what is under way then is finished. Default: no limit if --trials or --until is given, else the
    /// (first) config's `search.seconds`.
    #[arg(long, value_name = "S", value_parser = positive)]
    seconds: Option<f64>,
    /// The most candidates to try, for each config, covers among them; the default micro-kernels, with which they are compared, do not
    /// count. Default: the config's `search.trials`, or as many as the time allows.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    trials: Option<u64>,
    /// Search until the best reach this share of what the machine allows: the measured peak of multiply-adds or of memory,
    /// as the weighted geometric mean over instances and numbers of threads.
    #[arg(long, value_name = "SHARE", value_parser = share)]
    until: Option<f64>,
    /// Where candidates come from: evolution (of all schedules, guided by a model), random (draws of all schedules) or enumerate
    /// (what the config's generators list). Default: the config's `search.strategy`, or evolution.
    #[arg(long, value_name = "STRATEGY")]
    strategy: Option<Strategy>,
    /// What guides an evolution: analytic (what the machine allows), learned (that, corrected by what was measured) or random
    /// (random numbers, to compare with). Default: the config's `search.model`, or analytic.
    #[arg(long, value_name = "MODEL")]
    model: Option<Model>,
    /// Where random choices start: the proposals, the inputs. Default: the config's `search.seed`, and inputs that are new each
    /// time.
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// A number of threads to measure at, 0 for all cores; may be given more than once. Default: the config's.
    #[arg(long, value_name = "N", value_delimiter = ',', value_parser = thread_number)]
    threads: Vec<i64>,
    /// Which instances of the config to tune for, with --output: T=37, or T=37,71, or T=5..128 (all of them in this range), or
    /// B=2,T=5. With --kernel, the instances of the config, by the kernel's shape variables: of a range without a step, such as
    /// M=16..2048, both ends and a few between them; M=16..64:16 is 16, 32, 48 and 64. May be given more than once.
    #[arg(long, value_name = "VARS")]
    wkl: Vec<Shapes>,
    /// Continue the last run that was ended before it was done: with the same config, seed, threads and instances; of several
    /// configs, with the same ones in the same order. What is on record of it is not measured again, and counts as tried.
    #[arg(long)]
    resume: bool,
    #[command(flatten)]
    blas: BlasArguments,
    #[command(flatten)]
    files: ReportFiles,
    /// Write the winners to this file instead of beside the config.
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Keep the records in this file instead of beside the config.
    #[arg(long, value_name = "FILE")]
    records: Option<PathBuf>,
}

/// As good as no limit: thirty days.
const UNLIMITED: f64 = 30.0 * 86_400.0;

/// Runs it.
pub(crate) fn run(mut arguments: Arguments) -> Result<()> {
    check(&arguments)?;
    let Some(kernel) = &arguments.kernel else { return tune(&arguments) };
    let made = made::config(kernel, &arguments.wkl)?;
    arguments.files.print(&made.done)?;
    // All that it stands for.
    arguments.wkl.clear();
    arguments.configs = vec![made.path];
    tune(&arguments)?;
    made.to_do.iter().try_for_each(|line| arguments.files.print(line))
}

/// Tunes by configs.
fn tune(arguments: &Arguments) -> Result<()> {
    let setups = arguments.configs.iter().map(|path| setup(arguments, path)).collect::<Result<Vec<_>>>()?;
    finish_first();
    let seconds = seconds(arguments, &setups[0]);
    let start = Instant::now();
    let budget = tuning::budget(seconds, &STOP);
    let progress = RefCell::new(Progress::new(seconds));
    let watch = |event: Event| progress.borrow_mut().show(&event);
    let say = |text: &str| progress.borrow().say(text);
    let mut failed: Vec<(PathBuf, Error)> = Vec::new();
    let mut opened: Vec<(&Setup, Opened)> = Vec::new();
    for setup in &setups {
        for target in targets(arguments) {
            let blas = |harness: &mut CpuHarness| find_blas(arguments, harness, &progress.borrow());
            match tuning::open(&setup.config, target, arguments.seed, &blas, &say) {
                Ok(devices) => opened.extend(devices.into_iter().map(|device| (setup, device))),
                Err(error) => failed.push((setup.config.path.clone(), error)),
            }
        }
    }
    let outputs = outputs(arguments, &opened)?;
    let mut of: Vec<&Setup> = Vec::new();
    let mut kernels = Vec::new();
    let mut tasks: Vec<Task<'_>> = Vec::new();
    for ((setup, opened), output) in opened.into_iter().zip(outputs) {
        match Kernel::prepare(arguments, (setup, output), opened, &budget, &progress, &watch) {
            Ok((kernel, task)) => {
                of.push(setup);
                kernels.push(kernel);
                tasks.push(task);
            }
            Err(error) => failed.push((setup.config.path.clone(), error)),
        }
    }
    if tasks.is_empty() {
        return all_of(failed, setups.len());
    }
    // What else there is to tune goes on, which takes long: why one does not is told before.
    failed.iter().for_each(|(path, error)| say(&format!("{} is not tuned: {error}", path.display())));
    let course = course(arguments.until, &setups[0], &of);
    let found = search(&mut tasks, &course);
    let budget = (seconds < UNLIMITED).then_some(seconds);
    let time = SearchTime { start, seconds: start.elapsed().as_secs_f64(), budget };
    let mut outcomes = Vec::new();
    for ((kernel, task), found) in kernels.iter().zip(&mut tasks).zip(found) {
        outcomes.push(found.and_then(|found| kernel.finish(arguments, task, &found, &time, &progress)));
    }
    progress.borrow().finish();
    let ended = of.iter().map(|setup| setup.config.path.clone()).zip(outcomes);
    failed.extend(ended.filter_map(|(path, outcome)| Some((path, outcome.err()?))));
    all_of(failed, setups.len())
}

/// Where the winners of each search go: each can be written, and no two are one file.
fn outputs(arguments: &Arguments, opened: &[(&Setup, Opened)]) -> Result<Vec<PathBuf>> {
    if opened.len() > 1 && (arguments.output.is_some() || arguments.records.is_some()) {
        return Err(Error::input(format!("--output and --records: expected one target, found {}", opened.len())));
    }
    let output = |(setup, Opened { device, .. }): &(&Setup, Opened)| {
        let beside = || setup.config.tuned_path(&target_name(&**device));
        arguments.output.clone().unwrap_or_else(beside)
    };
    let outputs: Vec<PathBuf> = opened.iter().map(output).collect();
    check_tuned(&outputs)?;
    Ok(outputs)
}

/// What to tune for.
fn targets(arguments: &Arguments) -> Vec<Target> {
    if arguments.target.is_empty() { vec![Target::Cpu] } else { arguments.target.clone() }
}

/// The BLAS to compare with; it is named in a message.
fn find_blas(arguments: &Arguments, harness: &mut CpuHarness, progress: &Progress) -> Result<Option<BlasLibrary>> {
    let blas = arguments.blas.find(harness)?;
    match &blas {
        Some(blas) => progress.say(&format!("BLAS: {} ({})", blas.name, blas.library.display())),
        None if arguments.blas.is_declined() => {}
        None => progress.say("BLAS: none found (--blas PATH names one)"),
    }
    Ok(blas)
}

/// A config as it stands, but for what the command line says.
fn setup(arguments: &Arguments, config: &Path) -> Result<Setup> {
    let mut setup = Setup::read(config)?;
    let search = &mut setup.config.search;
    search.trials = arguments.trials.or(search.trials);
    search.seed = arguments.seed.unwrap_or(search.seed);
    search.strategy = arguments.strategy.unwrap_or(search.strategy);
    search.model = arguments.model.unwrap_or(search.model);
    if !arguments.threads.is_empty() {
        search.threads.clone_from(&arguments.threads);
    }
    if arguments.model.is_some() && search.strategy != Strategy::Evolution {
        let message = format!("--model: expected the strategy evolution, found {}", search.strategy);
        return Err(Error::input(format!("{message}, which no model guides")));
    }
    kernel::workloads(arguments, &setup)?;
    Ok(setup)
}

/// The error of a config that failed, with its name where there are several; where several failed, all but the last are told here.
fn all_of(failed: Vec<(PathBuf, Error)>, configs: usize) -> Result<()> {
    let mut failure: Option<Error> = None;
    for (config, error) in failed {
        let error = match configs {
            1 => error,
            _ => Error::new(error.kind(), format!("{}: {error}", config.display())),
        };
        failure.replace(error).iter().for_each(|earlier| tell(&format!("dietcode: {earlier}")));
    }
    failure.map_or(Ok(()), Err)
}

/// What can be told to be wrong before anything is read.
fn check(arguments: &Arguments) -> Result<()> {
    let one = [
        ("--output", arguments.output.is_some()),
        ("--records", arguments.records.is_some()),
        ("--wkl", !arguments.wkl.is_empty()),
        ("--json and --plot", arguments.files.any()),
    ];
    if let Some((option, _)) = one.iter().find(|(_, given)| *given && arguments.configs.len() > 1) {
        return Err(Error::input(format!("{option}: expected one config, found {}", arguments.configs.len())));
    }
    if !arguments.wkl.is_empty() && arguments.output.is_none() && arguments.kernel.is_none() {
        return Err(Error::input(
            "--wkl: expected --output too: the file beside the config is for all of its instances",
        ));
    }
    each_once(&arguments.configs, "config")?;
    threads_once(&arguments.threads)?;
    arguments.files.check()
}

/// Of several configs, the first says how they share; each search adds the trials that it would have alone.
fn course(until: Option<f64>, first: &Setup, searches: &[&Setup]) -> Course {
    let mut of_each = searches.iter().map(|setup| setup.config.search.trials);
    let trials: Option<u64> = of_each.try_fold(0, |sum: u64, trials| Some(sum.saturating_add(trials?)));
    let settings = &first.config.search;
    Course {
        trials: trials.map(|trials| usize::try_from(trials).unwrap_or(usize::MAX)),
        until,
        scheduling: settings.scheduler.clone(),
        seed: settings.seed,
    }
}

fn seconds(arguments: &Arguments, first: &Setup) -> f64 {
    let limited = arguments.trials.is_none() && arguments.until.is_none();
    arguments.seconds.unwrap_or(if limited { first.config.search.seconds } else { UNLIMITED })
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

/// The same, as a config has it.
fn thread_number(text: &str) -> Result<i64, String> {
    thread_count(text).map(|count| i64::try_from(count).unwrap_or(0))
}

/// Refuses a number of threads that is given twice, as in a config's `search.threads`.
pub(super) fn threads_once<N: PartialEq + Display>(threads: &[N]) -> Result<()> {
    let again = threads.iter().enumerate().find(|(at, number)| threads[..*at].contains(number));
    again.map_or(Ok(()), |(_, number)| {
        let message = format!("--threads: found {number} a second time, expected each number of threads once");
        Err(Error::input(message))
    })
}

fn share(text: &str) -> Result<f64, String> {
    let share = text.parse().ok().filter(|s: &f64| *s > 0.0 && *s <= 1.0);
    share.ok_or_else(|| "expected a share greater than 0, at most 1, such as 0.95".to_owned())
}
