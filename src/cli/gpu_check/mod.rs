//! `dietcode gpu-check`
mod checks;
mod deadline;
mod embedded;
mod images;
mod plan;
mod result;
mod shapes;
mod table;
mod tuning;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use dietcode::core::config::Strategy;
use dietcode::core::dispatch::today;
use dietcode::core::machine::cuda::{ComputeCapability, DeviceLimits};
use dietcode::core::measure::cuda::{CudaCompiler, CudaDevice, CudaHarness, DeviceFacts, Images};
use dietcode::core::measure::{Limits, Runner, Summary, fresh_seed};
use dietcode::core::search::Database;
use dietcode::core::syntax::KernelDef;
use dietcode::heartbeat::Heartbeat;
use dietcode::tuning::worker_command;
use dietcode::{Error, Result};

pub(super) use images::Arguments as ImagesArguments;
pub(super) use images::run as run_images;

use self::deadline::{Deadline, left_out};
use self::plan::{Plan, Size};
use self::result::{FORMAT, Outcome, Settings};
use self::shapes::Shapes;
use super::files::check_tuned;
use super::interrupt::{STOP, finish_first};
use super::json::{JsonArgument, check_writable};
use super::progress::Progress;
use super::tune::positive;

/// Checks, tunes and measures CUDA kernels on a device.
///
/// Every micro-kernel that the configs and sets list is compiled, and compared with a reference in double precision at whole and
/// ragged shapes. Then each config is tuned for its instances, and what was found is timed against the default and, where it is a
/// product of matrices, cuBLAS. Where no config is named, those are the dense layer of BERT and the two products of its attention,
/// of f32, tf32, f16 and bf16. Beside the file of --json, each measurement goes to FILE.records.jsonl as soon as it is made. Needs
/// NVIDIA's driver, and nvcc, NVRTC or a folder of images made elsewhere (see gpu-images). Exit status 1 says that something failed
/// or is wrong, or that the run was stopped or came to its deadline, 3 that there is no such device.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  dietcode gpu-check --json results.json
  dietcode gpu-check --device cuda:1 --seconds 600 --deadline 3600 --shapes full --cold-l2
  dietcode gpu-check --strategy enumerate
  dietcode gpu-check --images images
  dietcode gpu-check --device cuda-host --config my_set.json   a rehearsal without a GPU")]
pub(crate) struct Arguments {
    /// The device: cuda:0, cuda:1, or the emulated one, cuda-host, on which small shapes rehearse the whole run.
    #[arg(long, value_name = "DEVICE", default_value = "cuda:0")]
    device: String,
    /// A config or a set of micro-kernels; may be given more than once. Default: those of the binary.
    #[arg(long, value_name = "FILE")]
    config: Vec<PathBuf>,
    /// How long to search, all configs together; checks, finals and comparisons come on top.
    #[arg(long, value_name = "S", default_value = "120", value_parser = positive)]
    seconds: f64,
    /// When the run ends, whatever is left: what is being measured is finished, and what was left out is said. Checks take half of
    /// it at the most. Default: 600, or five times --seconds where that is more.
    #[arg(long, value_name = "S", value_parser = positive)]
    deadline: Option<f64>,
    /// Where the candidates of a config come from: evolution (of all schedules, guided by a model), random (draws of all schedules)
    /// or enumerate (what the config and the sets list). Default: enumerate with --images, else what the config says, which is
    /// evolution if it says nothing.
    #[arg(long, value_name = "STRATEGY")]
    strategy: Option<Strategy>,
    /// A folder that gpu-images has written on another machine. It has what is listed, so that no other --strategy goes with it.
    #[arg(long, value_name = "DIR")]
    images: Option<PathBuf>,
    /// At how many shapes each micro-kernel is checked.
    #[arg(long, value_enum, default_value = "quick")]
    shapes: Shapes,
    /// Empty the second-level cache before each launch that is timed.
    #[arg(long)]
    cold_l2: bool,
    /// Where random choices start: the proposals, the inputs. Default: each config's `search.seed`, and inputs that are new each time.
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    #[command(flatten)]
    json: JsonArgument,
    /// Also write the winners to this folder, as files to be put beside the configs.
    #[arg(long, value_name = "DIR")]
    tuned: Option<PathBuf>,
}

impl Arguments {
    /// The strategy for all configs, if they have none of their own.
    fn strategy(&self) -> Result<Option<Strategy>> {
        match (&self.images, self.strategy) {
            (None, strategy) => Ok(strategy),
            (Some(_), None | Some(Strategy::Enumerate)) => Ok(Some(Strategy::Enumerate)),
            (Some(_), Some(other)) => Err(Error::input(format!(
                "--strategy {other}: found --images too, which have no micro-kernel that is made during a search; expected \
                 enumerate, or no --images on a machine with nvcc or NVRTC"
            ))),
        }
    }

    /// When the run ends.
    fn deadline(&self) -> f64 {
        self.deadline.unwrap_or_else(|| (5.0 * self.seconds).max(600.0))
    }

    /// What is said where a search has not the time that it was given.
    fn shortened(&self) -> Option<String> {
        let most = self.deadline() / 2.0;
        (self.seconds > most).then(|| {
            format!("--seconds {}: a search has at most half of the time until the deadline, {most} s", self.seconds)
        })
    }

    /// What has no meaning without a GPU is refused.
    fn check_emulated(&self) -> Result<()> {
        let refused = |what: &str| Err(Error::input(format!("{what} on the emulated device, cuda-host")));
        match (&self.images, &self.tuned) {
            (Some(_), _) => refused("--images: what gpu-images writes is machine code of GPUs, which does not run"),
            (None, Some(_)) => refused("--tuned: times mean nothing"),
            (None, None) => Ok(()),
        }
    }
}

/// What every part of a run works with.
struct Run<'a> {
    device: CudaDevice,
    seed: u64,
    limits: &'static DeviceLimits,
    facts: DeviceFacts,
    compiler: Arc<CudaCompiler>,
    plan: &'a Plan,
    records: Option<PathBuf>,
    progress: Progress,
    stop: &'a AtomicBool,
    deadline: Deadline,
    /// The device's own, where `limits` may be those of an older one.
    capability: ComputeCapability,
    json: &'a JsonArgument,
    tuned: Option<&'a Path>,
    cold: bool,
}

impl Run<'_> {
    /// The measurement harness of a kernel.
    fn harness(&self, def: &KernelDef) -> Result<CudaHarness> {
        let (compiler, worker) = (Some(Arc::clone(&self.compiler)), worker_command(Some(self.device))?);
        Ok(CudaHarness::new(def.clone(), self.limits, compiler, worker, Limits::default(), self.seed)
            .described(&self.facts))
    }

    fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// Writes what is known so far to a file: a run that is ended from outside loses nothing.
    fn save(&self, outcome: &mut Outcome) -> Result<()> {
        outcome.sum_up();
        if self.json.file().is_some() { self.json.write(outcome) } else { Ok(()) }
    }
}

const EMULATED: &str = "this was a rehearsal on the emulated device: its times mean nothing";

const STOPPED: &str = "that nothing failed says nothing of what was left out";

/// Runs it.
pub(super) fn run(arguments: &Arguments) -> Result<()> {
    let device: CudaDevice = arguments.device.parse()?;
    let records = arguments.json.file().map(|path| path.with_extension("records.jsonl"));
    arguments.json.check()?;
    records.iter().try_for_each(|path| check_writable(path))?;
    if device == CudaDevice::Emulated {
        arguments.check_emulated()?;
    }
    let strategy = arguments.strategy()?;
    if let Some(folder) = &arguments.tuned {
        std::fs::create_dir_all(folder).map_err(|e| Error::of_file(folder, "cannot be made", e))?;
    }
    finish_first();
    let _heartbeat = Heartbeat::start();
    let deadline = Deadline::begin(arguments.deadline(), &STOP)?;
    let images = arguments.images.as_ref().map(|folder| Images::open(folder)).transpose()?;
    let seed = arguments.seed.unwrap_or_else(fresh_seed);
    let facts = describe(device)?;
    let size = if facts.emulated { Size::Rehearsal } else { Size::Whole };
    let (major, minor) = facts.capability;
    let own = ComputeCapability { major, minor };
    let limits = DeviceLimits::nearest(own)?;
    let mut plan = Plan::read(&arguments.config, limits.capability, size)?;
    for problem in &mut plan.problems {
        let search = &mut problem.setup.config.search;
        search.strategy = strategy.unwrap_or(search.strategy);
        search.seed = arguments.seed.unwrap_or(search.seed);
    }
    if let Some(folder) = &arguments.tuned {
        let paths = plan.problems.iter().filter_map(|problem| problem.tuned_path(folder, own));
        check_tuned(&paths.collect::<Vec<_>>())?;
    }
    let compiler = Arc::new(CudaCompiler::find(device, own, images)?);
    records.as_ref().map(|path| Database::create(path)).transpose()?;
    let mut run = Run {
        device,
        seed,
        limits,
        facts: facts.clone(),
        compiler: Arc::clone(&compiler),
        plan: &plan,
        records,
        progress: Progress::new(arguments.seconds),
        stop: &STOP,
        deadline,
        capability: own,
        json: &arguments.json,
        tuned: arguments.tuned.as_deref(),
        cold: arguments.cold_l2,
    };
    run.progress.say(&format!("{} ({own}), compiling with {}", facts.model, compiler.description()));
    limits.in_place_of(own).iter().for_each(|line| run.progress.say(line));
    arguments.shortened().iter().for_each(|line| run.progress.say(line));
    let mut outcome = outcome(arguments, seed, facts, &compiler);
    let measured = measure(&mut run, arguments, &mut outcome);
    // What goes wrong takes nothing from what was seen before.
    let Outcome { micro_kernels, tuned, comparisons, .. } = &outcome;
    outcome.left_out = left_out(&plan, micro_kernels, tuned, comparisons, run.is_stopped());
    outcome.came_to_deadline =
        run.deadline.has_passed() || (measured.is_ok() && !run.is_stopped() && !outcome.left_out.is_empty());
    outcome.complete = measured.is_ok() && !run.is_stopped() && outcome.left_out.is_empty();
    run.progress.finish();
    outcome.sum_up();
    arguments.json.write(&outcome)?;
    arguments.json.print(&table::text(&outcome))?;
    measured?;
    match outcome.failures {
        0 if !outcome.complete => Err(Error::check(format!("{}: {STOPPED}", outcome.ended_by()))),
        0 => Ok(()),
        n => Err(Error::check(format!("{n} checks or measurements failed on {device}"))),
    }
}

fn measure(run: &mut Run<'_>, arguments: &Arguments, outcome: &mut Outcome) -> Result<()> {
    let rates =
        Runner::new(worker_command(Some(run.device))?, Limits::default()).copy_rates().unwrap_or_else(|error| {
            run.progress.say(&format!("device memory was not measured: {error}"));
            Vec::new()
        });
    outcome.copy_bytes_per_second = (!rates.is_empty()).then(|| Summary::of(&rates));
    checks::check_all(run, arguments.shapes, &mut outcome.micro_kernels)?;
    run.save(outcome)?;
    tuning::tune_all(run, arguments.seconds, outcome)?;
    outcome.device_after = describe(run.device).ok();
    Ok(())
}

fn outcome(arguments: &Arguments, seed: u64, facts: DeviceFacts, compiler: &CudaCompiler) -> Outcome {
    Outcome {
        format: FORMAT,
        program: concat!("dietcode ", env!("CARGO_PKG_VERSION")).to_owned(),
        date: today(),
        time: SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |d| d.as_secs()),
        complete: false,
        left_out: Vec::new(),
        came_to_deadline: false,
        note: facts.emulated.then_some(EMULATED),
        settings: Settings {
            device: arguments.device.clone(),
            configs: arguments.config.iter().map(|path| path.display().to_string()).collect(),
            seconds: arguments.seconds,
            deadline: arguments.deadline(),
            strategy: arguments.strategy().ok().flatten().map(Strategy::name),
            // Where it stood on that machine says nothing of the result.
            images: arguments.images.as_ref().and_then(|path| path.file_name()).map(|name| name.display().to_string()),
            shapes: if arguments.shapes == Shapes::Quick { "quick" } else { "full" },
            cold_l2: arguments.cold_l2,
            seed,
            clock: if facts.emulated { "host" } else { "events" },
        },
        device: facts,
        device_after: None,
        toolchain: compiler.description(),
        micro_kernels: Vec::new(),
        measurer: None,
        copy_bytes_per_second: None,
        tuned: Vec::new(),
        comparisons: Vec::new(),
        best_gflops: BTreeMap::new(),
        failures: 0,
    }
}

/// What a device is at this moment.
fn describe(device: CudaDevice) -> Result<DeviceFacts> {
    Runner::new(worker_command(Some(device))?, Limits::default()).describe()
}
