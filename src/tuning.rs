//! Tuning, as `dietcode tune` does it: from a config to a tuned file, for the CPU, for a GPU, or for one that is not there.

use std::collections::HashSet;
use std::ffi::OsString;
use std::path::PathBuf;
use std::str::FromStr;
use std::sync::Arc;

use dietcode_core::config::{Config, Evolution, Model, Search, Strategy};
use dietcode_core::cost_model::{Analytic, CostModel, Learned, Random};
use dietcode_core::dispatch::{Finalized, Searched, defaults, finalize, space_hash};
use dietcode_core::doing::doing;
use dietcode_core::ir::Program;
use dietcode_core::machine;
use dietcode_core::machine::cuda::{ComputeCapability, DeviceLimits};
use dietcode_core::measure::baselines::BlasLibrary;
use dietcode_core::measure::cuda::{CudaCompiler, CudaDevice, CudaHarness};
use dietcode_core::measure::{Baselines, Clock, CpuHarness, Device, Instance, Limits, Runner, fresh_seed, worker};
use dietcode_core::search::strategy::{Propose, drawn, enumerated, evolved};
use dietcode_core::search::{
    self, Budget, Course, Database, Event, Found, Identity, Journal, Task, Tuning, WorkloadInstance, search,
};
use dietcode_core::sketch::rules::{CustomRules, Tf32};
use dietcode_core::sketch::{MicroKernel, Space};
use dietcode_core::{Error, ErrorKind, Result};

pub use dietcode_core::dispatch::Tuned;

/// What is tuned for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// This machine's CPU.
    Cpu,
    /// The first CUDA device; where there is none, the config's devices, by estimates.
    Cuda,
    /// A CUDA device that the emulator stands for, by estimates.
    CudaHost,
}

impl FromStr for Target {
    type Err = Error;

    fn from_str(text: &str) -> Result<Target> {
        match text {
            "cpu" => Ok(Target::Cpu),
            "cuda" => Ok(Target::Cuda),
            "cuda-host" => Ok(Target::CudaHost),
            _ => {
                let text = text.escape_debug();
                Err(Error::input(format!("found the unknown target `{text}`, expected one of cpu, cuda, cuda-host")))
            }
        }
    }
}

/// The word by which a program starts itself as a worker.
pub(crate) const WORKER: &str = "worker";

/// Measures for a parent process, if this one was started for that: [`tune`] measures in processes of the same program, so `main`
/// of a program that tunes begins with it. Otherwise it returns at once.
///
/// # Errors
/// If the connection to the parent breaks.
pub fn work_if_asked() -> Result<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let device = match &*words {
        [first] if first == WORKER => None,
        [first, device] if first == WORKER => Some(device.parse()?),
        _ => return Ok(()),
    };
    worker::serve(device, std::io::stdin().lock(), std::io::stdout().lock())?;
    std::process::exit(0)
}

/// The command of a worker for a device, or for the CPU: this same program.
///
/// # Errors
/// If it does not know where it is.
pub fn worker_command(device: Option<CudaDevice>) -> Result<Vec<OsString>> {
    let own = std::env::current_exe()
        .map_err(|e| Error::unavailable("this program does not know its own path").caused_by(e))?;
    Ok([own.into(), WORKER.into()].into_iter().chain(device.map(|device| device.to_string().into())).collect())
}

/// Finds the micro-kernels of a config that are fastest on a target, within a budget of time and the config's trials. Nothing is
/// written: [`Tuned::save`] to [`Config::tuned_path`] is what a build reads.
///
/// Of several devices that are estimated, it tunes for the first that the config names.
///
/// `rules` are the user's own, by name: the config's `search.rules` may name them. The program is started again to measure; see
/// [`work_if_asked`].
///
/// # Errors
/// What is wrong with the config or a rule; a compiler that is missing; a default micro-kernel that fails.
pub fn tune(config: &Config, rules: &CustomRules, target: Target, budget: &Budget<'_>) -> Result<Tuned> {
    let watch = |_: Event| ();
    let mut opened = open(config, target, None, &|_| Ok(None), &|_| ())?;
    let opened = opened.swap_remove(0);
    let journal = |device: &dyn Device, identity| Journal::begin(Database::in_memory(), device, identity);
    let workloads = workloads(config)?;
    let mut task = Kernel { config, rules, workloads: &workloads }.task(opened.device, budget, &watch, journal)?;
    let found = search(std::slice::from_mut(&mut task), &course(config)).swap_remove(0)?;
    Ok(finish(config, &mut task, &found, &opened.baselines, |_| ())?.tuned)
}

/// The course of a search for one config alone.
pub fn course(config: &Config) -> Course {
    let Search { trials, ref scheduler, seed, .. } = config.search;
    let trials = trials.map(|trials| usize::try_from(trials).unwrap_or(usize::MAX));
    Course { trials, until: None, scheduling: scheduler.clone(), seed }
}

/// A device with what its kernel is compared with.
pub struct Opened {
    /// The device.
    pub device: Box<dyn Device>,
    /// The others.
    pub baselines: Baselines,
}

/// Finds a BLAS to compare with.
pub type FindBlas<'a> = &'a dyn Fn(&mut CpuHarness) -> Result<Option<BlasLibrary>>;

/// The devices of a target: one, but for GPUs that are not there, of which a config may name several. Inputs are made from `seed`;
/// messages for people go to `say`.
///
/// # Errors
/// A compiler that is missing; a config that names no GPU.
pub fn open(
    config: &Config,
    target: Target,
    seed: Option<u64>,
    blas: FindBlas<'_>,
    say: &dyn Fn(&str),
) -> Result<Vec<Opened>> {
    let def = config.kernel_def()?;
    if target == Target::Cpu {
        let worker = worker_command(None)?;
        let mut harness = CpuHarness::open(def, &config.cpu.march, worker, Limits::default(), seed)?;
        let cpu = harness.cpu();
        say(&format!("{}, {} cores, -march={}, {}", cpu.model, cpu.cores, cpu.march, cpu.compiler));
        let blas = blas(&mut harness)?;
        let baselines = Baselines::new(&harness, blas)?;
        return Ok(vec![Opened { device: Box::new(harness), baselines }]);
    }
    let named = config.cuda.as_ref().map(|cuda| &cuda.capabilities[..]).unwrap_or_default();
    let unnamed = || {
        let path = config.path.display();
        Error::input(format!("{path}: found no `targets.cuda`, expected one with the `capabilities` to tune for"))
    };
    let seed = seed.unwrap_or_else(fresh_seed);
    let estimating = |capability: &ComputeCapability| -> Result<Opened> {
        let (limits, worker) = (DeviceLimits::of(*capability)?, worker_command(Some(CudaDevice::Emulated))?);
        let harness = CudaHarness::estimating(def.clone(), limits, worker, seed)?;
        say(&format!("{capability} by estimates: figures are what the model makes of the compiler's report"));
        Ok(Opened { device: Box::new(harness), baselines: Baselines::on_gpu(None, false) })
    };
    if target == Target::CudaHost {
        // What the emulated device runs: the newest code that is for it or an older one.
        let emulated = named.iter().filter(|capability| **capability <= EMULATED).max().ok_or_else(unnamed)?;
        return Ok(vec![estimating(emulated)?]);
    }
    let device = CudaDevice::Cuda(0);
    let worker = worker_command(Some(device))?;
    match Runner::new(worker.clone(), Limits::default()).describe() {
        Ok(facts) => {
            let (major, minor) = facts.capability;
            let capability = ComputeCapability { major, minor };
            let limits = DeviceLimits::nearest(capability)?;
            limits.in_place_of(capability).iter().for_each(|line| say(line));
            let compiler = Arc::new(CudaCompiler::find(device, capability, None)?);
            say(&format!("{} ({capability}), compiling with {}", facts.model, compiler.description()));
            let harness = CudaHarness::new(def, limits, Some(compiler), worker, Limits::default(), seed);
            let baselines = Baselines::on_gpu(facts.cublas, config.search.tf32 == Tf32::Once);
            Ok(vec![Opened { device: Box::new(harness.described(&facts)), baselines }])
        }
        Err(error) if error.kind() == ErrorKind::Unavailable => {
            say(&format!("no GPU: {error}"));
            if named.is_empty() {
                return Err(unnamed());
            }
            named.iter().map(estimating).collect()
        }
        Err(error) => Err(error),
    }
}

/// What the emulated device is dispatched as.
const EMULATED: ComputeCapability = ComputeCapability { major: 9, minor: 0 };

/// The instances of a config.
fn workloads(config: &Config) -> Result<Vec<WorkloadInstance>> {
    let def = config.kernel_def()?;
    let vars = Config::shape_vars(&def);
    let weighted = config.wkl_insts.iter().zip(&config.weights);
    weighted
        .map(|(wkl, weight)| {
            let instance = Instance::of(&def, &config.shape_of(&vars, wkl)?)?;
            Ok(WorkloadInstance { wkl: wkl.clone(), weight: *weight, instance })
        })
        .collect()
}

/// A kernel that is to be tuned.
#[derive(Clone, Copy)]
pub struct Kernel<'a> {
    /// Its config.
    pub config: &'a Config,
    /// The user's own rules.
    pub rules: &'a CustomRules,
    /// The instances.
    pub workloads: &'a [WorkloadInstance],
}

impl Kernel<'_> {
    /// Its search on a device, before the first round.
    ///
    /// # Errors
    /// What is wrong with a rule; a kernel that has no default on the device.
    pub fn task<'t>(
        self,
        device: Box<dyn Device>,
        budget: &Budget<'t>,
        watch: &'t dyn Fn(Event),
        journal: impl FnOnce(&dyn Device, Identity) -> Journal,
    ) -> Result<Task<'t>> {
        let (config, workloads) = (self.config, self.workloads.to_vec());
        let threads = settings(config, &*device);
        let proposer = self.proposer(&*device, &|text| watch(Event::Notice(text)))?;
        let identity = Identity { seed: config.search.seed, space_hash: self.space_hash(&*device, &threads) };
        let journal = journal(&*device, identity);
        let defaults = defaults(&*device, &workloads)?;
        let budget = budget.clone().judging(config.regret.is_some());
        let mut tuning = Tuning::new(device, workloads, threads, defaults, budget, journal, watch);
        tuning.cache = config.search.cache;
        let Search { weight, ref evolution, .. } = config.search;
        Ok(Task { tuning, proposer, weight, per_round: evolution.per_round })
    }

    fn proposer(&self, device: &dyn Device, say: &dyn Fn(String)) -> Result<Box<dyn Propose>> {
        let (settings, def) = (&self.config.search, device.def());
        if settings.strategy == Strategy::Enumerate {
            return self.listed(device, say);
        }
        let instances: Vec<Vec<i64>> = self.workloads.iter().map(|workload| workload.instance.shape.clone()).collect();
        let custom = self.config.custom_rules(self.rules.clone(), device.target())?;
        let _doing = doing(format!("making the sketches of `{}`", def.name));
        let mut space = Space::generate(def, device.target().clone(), &instances, &custom)?;
        let from = format!("{} of {} sketches", settings.strategy, space.sketches.len());
        let evolution = settings.evolution.clone();
        if settings.strategy == Strategy::Random {
            say(from);
            return Ok(drawn(space, evolution, settings.seed));
        }
        let named = settings.structure.as_ref().is_some_and(|named| named.by_kind.contains_key(device.target().kind()));
        let most = most_templates(&evolution);
        let starts = if named { Vec::new() } else { space.starts(most) };
        let listed = self.templates(device).into_iter().map(|listed| listed.trace.before_postproc());
        space.templates = listed.take(most - starts.len().min(most / 2)).chain(starts).take(most).collect();
        let model = cost_model(settings.model, device.target().clone(), settings.seed);
        say(format!("{from}, guided by the model \"{}\"", model.name()));
        Ok(evolved(space, model, evolution, settings.seed))
    }

    /// What of the config's generators an evolution begins with.
    fn templates(&self, device: &dyn Device) -> Vec<MicroKernel> {
        let (Search { seed, evolution, .. }, program) = (&self.config.search, device.program());
        let most = most_templates(evolution);
        match (device.gpu(), device.cpu()) {
            (Some(limits), _) => valid_on_gpu(self.config, program, limits).take(most).collect(),
            (None, Some(cpu)) => {
                search::Candidates::of(&self.config.cpu, program, cpu, Some(most as u64), *seed).candidates
            }
            (None, None) => Vec::new(),
        }
    }

    /// What the config's generators list for the device.
    fn listed(&self, device: &dyn Device, say: &dyn Fn(String)) -> Result<Box<dyn Propose>> {
        let (config, program) = (self.config, device.program());
        if let (Some(limits), Some(cuda)) = (device.gpu(), &config.cuda) {
            let listed = listed_on_gpu(config, program, limits);
            say(format!("{} candidates from {} schedules", listed.len(), cuda.count()));
            return Ok(enumerated(listed));
        }
        let Some(cpu) = device.cpu() else { return Ok(enumerated(Vec::new())) };
        let listed = search::Candidates::of(&config.cpu, program, cpu, config.search.trials, config.search.seed);
        say(format!("{} candidates from {} schedules", listed.candidates.len(), listed.total));
        for (reason, count) in &listed.invalid {
            say(format!("  {count} not valid: {reason}"));
        }
        Ok(enumerated(listed.candidates))
    }

    /// Runs on the same instances and settings, that choose in the same way from the same, have one.
    pub fn space_hash(&self, device: &dyn Device, threads: &[usize]) -> String {
        let Search { strategy, model, evolution, rules, structure, tf32, cache, .. } = &self.config.search;
        let structure = structure.as_ref().and_then(|named| named.by_kind.get(device.target().kind()));
        let rules: Vec<_> = rules.iter().map(|(block, rule)| (block, &rule.by)).collect();
        let may_round = *tf32 == Tf32::Once && device.gpu().is_some();
        let instances: Vec<(&[i64], f64)> = self.workloads.iter().map(|p| (&*p.instance.shape, p.weight)).collect();
        let space = space_hash(self.config, device);
        let templates: Vec<String> = match strategy {
            Strategy::Evolution => self.templates(device).iter().map(MicroKernel::name).collect(),
            Strategy::Random | Strategy::Enumerate => Vec::new(),
        };
        Identity::hash(&(
            (space, templates),
            strategy,
            model,
            evolution,
            rules,
            (structure, may_round, cache.name()),
            threads,
            instances,
        ))
    }
}

/// How many templates there are in the first generation of an evolution at the most.
fn most_templates(evolution: &Evolution) -> usize {
    evolution.population.div_ceil(4)
}

/// More candidates than this are not listed for a GPU: each is compiled for seconds.
const MOST_LISTED: usize = 4096;

/// What a config's generators list for a GPU, as far as it is valid there, each trace once: at most as many as the config has trials.
pub fn listed_on_gpu(config: &Config, program: &Program, limits: &DeviceLimits) -> Vec<MicroKernel> {
    let most = config.search.trials.and_then(|trials| usize::try_from(trials).ok()).unwrap_or(MOST_LISTED);
    valid_on_gpu(config, program, limits).take(most.min(MOST_LISTED)).collect()
}

/// All of it, one after the other.
fn valid_on_gpu<'a>(
    config: &'a Config,
    program: &'a Program,
    limits: &'a DeviceLimits,
) -> impl Iterator<Item = MicroKernel> + 'a {
    let valid = config.cuda.iter().flat_map(move |cuda| cuda.candidates_on(program, limits).flatten());
    let mut names = HashSet::new();
    valid
        .filter_map(move |blocked| Some(blocked.micro_kernel(program, limits).ok()?.0))
        .filter(move |micro_kernel| names.insert(micro_kernel.name()))
}

/// The numbers of threads that a config asks for, 0 standing for all cores; on a GPU there is none to choose.
pub fn settings(config: &Config, device: &dyn Device) -> Vec<usize> {
    let Some(cpu) = device.cpu() else { return vec![0] };
    let asked: Vec<usize> = config.search.threads.iter().map(|n| usize::try_from(*n).unwrap_or(0)).collect();
    resolve_threads(&asked, cpu.cores)
}

/// Numbers of threads as they are asked for, 0 standing for all cores; each once, in order.
pub fn resolve_threads(asked: &[usize], cores: i64) -> Vec<usize> {
    let cores = usize::try_from(cores).unwrap_or(1).max(1);
    let mut threads: Vec<usize> = Vec::new();
    for n in asked.iter().map(|n| if *n == 0 { cores } else { *n }) {
        if !threads.contains(&n) {
            threads.push(n);
        }
    }
    threads
}

/// What guides an evolution on a target; random numbers start at `seed`.
pub fn cost_model(model: Model, target: machine::Target, seed: u64) -> Box<dyn CostModel> {
    match model {
        Model::Analytic => Box::new(Analytic { target }),
        Model::Learned => Box::new(Learned::new(target, None)),
        Model::Random => Box::new(Random { seed }),
    }
}

/// Decides among what a search found, measures that beside the baselines (`done` gets the number of instances so far), and makes the
/// tuned file.
///
/// # Errors
/// As [`finalize`].
pub fn finish(
    config: &Config,
    task: &mut Task<'_>,
    found: &Found,
    baselines: &Baselines,
    done: impl FnMut(usize),
) -> Result<Finalized> {
    let space_hash = space_hash(config, &*task.tuning.device);
    let Search { tolerance, micro_kernels: most, .. } = config.search;
    let searched = Searched { config: Some(config), tolerance, most, space_hash: &space_hash, found };
    finalize(&mut task.tuning, searched, baselines, done)
}

/// A budget of so many seconds on the machine's clock.
pub fn budget(seconds: f64, stop: &std::sync::atomic::AtomicBool) -> Budget<'_> {
    Budget::start(Clock::default(), seconds, stop)
}

/// The file of a config's records unless another one is named.
pub fn records_path(config: &Config, device: &dyn Device) -> PathBuf {
    config.path.with_extension(format!("{}.records.jsonl", dietcode_core::dispatch::target_name(device)))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use dietcode_core::measure::SimulatedDevice;

    use super::*;

    #[test]
    fn runs_with_other_rules_do_not_continue_each_other() {
        let folder = tempfile::tempdir().unwrap();
        let hash = |sketch: &str, comment: &str| {
            fs::write(folder.path().join("sketch.json"), sketch).unwrap();
            let text = format!(
                r#"{{ {comment} "kernel": {{ "source": "ops.rs", "function": "f" }}, "shape": {{ "N": 8 }}, "wkl_insts": [{{}}],
                    "search": {{ "rules": {{ "f": "sketch.json" }} }} }}"#
            );
            let config = Config::parse(folder.path().join("c.json"), text).unwrap();
            let def = dietcode_core::syntax::scan(
                "#[dynamic_kernel] pub fn f(x: &[f32; N], y: &mut [f32; N]) { for i in 0..N { y[i] = x[i]; } }",
            );
            let def = def.unwrap()[0].parse().unwrap();
            let target = machine::Target::Cuda(*DeviceLimits::of(EMULATED).unwrap());
            let device = SimulatedDevice::new(def, target, Box::new(|_, _, _| Ok(1.0)));
            Kernel { config: &config, rules: &CustomRules::default(), workloads: &[] }.space_hash(&device, &[1])
        };
        let (one, other) = (r#"{"instructions": []}"#, r#"{"instructions": ["decompose_reduction"]}"#);
        assert_eq!(hash(one, ""), hash(one, "\"comment\": \"moves the rule\",\n"));
        assert_ne!(hash(one, ""), hash(other, ""));
    }

    #[test]
    fn each_number_of_threads_is_measured_once() {
        assert_eq!(resolve_threads(&[1, 0], 2), [1, 2]);
        assert_eq!(resolve_threads(&[1, 0], 1), [1]);
        assert_eq!(resolve_threads(&[0, 4, 4, 3], 4), [4, 3]);
    }

    #[test]
    fn an_unknown_target_is_told() {
        let error = "gpu".parse::<Target>().unwrap_err().to_string();
        assert!(error.contains("cpu, cuda, cuda-host"), "{error}");
    }
}
