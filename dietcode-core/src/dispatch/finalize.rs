//! From what a search found on a device to the tuned file: finals, figures, the tree, what is predicted around.

use std::collections::BTreeMap;
use std::time::{SystemTime, UNIX_EPOCH};

use dietcode_syntax::KernelDef;

use super::finals::{self, Aim, Decided};
use super::fit::fit;
use super::held_out::{hold, regrown};
use super::outside::outside;
use super::quantities::quantities;
use super::regret::{Dispatched, HeldOut, Regret, Selected};
use super::sampled::sampled;
use super::verify::{Verified, verify};
use super::{Asked, InRange, Instance, Measurement, Provenance, Tree, Tuned, Winners};
use crate::config::{Cache, ChosenFrom, Config, WklInst};
use crate::ir::Program;
use crate::machine::cuda::DeviceLimits;
use crate::machine::{CpuTarget, Target};
use crate::measure::{self, Baselines, Code, Comparison, Device, Machine, Purpose};
use crate::paired::Verdict;
use crate::search::{Candidate, Defaults, Found, Outcome, Part, Tuning, WorkloadInstance};
use crate::sketch::{Blocked, Lowered, MicroKernel};
use crate::{Error, Result, cpu_features};

/// What is measured of a micro-kernel at an instance is in doubt below this share of what its points let expect: they do not tell then what
/// it is like there, and nor may they of others.
const DOUBTFUL: f64 = 0.8;

/// Whom a micro-kernel has lost against that is in doubt.
const EXPECTED: &str = "expected";

/// The winners, and how they were found to be.
#[derive(Clone, Debug)]
pub struct Finalized {
    /// What is written.
    pub tuned: Tuned,
    /// One entry per instance; `None` where the time was over, or the search ended, before it was verified.
    pub verified: Vec<Option<Verified>>,
    /// The micro-kernel of each instance, by its position among what was found.
    pub selected: Vec<usize>,
}

/// What is made of what was found.
#[derive(Clone, Copy, Debug)]
pub struct Searched<'a> {
    /// The config, if there is one: shapes around its instances are predicted too.
    pub config: Option<&'a Config>,
    /// How far below its best micro-kernel an instance may be, as a fraction, for the set to be smaller.
    pub tolerance: f64,
    /// The most micro-kernels that there are to be.
    pub most: usize,
    /// The hash of the space, see [`space_hash`].
    pub space_hash: &'a str,
    /// What came of the search.
    pub found: &'a Found,
}

/// Decides for each instance, measures what was decided beside the baselines (`done` gets their number so far), trains the tree. Where a
/// micro-kernel reaches less than 0.8 of what its points let expect, it is decided once more, and the tree trained again.
///
/// # Errors
///
/// If measuring is not possible at all, or what was decided for fails.
pub fn finalize(
    tuning: &mut Tuning<'_>,
    searched: Searched<'_>,
    baselines: &Baselines,
    mut done: impl FnMut(usize),
) -> Result<Finalized> {
    let found = searched.found;
    let sampled = sampled_shapes(tuning, searched);
    let Searched { tolerance, most, .. } = searched;
    let range = searched.config.map(|config| (config, &sampled));
    let mut decided = finals::decide(tuning, found, Aim { tolerance, most, range })?;
    let mut tree = grown(tuning, searched, &decided)?;
    let held_out = hold(tuning, searched, &mut decided, &mut tree)?;
    tuning.journal.sync()?;
    let mut verified = Vec::new();
    for (at, pick) in decided.picks.iter().enumerate() {
        if tuning.budget.is_over(Part::Comparison) {
            verified.push(None);
            continue;
        }
        verified.push(Some(measured(tuning, found, baselines, (at, *pick))?));
        done(at + 1);
    }
    let mut grown = (tree, held_out);
    let mut is_other = false;
    for (at, seen) in verified.iter_mut().enumerate() {
        let Some(first) = seen else { continue };
        if is_doubtful(tuning, &found.candidates[decided.picks[at]], (at, first))?
            && finals::doubt(tuning, found, &mut decided, most, at)?
        {
            is_other = true;
            *seen = Some(measured(tuning, found, baselines, (at, decided.picks[at]))?);
        }
    }
    if is_other {
        tuning.journal.sync()?;
        grown = regrown(tuning, searched, &decided, grown.1)?;
    }
    let tuned = tuned(tuning, searched, &decided, grown, &verified);
    Ok(Finalized { tuned, verified, selected: decided.picks })
}

/// What is measured of a pick for an instance beside the default and the baselines.
fn measured(
    tuning: &mut Tuning<'_>,
    found: &Found,
    baselines: &Baselines,
    (at, pick): (usize, usize),
) -> Result<Verified> {
    let (settings, device) = ((&tuning.threads[..], tuning.cache), &mut *tuning.device);
    let workload = &tuning.workloads[at];
    let pick = Some(pick).filter(|pick| *pick != found.default[at]);
    let pick = pick.map(|pick| code(device, &found.candidates[pick])).transpose()?;
    let default = code(device, &found.candidates[found.default[at]])?;
    let seen = verify(device, workload, pick, default, baselines, settings)?;
    let Some(failure) = seen.failure() else { return Ok(seen) };
    let (name, shape) = (&device.def().name, &workload.instance.shape);
    let why = format!("`{name}` at {shape:?}: the micro-kernel that was decided for does not pass: {failure}");
    Err(Error::check(why))
}

/// Whether a micro-kernel reaches much less at an instance, on some number of threads, than is expected by its points. It is a verdict on
/// record, so that a run that is continued takes the way that it took before, though what it compares is measured anew.
fn is_doubtful(tuning: &mut Tuning<'_>, candidate: &Candidate, (at, seen): (usize, &Verified)) -> Result<bool> {
    let (name, shapes) = (candidate.micro_kernel.name(), vec![tuning.shape(at)]);
    if let Some(verdict) = tuning.journal.verdict(&name, EXPECTED, &shapes) {
        return Ok(verdict == Verdict::Loses);
    }
    let flops = tuning.workloads[at].instance.flops;
    let reached = |comparison: &Comparison| comparison.sample(seen.taken()).map(|sample| sample.gflops(flops).median);
    let pairs = candidate.predicted.iter().zip(&seen.comparisons);
    let is_doubtful = pairs
        .filter_map(|(row, comparison)| Some((row[at], reached(comparison)?)))
        .any(|(predicted, measured)| measured < DOUBTFUL * predicted);
    let verdict = if is_doubtful { Verdict::Loses } else { Verdict::Equal };
    let outcome = Outcome::Verdict { against: EXPECTED.to_owned(), shapes, verdict, pairs: 0 };
    let report = candidate.report(&*tuning.device);
    tuning.journal.write(candidate, Purpose::Final, report, None, outcome)?;
    Ok(is_doubtful)
}

/// Shapes of the config's range that are none of the instances.
fn sampled_shapes(tuning: &Tuning<'_>, searched: Searched<'_>) -> InRange {
    let def = tuning.device.def();
    let is_possible = |shape: &[i64]| measure::Instance::of(def, shape).is_ok();
    let of = |config: &Config| sampled(config, &Config::shape_vars(def), &wkl_insts(tuning), is_possible);
    searched.config.map_or_else(InRange::new, of)
}

/// The values of the workload variables.
fn wkl_insts(tuning: &Tuning<'_>) -> Vec<WklInst> {
    tuning.workloads.iter().map(|workload| workload.wkl.clone()).collect()
}

fn code<'c>(device: &dyn Device, candidate: &'c Candidate) -> Result<&'c Code> {
    let what = || format!("`{}` of `{}`", candidate.micro_kernel.name(), device.def().name);
    candidate.code(device).map_err(|failure| Error::failed(format!("{} {failure}", what())))
}

/// The tree of what was decided, and of what is known, or predicted, of the micro-kernels at other shapes.
pub(super) fn grown(tuning: &Tuning<'_>, searched: Searched<'_>, decided: &Decided) -> Result<Tree> {
    let (device, candidates) = (&*tuning.device, &searched.found.candidates);
    let vars = Config::shape_vars(device.def());
    let names: Vec<String> = decided.picks.iter().map(|pick| candidates[*pick].micro_kernel.name()).collect();
    // Different workload instances may have one shape, and then one micro-kernel: the first one's.
    let mut labels: BTreeMap<&[i64], &str> = BTreeMap::new();
    for (workload, name) in tuning.workloads.iter().zip(&names) {
        labels.entry(&workload.instance.shape).or_insert(name);
    }
    let labels: Vec<(&[i64], &str)> = labels.into_iter().collect();
    let members: Vec<usize> = decided.members.iter().map(|member| member.at).collect();
    let default = default_tree((tuning, searched.found), decided).filter(|_| !device.is_estimating());
    let micro_kernels = members.iter().map(|at| &candidates[*at].micro_kernel);
    let lowered: Vec<Lowered> =
        micro_kernels.clone().map(|of| of.lowered(device.program(), device.target())).collect::<Result<_>>()?;
    let most = tuning.threads.iter().map(|setting| device.units(*setting)).max().unwrap_or(1);
    let quantities = quantities(device.program(), &lowered.iter().collect::<Vec<_>>(), most as i64);
    let position = |name: &str| candidates.iter().position(|candidate| candidate.micro_kernel.name() == name);
    let of_default = |shape: &[i64]| default.as_ref().and_then(|tree| position(tree.pick(&vars, shape)));
    let known = decided.matrix.known(&members, of_default, device.is_estimating());
    let choices: Vec<Tree> = micro_kernels.map(|of| Tree::Leaf(of.name())).chain(default).collect();
    let tree = fit((&vars, &quantities), &choices, &labels, &known);
    match labels.iter().find(|(shape, name)| tree.pick(&vars, shape) != *name) {
        Some((shape, name)) => Err(Error::check(format!("the decision tree does not lead {shape:?} to {name}"))),
        None => Ok(tree),
    }
}

fn tuned(
    tuning: &Tuning<'_>,
    searched: Searched<'_>,
    decided: &Decided,
    (tree, held_out): (Tree, Option<HeldOut>),
    verified: &[Option<Verified>],
) -> Tuned {
    let (found, workloads, device) = (searched.found, &tuning.workloads, &*tuning.device);
    let def = device.def();
    let vars = Config::shape_vars(def);
    let instance = |at: usize| {
        let workload = &workloads[at];
        Instance {
            wkl: workload.wkl.clone(),
            shape: vars.iter().cloned().zip(workload.instance.shape.iter().copied()).collect(),
            micro_kernel: tree.pick(&vars, &workload.instance.shape).to_owned(),
            measurements: measurements(tuning, &found.candidates[decided.picks[at]], at, verified[at].as_ref()),
        }
    };
    let instances = (0..workloads.len()).map(instance).collect();
    // Of one contestant alone there is nothing to be compared with.
    let is_compared = !decided.matrix.others().is_empty() && decided.matrix.rows.len() > 1;
    let known = searched.config.filter(|_| is_compared || held_out.is_some());
    let regret = known.map(|config| regret(&tree, config, (tuning, found), (decided, held_out)));
    let tree = with_default_outside(tree, (tuning, found), decided);
    let used: Vec<&Candidate> =
        found.candidates.iter().filter(|c| tree.leaves().any(|leaf| leaf == c.micro_kernel.name())).collect();
    let report =
        |c: &&Candidate| Some((c.micro_kernel.name(), c.report(device))).filter(|(_, report)| !report.is_empty());
    Tuned {
        format: super::FORMAT,
        kernel: def.name.clone(),
        target: target_name(device),
        provenance: provenance_on((device, tuning.cache), searched.space_hash, used.first().copied()),
        micro_kernels: used.iter().map(|c| c.micro_kernel.clone()).collect(),
        reports: used.iter().filter_map(report).collect(),
        asked: searched.config.map(|config| Asked {
            weights: workloads.iter().map(|workload| workload.weight).collect(),
            range: config.range.clone(),
            regret: config.regret,
        }),
        regret,
        tree,
        instances,
    }
}

/// The tree outside of the range: what runs where nothing was tuned, if that is several micro-kernels, knows of shapes that are far off
/// all tuned ones, such as of one row or of a long sum. Its micro-kernels come on top of those that the range has.
fn with_default_outside(tree: Tree, (tuning, found): (&Tuning<'_>, &Found), decided: &Decided) -> Tree {
    match default_tree((tuning, found), decided) {
        Some(default) => outside(tree, &Config::shape_vars(tuning.device.def()), &decided.matrix.shapes, default),
        None => tree,
    }
}

/// The tree that serves where nothing was tuned, if that is several micro-kernels, all of them found here, and there is a range.
fn default_tree((tuning, found): (&Tuning<'_>, &Found), decided: &Decided) -> Option<Tree> {
    let Target::Cpu(target) = tuning.device.target() else { return None };
    let default = Winners::default_for(tuning.device.program(), target).tree;
    let is_there = |leaf: &str| found.candidates.iter().any(|candidate| candidate.micro_kernel.name() == leaf);
    let is_known = matches!(default, Tree::Split(_)) && default.leaves().all(is_there);
    Some(default).filter(|_| is_known && !decided.matrix.others().is_empty())
}

/// How far the tree stays behind the best of the contestants.
fn regret(
    tree: &Tree,
    config: &Config,
    (tuning, found): (&Tuning<'_>, &Found),
    (decided, held_out): (&Decided, Option<HeldOut>),
) -> Regret {
    let selected = decided.members.iter();
    let selected = selected
        .map(|member| Selected { micro_kernel: found.candidates[member.at].micro_kernel.name(), mean: member.regret });
    let all = dispatched((tuning, found), decided, tree, 0..decided.matrix.shapes.len());
    let of = (config.range_of(&wkl_insts(tuning)), decided.matrix.predicted());
    Regret::of(of, selected.collect(), &all, held_out)
}

/// What the tree leads shapes of the matrix (their positions) to: it may have failed at one of them.
pub(super) fn dispatched(
    (tuning, found): (&Tuning<'_>, &Found),
    decided: &Decided,
    tree: &Tree,
    columns: impl IntoIterator<Item = usize>,
) -> Vec<Dispatched> {
    let vars = Config::shape_vars(tuning.device.def());
    let matrix = &decided.matrix;
    let rows: BTreeMap<String, usize> =
        matrix.rows.iter().map(|row| (found.candidates[*row].micro_kernel.name(), *row)).collect();
    let at = |column: usize| {
        let micro_kernel = tree.pick(&vars, &matrix.shapes[column]).to_owned();
        let region = tree.region(&vars, &matrix.shapes[column]);
        let regret = matrix.regret_at(rows.get(&micro_kernel).copied(), column);
        Dispatched { region, micro_kernel, weight: matrix.weights[column], regret }
    };
    columns.into_iter().map(at).collect()
}

/// What was predicted and measured of an instance's micro-kernel; nothing where it was not measured, or is not known. Where the run was
/// stopped before, what was measured is a figure of the search.
fn measurements(
    tuning: &Tuning<'_>,
    candidate: &Candidate,
    at: usize,
    verified: Option<&Verified>,
) -> Vec<Measurement> {
    let measurement = |(n, threads): (usize, &usize)| {
        let flops = tuning.workloads[at].instance.flops;
        let (median, iqr) = match verified {
            Some(v) => {
                v.comparisons[n].sample(v.taken()).map(|s| s.gflops(flops)).map(|seen| (seen.median, seen.iqr))?
            }
            None => (candidate.gflops[n][at]?, 0.0),
        };
        Some(Measurement::of(*threads, candidate.predicted[n][at], median, iqr))
    };
    tuning.threads.iter().enumerate().filter_map(measurement).collect()
}

/// What tuned files for a device are called: `cpu`, or the GPU's own compute capability. Where that is newer than those that are known, no build has
/// it as a target, and none takes the file for that of an older one.
pub fn target_name(device: &dyn Device) -> String {
    match device.machine() {
        Machine::Cpu { .. } => super::CPU.to_owned(),
        Machine::Cuda { capability, .. } => capability.clone(),
    }
}

/// The hash of what a config lets a search on a device choose from.
pub fn space_hash(config: &Config, device: &dyn Device) -> String {
    config.space_hash(device.target().kind(), config.search.strategy.into())
}

/// Where winners on a CPU come from that were chosen from a set: measured today.
pub fn provenance(def: &KernelDef, config: &Config, target: &CpuTarget) -> Provenance {
    Provenance {
        source_hash: format!("{:016x}", def.source_hash()),
        space_hash: config.space_hash(super::CPU, ChosenFrom::Set),
        cpu: target.model.clone(),
        device: String::new(),
        features: cpu_features::names(target.features).into_iter().map(str::to_owned).collect(),
        compiler: target.compiler.clone(),
        estimated: false,
        cache: Cache::Warm,
        date: today(),
    }
}

fn provenance_on((device, cache): (&dyn Device, Cache), space_hash: &str, winner: Option<&Candidate>) -> Provenance {
    let compiled = winner.and_then(|winner| winner.code(device).ok()?.toolchain());
    let (cpu, gpu, compiler) = match device.machine() {
        Machine::Cpu { cpu, compiler, .. } => (cpu.clone(), String::new(), &**compiler),
        Machine::Cuda { device, toolchain, .. } => (String::new(), device.clone(), compiled.unwrap_or(toolchain)),
    };
    let features = device.cpu().map_or_else(Vec::new, |cpu| cpu_features::names(cpu.features));
    Provenance {
        source_hash: format!("{:016x}", device.def().source_hash()),
        space_hash: space_hash.to_owned(),
        cpu,
        device: gpu,
        features: features.into_iter().map(str::to_owned).collect(),
        // Of nvcc the version alone.
        compiler: compiler.strip_prefix("nvcc ").unwrap_or(compiler).to_owned(),
        estimated: device.is_estimating(),
        cache,
        date: today(),
    }
}

/// The micro-kernels that run on a device where nothing was tuned.
///
/// # Errors
/// [`crate::ErrorKind::Unavailable`] if there is none.
pub fn defaults(device: &dyn Device, workloads: &[WorkloadInstance]) -> Result<Defaults> {
    let (def, program) = (device.def(), device.program());
    match device.target() {
        Target::Cpu(target) => {
            let default = Winners::default_for(program, target);
            let of = workloads.iter().map(|workload| default.decision.pick(&workload.instance.shape)).collect();
            Ok(Defaults::new(program, default.schedules, of))
        }
        Target::Cuda(limits) => {
            let micro_kernels = vec![default_on_gpu(def, program, limits)?];
            Ok(Defaults { micro_kernels, of: vec![0; workloads.len()] })
        }
    }
}

/// The micro-kernel that runs on a GPU where nothing was tuned.
///
/// # Errors
/// [`crate::ErrorKind::Unavailable`] if no GPU can run the nest.
pub fn default_on_gpu(def: &KernelDef, program: &Program, limits: &DeviceLimits) -> Result<MicroKernel> {
    let none = || {
        let why = "its nest has no loop that blocks and threads could share";
        Error::unavailable(format!("`{}` cannot run on {}: {why}", def.name, limits.capability))
    };
    Ok(Blocked::default_for(program, limits).ok_or_else(none)?.micro_kernel(program, limits)?.0)
}

/// The day in UTC, as YYYY-MM-DD.
pub fn today() -> String {
    day(SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs()))
}

/// The day in UTC of a time in seconds since 1970, as YYYY-MM-DD.
pub fn day(seconds: u64) -> String {
    let (year, month, day) = civil((seconds / 86_400) as i64);
    format!("{year:04}-{month:02}-{day:02}")
}

/// The date of a day counted from 1970-01-01 (Howard Hinnant, *chrono-Compatible Low-Level Date Algorithms*).
fn civil(days: i64) -> (i64, i64, i64) {
    let days = days + 719_468;
    let era = days.div_euclid(146_097);
    let of_era = days.rem_euclid(146_097);
    let year_of_era = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted = (5 * of_year + 2) / 153;
    let (day, month) = (of_year - (153 * shifted + 2) / 5 + 1, if shifted < 10 { shifted + 3 } else { shifted - 9 });
    (year_of_era + era * 400 + i64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicBool;

    use super::*;
    use crate::config::Scheduling;
    use crate::dispatch::Expected;
    use crate::measure::{Failure, Instance as Workload, SimulatedDevice};
    use crate::search::strategy::enumerated;
    use crate::search::{Budget, Course, Database, Event, Identity, Journal, Task, search};
    use crate::testing::dense;

    /// A micro-kernel with so many threads along the rows.
    fn blocked(threads: i64) -> MicroKernel {
        let blocked = Blocked { thread: [("i".to_owned(), threads)].into(), ..Blocked::default() };
        let limits = DeviceLimits::of("sm_90".parse().unwrap()).unwrap();
        blocked.micro_kernel(&crate::frontend::program(&dense()), limits).unwrap().0
    }

    /// What a search on a simulated GPU comes to, on which two micro-kernels, the first the default, reach these GFLOP/s at 16 and
    /// 512 rows; none: they fail.
    fn finalized(default: [Option<f64>; 2], large: [Option<f64>; 2]) -> Result<Finalized> {
        let limits = DeviceLimits::of("sm_90".parse().unwrap()).unwrap();
        let gflops = move |name: &str, m: i64| {
            let own = if name == blocked(32).name() { default } else { large };
            own[usize::from(m > 16)]
        };
        let seconds = move |name: &str, instance: &Workload, _: usize| {
            let gflops = gflops(name, instance.shape[0]).ok_or(Failure::Timeout { seconds: 1.0 })?;
            Ok(instance.flops / gflops / 1e9)
        };
        let device = SimulatedDevice::new(dense(), Target::Cuda(*limits), Box::new(seconds));
        let workload = |m: i64| {
            let instance = Workload::of(&dense(), &[m, 64, 32]).unwrap();
            WorkloadInstance { wkl: [("M".to_owned(), m)].into(), weight: 1.0, instance }
        };
        let workloads = vec![workload(16), workload(512)];
        let (stop, watch) = (AtomicBool::new(false), |_: Event| ());
        let budget = Budget::start(device.clock(), 1000.0, &stop);
        let identity = Identity { seed: 0, space_hash: String::new() };
        let journal = Journal::begin(Database::in_memory(), &device, identity);
        let defaults = Defaults { micro_kernels: vec![blocked(32)], of: vec![0, 0] };
        let tuning = Tuning::new(Box::new(device), workloads, vec![0], defaults, budget, journal, &watch);
        let mut tasks = [Task { tuning, proposer: enumerated([blocked(64)]), weight: 1.0, per_round: 8 }];
        let course = Course { trials: None, until: None, scheduling: Scheduling::default(), seed: 0 };
        let found = search(&mut tasks, &course).swap_remove(0)?;
        let searched = Searched { config: None, tolerance: 0.02, most: 8, space_hash: "s", found: &found };
        finalize(&mut tasks[0].tuning, searched, &Baselines::on_gpu(None, false), |_| ())
    }

    #[test]
    fn what_is_selected_is_nowhere_slower_than_the_default_and_has_not_failed() {
        let selected = |default, large| finalized(default, large).unwrap().selected;
        let hundred = [Some(100.0), Some(100.0)];
        assert_eq!(selected(hundred, [Some(99.0), Some(300.0)]), [0, 1], "also where one alone would be close enough");
        assert_eq!(selected(hundred, [Some(99.0), None]), [0, 0]);
        let error = finalized([None, None], hundred).unwrap_err().to_string();
        assert!(error.contains("the default micro-kernel") && error.contains("was still running"), "{error}");
    }

    #[test]
    fn the_file_of_winners_is_one_that_a_build_reads() {
        let Finalized { tuned, verified, .. } =
            finalized([Some(100.0), Some(100.0)], [Some(50.0), Some(300.0)]).unwrap();
        assert!(verified.iter().flatten().count() == 2 && tuned.provenance.estimated);
        let file = tempfile::NamedTempFile::new().unwrap();
        tuned.save(file.path()).unwrap();
        let expected = Expected {
            kernel: "dense",
            target: "sm_90",
            shape_vars: &Config::shape_vars(&dense()),
            source_hash: dense().source_hash(),
            space_hashes: &["s".to_owned()],
            cpu: "",
            features: &[],
            compiler: Some("none"),
        };
        assert_eq!(Tuned::load(file.path(), &expected).unwrap(), tuned);
        assert_eq!(tuned.micro_kernels.len(), 2);
        let seen = &tuned.instances[1].measurements[0];
        assert!((seen.gflops_measured - 300.0).abs() < 1e-3 && seen.gflops_predicted > 0.0, "{seen:?}");
    }

    #[test]
    fn dates_are_those_of_the_calendar() {
        for (days, date) in
            [(0, (1970, 1, 1)), (11_016, (2000, 2, 29)), (11_017, (2000, 3, 1)), (20_453, (2025, 12, 31))]
        {
            assert_eq!(civil(days), date);
        }
    }
}
