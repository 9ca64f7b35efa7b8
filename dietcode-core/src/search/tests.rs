//! Searches on simulated devices, whose clocks go on by what is compiled and measured.

use std::cell::RefCell;
use std::collections::HashSet;
use std::rc::Rc;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};

use dietcode_syntax::KernelDef;

use super::strategy::{Propose, evolved};
use super::testing::{dense, target};
use super::*;
use crate::config::Evolution;
use crate::cost_model::Analytic;
use crate::machine::Target;
use crate::machine::cuda::DeviceLimits;
use crate::measure::{
    Clock, Code, Compile, Device, Failure, Implementation, Instance, Measured, Purpose, SimulatedDevice, Subject,
    Timing, one_by_one,
};
use crate::parallel::lock;
use crate::schedule::{Instruction, Size};
use crate::sketch::rules::CustomRules;
use crate::sketch::{Blocked, MicroKernel, Space as Schedules, Tiled};

/// A search that evolves traces for so many seconds of the device's clock: the names that it tried, in order, and the best figure.
fn searched(target: &Target, seconds: f64) -> (Vec<String>, f64) {
    recorded(target, seconds, Database::in_memory())
}

/// An evolution that begins no round before what was measured in the one before is on the disk.
struct Durable(Box<dyn Propose>);

impl Propose for Durable {
    fn propose(&mut self, tuning: &Tuning<'_>, want: usize) -> crate::Result<Vec<Proposal>> {
        assert_eq!(tuning.journal.database.pending(), 0);
        self.0.propose(tuning, want)
    }

    fn prepare(&mut self, tuning: &Tuning<'_>) {
        self.0.prepare(tuning);
    }

    fn settle(&mut self, is_wanted: bool) {
        self.0.settle(is_wanted);
    }
}

/// A kernel on a simulated device, with its records: one instance, for which any figures are as good as others.
fn task<'a>(
    def: &KernelDef,
    target: &Target,
    database: Database,
    (seconds, stop): (f64, &'a AtomicBool),
    watch: &'a dyn Fn(Event),
) -> Task<'a> {
    let times = |name: &str, instance: &Instance, _: usize| {
        // Any figures that have nothing to do with the model.
        let hash = blake3::hash(name.as_bytes()).as_bytes()[0];
        Ok(instance.flops / (1.0 + f64::from(hash)) / 1e9)
    };
    let device = SimulatedDevice::new(def.clone(), target.clone(), Box::new(times));
    let instance = Instance::of(def, &[64]).unwrap();
    let workloads = vec![WorkloadInstance { wkl: [("M".to_owned(), 64)].into(), weight: 1.0, instance }];
    let settings = Evolution { population: 8, generations: 1, per_round: 4, ..Evolution::default() };
    let space = Schedules::generate(def, target.clone(), &[vec![64]], &CustomRules::default()).unwrap();
    let evolution = evolved(space, Box::new(Analytic { target: target.clone() }), settings, 3);
    let budget = Budget::start(device.clock(), seconds, stop);
    let journal = Journal::begin(database, &device, Identity { seed: 3, space_hash: String::new() });
    let program = crate::frontend::program(def);
    let default = match target {
        Target::Cpu(_) => MicroKernel::nest(&program),
        Target::Cuda(limits) => {
            Blocked::default_for(&program, limits).unwrap().micro_kernel(&program, limits).unwrap().0
        }
    };
    let defaults = Defaults { micro_kernels: vec![default], of: vec![0] };
    let threads = if matches!(target, Target::Cpu(_)) { 1 } else { 0 };
    let tuning = Tuning::new(Box::new(device), workloads, vec![threads], defaults, budget, journal, watch);
    Task { tuning, proposer: Box::new(Durable(evolution)), weight: 1.0, per_round: 4 }
}

/// The same with its records.
fn recorded(target: &Target, seconds: f64, database: Database) -> (Vec<String>, f64) {
    let def = dense(96, 64);
    let stop = AtomicBool::new(false);
    let mut tasks = [task(&def, target, database, (seconds, &stop), &|_| ())];
    let program = crate::frontend::program(&def);
    let found = search(&mut tasks, &course()).swap_remove(0).unwrap();
    assert_eq!(tasks[0].tuning.journal.database.pending(), 0, "the finals too");
    let lowered = found.candidates.iter().map(|candidate| candidate.micro_kernel.lowered(&program, target).unwrap());
    let structures: HashSet<Structure> = lowered.map(|lowered| lowered.hash).collect();
    assert_eq!(structures.len(), found.candidates.len(), "each is measured once");
    let best = found.candidates.iter().map(|candidate| candidate.score(0)).fold(0.0, f64::max);
    assert!(found.candidates[1..].iter().all(|candidate| candidate.micro_kernel.is_drawn()));
    (found.candidates.iter().map(|candidate| candidate.micro_kernel.name()).collect(), best)
}

fn course() -> Course {
    Course { trials: None, until: None, scheduling: Scheduling::default(), seed: 3 }
}

/// The second kernel has the first one's sum in other names, and something else is made of it; the third one's is another.
#[test]
fn the_best_of_a_kernel_are_tried_for_those_that_are_alike() {
    let layer = "pub fn layer(a: &[[f32; 64]; M], b: &[[f32; 64]; 96], bias: &[f32; 96], c: &mut [[f32; 96]; M]) {
        for m in 0..M { for n in 0..96 {
            let mut sum = 0.0; for p in 0..64 { sum += a[m][p] * b[n][p]; } c[m][n] = (sum + bias[n]).max(0.0);
        } }
    }";
    let turned = layer.replace("[[f32; 64]; 96]", "[[f32; 96]; 64]").replace("b[n][p]", "b[p][n]");
    let kernel = |text: &str| crate::testing::kernel(&format!("#[dynamic_kernel] {text}"));
    let (defs, stop) = ([dense(96, 64), kernel(layer), kernel(&turned)], AtomicBool::new(false));
    let tasks = defs.iter().map(|def| task(def, &target(), Database::in_memory(), (60.0, &stop), &|_| ()));
    let mut tasks: Vec<Task<'_>> = tasks.collect();
    let found: Vec<Found> = search(&mut tasks, &course()).into_iter().map(|found| found.unwrap()).collect();
    // Names differ, and so does their order.
    let decisions = |candidate: &Candidate| {
        let mut values: Vec<i64> = candidate.micro_kernel.trace.decisions.values().copied().collect();
        values.sort_unstable();
        values
    };
    let similar = |found: &Found| -> Vec<Vec<i64>> {
        let made = found.candidates.iter().filter(|candidate| candidate.made == Some(Made::Similar));
        made.map(decisions).collect()
    };
    let of = found.iter().map(similar).collect::<Vec<_>>();
    assert!(of[0].is_empty() && of[2].is_empty(), "{of:?}");
    // A quarter of a round of four.
    assert_eq!(of[1].len(), 1);
    let mut first = found[0].candidates.iter().map(decisions);
    assert!(first.any(|decisions| decisions == of[1][0]), "{of:?}");
}

fn gpu() -> Target {
    Target::Cuda(*DeviceLimits::of("sm_90".parse().unwrap()).unwrap())
}

/// The first run leaves its default on record, among the best of which the second begins.
#[test]
fn records_are_durable_after_each_round_and_lead_to_nothing_that_is_tried_already() {
    for target in [target(), gpu()] {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("records.jsonl");
        let (mut known, mut all) = (0, 0);
        for _ in 0..2 {
            let (tried, _) = recorded(&target, 6.0, Database::open(&path).unwrap());
            all += tried.len();
            let records = Database::open(&path).unwrap().records.len();
            assert!(records > all && records > known, "{records} of {all}");
            known = records;
        }
    }
}

#[test]
fn a_budget_is_of_the_devices_time() {
    for target in [target(), gpu()] {
        let (short, long) = (searched(&target, 12.0), searched(&target, 80.0));
        assert!(short.0.len() > 1 && long.0.len() > 2 * short.0.len(), "{short:?} {long:?}");
        assert_eq!(long.0[..short.0.len()], short.0, "what is tried depends on the seed and on figures alone");
        assert!(long.1 >= short.1 && long.1 > 100.0, "{short:?} {long:?}");
    }
}

/// A GPU's micro-kernel with so many threads along the rows.
fn blocked(threads: i64) -> MicroKernel {
    let blocked = Blocked { thread: [("i".to_owned(), threads)].into(), ..Blocked::default() };
    let limits = DeviceLimits::of("sm_90".parse().unwrap()).unwrap();
    blocked.micro_kernel(&crate::frontend::program(&dense(96, 64)), limits).unwrap().0
}

/// A search of two micro-kernels, of which the first is the default, at these numbers of rows: what was found, and what each
/// measurement was of. A call takes the default a second for each row, and the other so many times as long as `other` says, if it has a
/// figure.
fn searched_two(rows: &[i64], other: fn(i64) -> Option<f64>) -> Found {
    let (def, limits) = (dense(96, 64), DeviceLimits::of("sm_90".parse().unwrap()).unwrap());
    let [default, second] = [32, 64].map(blocked);
    let name = second.name();
    let seconds = move |of: &str, instance: &Instance, _: usize| {
        let rows = instance.shape[0];
        let share = if of == name { other(rows) } else { Some(1.0) };
        share.map(|share| rows as f64 * share).ok_or(Failure::Unknown { clean: 0, asked: 2 })
    };
    let device = SimulatedDevice::new(def.clone(), Target::Cuda(*limits), Box::new(seconds));
    let workload = |rows: &i64| WorkloadInstance {
        wkl: [("M".to_owned(), *rows)].into(),
        weight: 1.0,
        instance: Instance::of(&def, &[*rows]).unwrap(),
    };
    let (stop, watch) = (AtomicBool::new(false), |_: Event| ());
    let budget = Budget::start(device.clock(), 1e9, &stop);
    let journal = Journal::begin(Database::in_memory(), &device, Identity { seed: 3, space_hash: String::new() });
    let defaults = Defaults { micro_kernels: vec![default], of: vec![0; rows.len()] };
    let workloads = rows.iter().map(workload).collect();
    let tuning = Tuning::new(Box::new(device), workloads, vec![0], defaults, budget, journal, &watch);
    let mut tasks = [Task { tuning, proposer: strategy::enumerated([second]), weight: 1.0, per_round: 4 }];
    let course = Course { trials: None, until: None, scheduling: Scheduling::default(), seed: 3 };
    search(&mut tasks, &course).swap_remove(0).unwrap()
}

#[test]
fn a_kernel_that_pays_only_at_large_instances_is_found() {
    let found = searched_two(&[16, 64, 4096], |rows| Some(0.5 + 40.0 / rows as f64));
    assert!(found.candidates[1].score(2) > 1.9 * found.candidates[0].score(2), "{found:?}");
}

#[test]
fn instances_are_measured_only_where_two_points_let_hope() {
    let found = searched_two(&[16, 64, 4096], |rows| Some(if rows < 1000 { 0.8 } else { 2.0 }));
    let [default, other] = &found.candidates[..] else { panic!("{found:?}") };
    assert!((0..3).all(|instance| default.score(instance) > 0.0), "the default is what others are compared with");
    assert_eq!([0, 1, 2].map(|instance| other.score(instance) > 0.0), [true, true, false]);
    let expected = other.predicted[0][0] / default.predicted[0][0];
    assert!((expected - 1.25).abs() < 1e-9, "{expected}");
}

#[test]
fn what_has_no_figure_at_a_point_is_no_trial() {
    let pace = |other: fn(i64) -> Option<f64>| searched_two(&[16, 64, 4096], other).pace.trials_per_second();
    assert!(pace(|_| Some(1.0)) > 0.0);
    assert_eq!(pace(|rows| (rows < 64).then_some(1.0)), 0.0);
}

#[test]
fn one_that_is_wrong_at_a_ragged_edge_is_not_timed() {
    let (def, target) = (dense(96, 64), target());
    let wrong = MicroKernel::nest(&crate::frontend::program(&def)).name();
    let at_edges = move |name: &str, instance: &Instance, _: usize| match instance.shape[0] % 2 {
        1 if name == wrong => Err(Failure::Timeout { seconds: 1.0 }),
        _ => Ok(1.0),
    };
    let device = SimulatedDevice::new(def.clone(), target, Box::new(at_edges));
    let instance = Instance::of(&def, &[64]).unwrap();
    let workloads = vec![WorkloadInstance { wkl: [("M".to_owned(), 64)].into(), weight: 1.0, instance }];
    let (stop, watch) = (AtomicBool::new(false), |_: Event| ());
    let budget = Budget::start(device.clock(), 1e9, &stop);
    let journal = Journal::begin(Database::in_memory(), &device, Identity { seed: 3, space_hash: String::new() });
    let defaults = Defaults::new(&crate::frontend::program(&def), Vec::new(), vec![0]);
    let tuning = Tuning::new(Box::new(device), workloads, vec![1], defaults, budget, journal, &watch);
    let mut task = Task { tuning, proposer: strategy::enumerated([]), weight: 1.0, per_round: 4 };
    let error = task.begin(None).unwrap_err().to_string();
    assert!(error.ends_with("of `dense` was still running after 1 s"), "{error}");
    assert!(task.tuning.candidates[0].seconds.iter().all(Option::is_none));
}

/// The nest as it stands is one of the defaults, and often a hundred times as slow as another one.
#[test]
fn a_fast_default_is_timed_again_after_each_batch_and_the_nest_is_not() {
    let (def, target) = (dense(96, 64), target());
    let program = crate::frontend::program(&def);
    let Target::Cpu(cpu) = &target else { panic!("{target:?}") };
    let tiled = Tiled::default_for(&program, cpu).micro_kernel(&program, cpu).unwrap().0;
    let (nest, timed) = (MicroKernel::nest(&program).name(), Rc::new(RefCell::new(Vec::new())));
    let of_call = Rc::clone(&timed);
    let seconds = move |name: &str, instance: &Instance, _: usize| {
        let is_nest = name == nest;
        // At the first point, which is the instance; others are where both are checked.
        of_call.borrow_mut().extend((instance.shape[0] == 64).then_some(is_nest));
        Ok(if is_nest { 100.0 } else { 1.0 })
    };
    let device = SimulatedDevice::new(def.clone(), target.clone(), Box::new(seconds));
    let instance = Instance::of(&def, &[64]).unwrap();
    let workloads = vec![WorkloadInstance { wkl: [("M".to_owned(), 64)].into(), weight: 1.0, instance }];
    let (stop, watch) = (AtomicBool::new(false), |_: Event| ());
    let budget = Budget::start(device.clock(), 1e9, &stop);
    let journal = Journal::begin(Database::in_memory(), &device, Identity { seed: 3, space_hash: String::new() });
    let defaults = Defaults { micro_kernels: vec![MicroKernel::nest(&program), tiled], of: vec![1] };
    let tuning = Tuning::new(Box::new(device), workloads, vec![1], defaults, budget, journal, &watch);
    let mut task = Task { tuning, proposer: strategy::enumerated([]), weight: 1.0, per_round: 4 };
    task.begin(None).unwrap();
    assert_eq!(*timed.borrow(), [true, false, false, false], "both at the point, one at the instance, and again");
}

/// What serves an instance is known by its place among the defaults, also where several of them have the same register tile.
#[test]
fn defaults_are_the_first_candidates_in_their_order() {
    let (def, target) = (dense(96, 64), target());
    let program = crate::frontend::program(&def);
    let Target::Cpu(cpu) = &target else { panic!("{target:?}") };
    let tiled = Tiled::default_for(&program, cpu);
    let (axis, size) = tiled.block_tile.first_key_value().map(|(axis, size)| (axis.clone(), *size)).unwrap();
    let mut other = tiled.clone();
    other.block_tile.insert(axis, 2 * size);
    let [tiled, other] = [tiled, other].map(|tiled| tiled.micro_kernel(&program, cpu).unwrap().0);
    assert_eq!(tiled.trace.register_tile(), other.trace.register_tile());
    let instance = Instance::of(&def, &[64]).unwrap();
    let workloads = vec![WorkloadInstance { wkl: [("M".to_owned(), 64)].into(), weight: 1.0, instance }];
    let device = SimulatedDevice::new(def, target, Box::new(|_, _, _| Ok(1.0)));
    let (stop, watch) = (AtomicBool::new(false), |_: Event| ());
    let budget = Budget::start(device.clock(), 1e9, &stop);
    let journal = Journal::begin(Database::in_memory(), &device, Identity { seed: 3, space_hash: String::new() });
    let defaults = Defaults::new(&program, vec![tiled, other], vec![1]);
    let expected: Vec<String> = defaults.micro_kernels.iter().map(MicroKernel::name).collect();
    let tuning = Tuning::new(Box::new(device), workloads, vec![1], defaults, budget, journal, &watch);
    let mut task = Task { tuning, proposer: strategy::enumerated([]), weight: 1.0, per_round: 4 };
    task.begin(None).unwrap();
    let tried: Vec<String> = task.tuning.candidates.iter().map(|candidate| candidate.micro_kernel.name()).collect();
    assert_eq!(tried, expected);
}

/// What was compiled: what for, and whether its tiles at edges are halved.
type Compiled = Arc<Mutex<Vec<(Purpose, bool)>>>;

/// A simulated device that keeps what it compiles, and may fail to compile halved tiles as a build does.
#[derive(Debug)]
struct Keeping {
    device: SimulatedDevice,
    compiled: Compiled,
    builds: bool,
}

impl Device for Keeping {
    fn subject(&self) -> &Subject {
        self.device.subject()
    }

    fn units(&self, setting: usize) -> usize {
        self.device.units(setting)
    }

    fn clock(&self) -> Clock {
        self.device.clock()
    }

    fn compiler(&self, purpose: Purpose) -> Compile {
        let (compile, compiled, builds) = (self.device.compiler(purpose), Arc::clone(&self.compiled), self.builds);
        one_by_one(move |micro_kernel| {
            let halves =
                |i: &Instruction| matches!(i, Instruction::Partition { halvings, .. } if *halvings != Size::int(0));
            let halved = micro_kernel.trace.instructions.iter().any(halves);
            lock(&compiled).push((purpose, halved));
            if halved && purpose == Purpose::Final && !builds {
                return Err(Failure::Compile { message: "too many edges".to_owned() });
            }
            compile(std::slice::from_ref(micro_kernel)).remove(0)
        })
    }

    fn implementation(&mut self, code: &Code, instance: &Instance) -> crate::Result<Implementation> {
        self.device.implementation(code, instance)
    }

    fn measure(
        &mut self,
        instance: &Instance,
        implementations: Vec<Implementation>,
        setting: usize,
        timing: Timing,
    ) -> crate::Result<Measured> {
        self.device.measure(instance, implementations, setting, timing)
    }
}

/// Tries a tiled micro-kernel, ten times as fast as the default, at so many rows of a dense layer on a device that may fail to build it:
/// what was compiled after the default, and the candidate.
fn tried(rows: i64, builds: bool, database: Database) -> (Vec<(Purpose, bool)>, Candidate) {
    let (def, target) = (dense(96, 64), target());
    let program = crate::frontend::program(&def);
    let Target::Cpu(cpu) = &target else { panic!("{target:?}") };
    let tiled = Tiled::default_for(&program, cpu).micro_kernel(&program, cpu).unwrap().0;
    let compiled = Compiled::default();
    let fast = tiled.name();
    let seconds = move |name: &str, _: &Instance, _: usize| Ok(if name == fast { 1.0 } else { 10.0 });
    let device = SimulatedDevice::new(def.clone(), target.clone(), Box::new(seconds));
    let device = Keeping { device, compiled: Arc::clone(&compiled), builds };
    let instance = Instance::of(&def, &[rows]).unwrap();
    let workloads = vec![WorkloadInstance { wkl: [("M".to_owned(), rows)].into(), weight: 1.0, instance }];
    let (stop, watch) = (AtomicBool::new(false), |_: Event| ());
    let budget = Budget::start(device.clock(), 1e9, &stop);
    let journal = Journal::resume(database, &device, Identity { seed: 3, space_hash: String::new() });
    let defaults = Defaults::new(&program, Vec::new(), vec![0]);
    let tuning = Tuning::new(Box::new(device), workloads, vec![1], defaults, budget, journal, &watch);
    let mut task = Task { tuning, proposer: strategy::enumerated([tiled]), weight: 1.0, per_round: 4 };
    task.begin(None).unwrap();
    let of_defaults = lock(&compiled).len();
    task.round(None).unwrap();
    let compiled = lock(&compiled)[of_defaults..].to_vec();
    (compiled, task.tuning.candidates[1].clone())
}

/// Tiles at edges are most of what a compiler has to do. Where the points have next to none, candidates are screened without them, and
/// measured on instances as a build makes them.
#[test]
fn what_is_screened_has_whole_tiles_at_edges_where_points_have_few() {
    let compiled = |rows: i64| {
        let (compiled, candidate) = tried(rows, true, Database::in_memory());
        assert!(candidate.gflops[0][0].is_some(), "it is measured on the instance");
        compiled
    };
    assert_eq!(compiled(96), [(Purpose::Screening, false), (Purpose::Final, true)]);
    assert_eq!(compiled(9), [(Purpose::Screening, true)], "seven rows of sixteen would be computed for nothing");
}

/// A run that is continued sees what the run saw: that a candidate was as fast as what was screened in its place, before it failed.
#[test]
fn what_fails_behind_a_good_stand_in_is_screened_again_from_its_records() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("records.jsonl");
    let run = || tried(96, false, Database::open(&path).unwrap());
    let (compiled, first) = run();
    assert_eq!(compiled, [(Purpose::Screening, false), (Purpose::Final, true)]);
    assert!(first.failed && first.seconds.iter().all(Option::is_some), "{first:?}");
    let (compiled, again) = run();
    assert_eq!((compiled, again.failed, again.seconds), (vec![], true, first.seconds));
}

/// Where others have the second core, each measurement on two threads ends without a figure, and after a while.
#[test]
fn what_has_no_figure_three_times_is_put_off_until_after_the_rounds() {
    let (def, target) = (dense(96, 64), target());
    let seen = Rc::new(RefCell::new([0, 0]));
    let of_call = Rc::clone(&seen);
    let seconds = move |_: &str, _: &Instance, threads: usize| {
        of_call.borrow_mut()[threads - 1] += 1;
        if threads == 2 { Err(Failure::Unknown { clean: 0, asked: 2 }) } else { Ok(1.0) }
    };
    let device = SimulatedDevice::new(def.clone(), target, Box::new(seconds));
    let workload = |rows: i64| WorkloadInstance {
        wkl: [("M".to_owned(), rows)].into(),
        weight: 1.0,
        instance: Instance::of(&def, &[rows]).unwrap(),
    };
    let workloads: Vec<WorkloadInstance> = (0..8).map(|n| workload(64 + 8 * n)).collect();
    let (stop, watch) = (AtomicBool::new(false), |_: Event| ());
    let budget = Budget::start(device.clock(), 1e9, &stop);
    let journal = Journal::begin(Database::in_memory(), &device, Identity { seed: 3, space_hash: String::new() });
    let defaults = Defaults::new(&crate::frontend::program(&def), Vec::new(), vec![0; 8]);
    let tuning = Tuning::new(Box::new(device), workloads, vec![1, 2], defaults, budget, journal, &watch);
    let mut task = Task { tuning, proposer: strategy::enumerated([]), weight: 1.0, per_round: 4 };
    task.begin(None).unwrap();
    assert!(seen.borrow()[0] >= 8 && seen.borrow()[1] == 3, "{seen:?}");
    full::measure_finalists(&mut task.tuning).unwrap();
    assert!(seen.borrow()[1] > 3, "{seen:?}");
    let of_one_thread = seen.borrow()[0];
    full::measure_finalists(&mut task.tuning).unwrap();
    assert_eq!(seen.borrow()[0], of_one_thread, "what has a figure is not measured again");
}

/// What a search asks of a strategy: each time with how many candidates were tried, or with what was wanted.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Call {
    Propose(usize),
    Prepare(usize),
    Settle(bool),
}

/// Proposes as another one, and keeps what is asked of it.
struct Watched(Box<dyn Propose>, Rc<RefCell<Vec<Call>>>);

impl Propose for Watched {
    fn propose(&mut self, tuning: &Tuning<'_>, want: usize) -> crate::Result<Vec<Proposal>> {
        self.1.borrow_mut().push(Call::Propose(tuning.candidates.len()));
        self.0.propose(tuning, want)
    }

    fn prepare(&mut self, tuning: &Tuning<'_>) {
        self.1.borrow_mut().push(Call::Prepare(tuning.candidates.len()));
        self.0.prepare(tuning);
    }

    fn settle(&mut self, is_wanted: bool) {
        self.1.borrow_mut().push(Call::Settle(is_wanted));
        self.0.settle(is_wanted);
    }
}

/// The next round is prepared while the last quarter of one is measured, the first one while the default is; none behind the last trial. When
/// another kernel may be measured, nothing goes on.
#[test]
fn a_round_is_prepared_while_the_last_of_the_one_before_are_measured() {
    let (def, target, stop) = (dense(96, 64), target(), AtomicBool::new(false));
    let calls = Rc::new(RefCell::new(Vec::new()));
    let mut task = task(&def, &target, Database::in_memory(), (1e9, &stop), &|_| ());
    let space = Schedules::generate(&def, target.clone(), &[vec![64]], &CustomRules::default()).unwrap();
    let settings = Evolution { population: 64, generations: 1, ..Evolution::default() };
    let evolution = evolved(space, Box::new(Analytic { target }), settings, 3);
    task.proposer = Box::new(Watched(evolution, Rc::clone(&calls)));
    task.per_round = 32;
    let course = Course { trials: Some(40), ..course() };
    search(std::slice::from_mut(&mut task), &course).swap_remove(0).unwrap();
    use Call::{Prepare, Propose, Settle};
    let expected = [Prepare(0), Settle(true), Propose(1), Prepare(25), Settle(true), Propose(33), Settle(true)];
    assert_eq!(*calls.borrow(), expected);
}
