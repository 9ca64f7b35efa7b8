//! Whole searches and their finals on simulated machines, also on some that others use.

mod covers;
mod time;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::AtomicBool;

use dietcode_syntax::KernelDef;

use crate::config::{Config, Scheduling};
use crate::dispatch::{Finalized, Judgement, Searched, Tuned, finalize};
use crate::frontend;
use crate::machine::{Target, avx512};
use crate::measure::{Baselines, Device, Failure, Instance, Noise, SimulatedDevice};
use crate::paired::Verdict;
use crate::search::strategy::enumerated;
use crate::search::{
    Budget, Course, Database, Defaults, Event, Identity, Journal, Outcome, Task, Tuning, WorkloadInstance, search,
};
use crate::sketch::{MicroKernel, Tiled};

const DENSE: &str = "#[dynamic_kernel]
    pub fn dense(x: &[[f32; 64]; M], w: &[[f32; 64]; 96], y: &mut [[f32; 96]; M]) {
        for i in 0..M { for j in 0..96 {
            let mut acc = 0.0;
            for k in 0..64 { acc += x[i][k] * w[j][k]; }
            y[i][j] = acc;
        } }
    }";

const BATCHED: &str = "#[dynamic_kernel]
    pub fn batched(x: &[[[f32; 32]; M]; 4], w: &[[[f32; 96]; 32]; 4], y: &mut [[[f32; 96]; M]; 4]) {
        for b in 0..4 { for i in 0..M { for j in 0..96 {
            let mut acc = 0.0;
            for k in 0..32 { acc += x[b][i][k] * w[b][k][j]; }
            y[b][i][j] = acc;
        } } }
    }";

const MAXIMA: &str = "#[dynamic_kernel]
    pub fn maxima(x: &[[f32; 96]; 2 * M], y: &mut [[f32; 96]; M]) {
        for i in 0..M { for j in 0..96 {
            let mut acc = f32::NEG_INFINITY;
            for k in 0..2 { acc = acc.max(x[2 * i + k][j]); }
            y[i][j] = acc;
        } }
    }";

const ROWS: [i64; 4] = [16, 64, 256, 1024];

/// What a search and its finals come to.
#[derive(Debug, PartialEq)]
struct Ended {
    /// Who has each instance, by its position among the micro-kernels.
    selected: Vec<usize>,
    /// Challenger, against whom, at how many shapes, and what came of it.
    verdicts: Vec<(String, String, usize, Verdict)>,
    /// Of the micro-kernels.
    names: Vec<String>,
    tuned: Tuned,
}

/// Micro-kernels with so many rows in a register tile.
fn kernels(def: &KernelDef, rows: &[i64]) -> Vec<MicroKernel> {
    let program = frontend::program(def);
    let tiled = |rows: &i64| Tiled {
        vector: Some("j".into()),
        register_tile: BTreeMap::from([("i".into(), *rows), ("j".into(), 16)]),
        ..Tiled::default()
    };
    rows.iter().map(|rows| tiled(rows).micro_kernel(&program, &avx512()).unwrap().0).collect()
}

/// What a search and its finals come to. The first of the micro-kernels is the default; `gflops` has what each, by its position, reaches on
/// so many rows.
fn finals(
    nest: &str,
    rows: &[i64],
    gflops: impl Fn(usize, i64) -> f64 + 'static,
    noise: Noise,
    records: Option<&Path>,
) -> Ended {
    finals_within(1e6, nest, rows, gflops, noise, records)
}

/// The same in so many seconds.
fn finals_within(
    seconds: f64,
    nest: &str,
    rows: &[i64],
    gflops: impl Fn(usize, i64) -> f64 + 'static,
    noise: Noise,
    records: Option<&Path>,
) -> Ended {
    let aim = Towards { config: None, weights: [1.0; 4], most: 8, is_timed: false };
    finals_towards(aim, seconds, nest, rows, gflops, noise, records)
}

/// What finals are for: a config's range, weights of the instances, so many micro-kernels at the most; and whether figures count as timed.
struct Towards<'a> {
    config: Option<&'a Config>,
    weights: [f64; 4],
    most: usize,
    is_timed: bool,
}

/// The same for all of that.
fn finals_towards(
    aim: Towards<'_>,
    seconds: f64,
    nest: &str,
    rows: &[i64],
    gflops: impl Fn(usize, i64) -> f64 + 'static,
    noise: Noise,
    records: Option<&Path>,
) -> Ended {
    finals_on_threads(aim, seconds, nest, rows, move |at, rows, _| gflops(at, rows), noise, records)
}

/// The same, where what a thread reaches also depends on how many there are.
fn finals_on_threads(
    Towards { config, weights, most, is_timed }: Towards<'_>,
    seconds: f64,
    nest: &str,
    rows: &[i64],
    gflops: impl Fn(usize, i64, usize) -> f64 + 'static,
    noise: Noise,
    records: Option<&Path>,
) -> Ended {
    let def: KernelDef = crate::testing::kernel(nest);
    let mut kernels = kernels(&def, rows);
    let names: Vec<String> = kernels.iter().map(MicroKernel::name).collect();
    let known = names.clone();
    let call = move |name: &str, instance: &Instance, setting: usize| {
        // Covers are a matter of tests of their own.
        let at = known.iter().position(|known| known == name);
        match at.map_or(0.0, |at| gflops(at, instance.shape[0], setting)) {
            0.0 => Err(Failure::Timeout { seconds: 1.0 }),
            gflops => Ok(instance.flops / gflops / 1e9 / setting as f64),
        }
    };
    let device = SimulatedDevice::new(def.clone(), Target::Cpu(avx512()), Box::new(call)).with_noise(noise);
    let device = if is_timed { device.timed() } else { device };
    let workload = |(rows, weight): (&i64, f64)| {
        let instance = Instance::of(&def, &[*rows]).unwrap();
        WorkloadInstance { wkl: [("M".to_owned(), *rows)].into(), weight, instance }
    };
    let workloads = ROWS.iter().zip(weights).map(workload).collect();
    let (stop, watch) = (AtomicBool::new(false), |_: Event| ());
    let budget = Budget::start(device.clock(), seconds, &stop);
    let database = records.map_or_else(Database::in_memory, |path| Database::open(path).unwrap());
    let identity = Identity { seed: 0, space_hash: String::new() };
    let journal = Journal::resume(database, &device, identity);
    let rest = kernels.split_off(1);
    let defaults = Defaults { micro_kernels: kernels, of: vec![0; ROWS.len()] };
    let tuning = Tuning::new(Box::new(device), workloads, vec![1, 2], defaults, budget, journal, &watch);
    let mut tasks = [Task { tuning, proposer: enumerated(rest), weight: 1.0, per_round: 8 }];
    let course = Course { trials: None, until: None, scheduling: Scheduling::default(), seed: 0 };
    let found = search(&mut tasks, &course).swap_remove(0).unwrap();
    let searched = Searched { config, tolerance: 0.02, most, space_hash: "s", found: &found };
    let Finalized { selected, tuned, .. } =
        finalize(&mut tasks[0].tuning, searched, &Baselines::on_gpu(None, false), |_| ()).unwrap();
    let position = |at: &usize| {
        let name = found.candidates[*at].micro_kernel.name();
        names.iter().position(|known| *known == name).unwrap()
    };
    let verdict = |record: &crate::search::Record| match &record.outcome {
        Outcome::Verdict { against, shapes, verdict, .. } if against != "expected" => {
            Some((record.name.clone(), against.clone(), shapes.len(), *verdict))
        }
        _ => None,
    };
    let verdicts = tasks[0].tuning.journal.records().iter().filter_map(verdict).collect();
    Ended { selected: selected.iter().map(position).collect(), verdicts, names, tuned }
}

fn quiet() -> Noise {
    Box::new(|_, _| Some(1.0))
}

/// Evenly in 0..1, by two numbers.
fn chance(seed: u64, number: u64) -> f64 {
    let hash = blake3::hash(&[seed.to_le_bytes(), number.to_le_bytes()].concat());
    f64::from(u32::from_le_bytes(hash.as_bytes()[..4].try_into().unwrap())) / f64::from(u32::MAX)
}

/// A machine that goes at half its speed for minutes, becomes 5% slower within an hour, and loses a core for 200 ms in each two seconds.
fn noise(seed: u64) -> Noise {
    Box::new(move |now, seconds| {
        let slot = (now / 2.0).floor();
        let lost = |slot: f64| 2.0 * slot + 1.8 * chance(seed, slot as u64);
        if [slot, slot + 1.0].map(lost).iter().any(|lost| now < lost + 0.2 && now + seconds > *lost) {
            return None;
        }
        let mode = if chance(seed ^ 1, (now / 150.0) as u64) < 0.5 { 2.0 } else { 1.0 };
        let jitter = 0.99 + 0.02 * chance(seed ^ 2, now.to_bits());
        Some(mode * jitter * (1.0 + 0.05 * (now / 3600.0).min(1.0)))
    })
}

#[test]
fn on_a_machine_that_others_use_the_best_wins_or_one_that_is_as_good() {
    let mut wrong = Vec::new();
    for seed in 0..102 {
        // The best differs from small instances to large ones; figures lie 1.5% apart or on each other.
        let gflops = move |at: usize, rows: i64| {
            let of = |number: u64| (16.0 * chance(1000 + seed, number)).floor();
            let own = if at == 0 { 0.0 } else { of(2 * at as u64 + u64::from(rows > 100)) };
            200.0 * 1.015f64.powf(own)
        };
        let nest = [DENSE, BATCHED, MAXIMA][seed as usize % 3];
        let Ended { selected, .. } = finals(nest, &[1, 2, 3, 4, 6, 8], gflops, noise(seed), None);
        for (rows, at) in ROWS.iter().zip(selected) {
            let best = (0..6).map(|at| gflops(at, *rows)).fold(0.0, f64::max);
            if gflops(at, *rows) < best / 1.02 {
                wrong.push((seed, *rows, gflops(at, *rows) / best));
            }
        }
    }
    let runs: std::collections::BTreeSet<u64> = wrong.iter().map(|(seed, ..)| *seed).collect();
    assert!(runs.len() <= 1, "{} of 102 runs: {wrong:?}", runs.len());
}

#[test]
fn near_copies_of_the_default_are_the_default_and_of_each_other_one() {
    let Ended { selected, .. } = finals(DENSE, &[1, 2, 4], |at, _| 100.0 + at as f64 / 2.0, quiet(), None);
    assert_eq!(selected, [0; 4]);
    // By figures, each instance has another best one.
    let gflops = |at: usize, rows: i64| match (at, rows) {
        (0, _) => 50.0,
        (1, 16 | 256) | (2, 64 | 1024) => 101.0,
        _ => 100.0,
    };
    let Ended { selected, .. } = finals(DENSE, &[1, 2, 4], gflops, quiet(), None);
    assert!(selected[0] > 0 && selected == [selected[0]; 4], "{selected:?}");
}

#[test]
fn an_instance_at_which_the_best_of_its_region_loses_keeps_its_default() {
    // The tolerance of selection takes what is 2% below the best for good, and figures were of another day.
    let gflops = |at: usize, rows: i64| match (at, rows) {
        (1, 64) => 90.0,
        (1, _) => 150.0,
        _ => 100.0,
    };
    let Ended { selected, verdicts, names, .. } = finals(DENSE, &[1, 2], gflops, quiet(), None);
    assert_eq!(selected, [1, 0, 1, 1]);
    let won = (names[1].clone(), "default".to_owned(), 3, Verdict::Wins);
    assert!(verdicts.contains(&won), "{verdicts:?}");
}

/// One that gains on two threads alone, on each instance; and one that loses there what it gains on one.
#[test]
fn what_settings_gain_counts_in_the_mean() {
    let selected = |gains: [f64; 2]| {
        let aim = Towards { config: None, weights: [1.0; 4], most: 8, is_timed: false };
        let gflops = move |at: usize, _, setting: usize| if at == 0 { 100.0 } else { 100.0 * gains[setting - 1] };
        finals_on_threads(aim, 1e6, DENSE, &[1, 2], gflops, noise(5), None).selected
    };
    assert_eq!(selected([1.0, 1.15]), [1; 4]);
    assert_eq!(selected([1.15, 1.0]), [1; 4]);
    assert_eq!(selected([1.15, 1.0 / 1.15]), [0; 4]);
    assert_eq!(selected([1.0, 1.0]), [0; 4]);
}

/// The search saw the first at its best on 64 rows, where it is far behind what its points let expect ever after: the next that was measured
/// there replaces it, if it is faster for certain, and the file tells what either reaches of its expectation.
#[test]
fn what_is_far_slower_than_its_points_let_expect_is_decided_once_more() {
    let ended = |next: f64| {
        let seen = std::cell::Cell::new(0);
        let gflops = move |at: usize, rows: i64, _| match (at, rows) {
            (1, 64) => {
                seen.set(seen.get() + 1);
                if seen.get() <= 2 { 200.0 } else { 120.0 }
            }
            (1, _) => 200.0,
            (2, 64) => next,
            (2, _) => 190.0,
            _ => 100.0,
        };
        let config = within("[16, 1024]", r#", "regret": {"mean": 1.2, "worst": 1.5}"#);
        let aim = Towards { config: Some(&config), weights: [1.0; 4], most: 8, is_timed: true };
        finals_on_threads(aim, 1e6, DENSE, &[1, 2, 4], gflops, quiet(), None)
    };
    let of_predicted = |ended: &Ended, at: usize| ended.tuned.instances[at].measurements[0].of_predicted.unwrap();
    let faster = ended(165.0);
    let Ended { selected, verdicts, names, tuned } = &faster;
    assert_eq!(*selected, [1, 2, 1, 1], "{verdicts:?}");
    assert!(verdicts.contains(&(names[2].clone(), names[1].clone(), 1, Verdict::Wins)), "{verdicts:?}");
    assert_eq!(tuned.tree.pick(&["M".to_owned()], &[64]), names[2]);
    let regret = tuned.regret.as_ref().unwrap();
    assert!(regret.worst < 2.0 && regret.selected.len() >= 2, "{regret:?}");
    let (small, here) = (of_predicted(&faster, 0), of_predicted(&faster, 1));
    assert!((0.9..1.1).contains(&small) && (0.8..0.95).contains(&here), "{small} {here}");
    // One that is slower than what is in doubt stays out, and what is in doubt is told.
    let slower = ended(115.0);
    let here = of_predicted(&slower, 1);
    assert_eq!(slower.selected, [1; 4], "{:?}", slower.verdicts);
    assert!((0.5..0.7).contains(&here), "{here}");
}

/// Near-copies of the best of few rows take longer than there is time for.
#[test]
fn regions_have_the_duels_that_are_due_before_any_has_others() {
    let gflops = |at: usize, rows: i64| match (at, rows > 100) {
        (0, _) => 0.1,
        (1, true) => 0.2,
        (1, false) => 0.11,
        (_, true) => 0.1,
        (_, false) => 0.2 + at as f64 * 1e-5,
    };
    let ended = |seconds| finals_within(seconds, DENSE, &[1, 2, 3, 4, 6, 8], gflops, quiet(), None);
    let [soon, late] = [160.0, 1e6].map(ended);
    assert_eq!((&soon.selected, &late.selected), (&vec![5, 5, 1, 1], &vec![5, 5, 1, 1]));
    assert!(soon.verdicts.len() < late.verdicts.len(), "near-copies had no time: {soon:?}");
}

/// A config of the nest that declares a range.
fn ranging(range: &str) -> Config {
    within(range, "")
}

/// The same with a budget of regret, or nothing.
fn within(range: &str, budget: &str) -> Config {
    let text = format!(
        r#"{{"kernel": {{"source": "ops.rs", "function": "dense"}}, "shape": {{"M": "M"}},
            "wkl_insts": [{{"M": 16}}], "range": {{"M": {range}}}{budget}}}"#
    );
    Config::parse("c.json", text).unwrap()
}

/// Here and there the default is the fastest, which none of the shapes shows that stand for the range.
#[test]
fn shapes_that_break_a_budget_of_regret_decide_until_others_keep_it() {
    let gflops = |at: usize, rows: i64| match (at, rows) {
        (0, 34..=45 | 67..=85 | 131..=185 | 260..=375 | 515..=760) => 400.0,
        (0, _) => 100.0,
        (1, _) => 200.0,
        _ => 150.0,
    };
    let ended = |budget: &str| {
        let config = within("[1, 1024]", budget);
        let aim = Towards { config: Some(&config), weights: [1.0; 4], most: 8, is_timed: true };
        let Ended { tuned, names, .. } = finals_towards(aim, 1e6, DENSE, &[1, 8], gflops, quiet(), None);
        let dispatched = [40, 80, 160, 320, 640].map(|m| tuned.tree.pick(&["M".to_owned()], &[m]) == names[0]);
        (tuned.regret.unwrap().held_out, dispatched)
    };
    assert_eq!(ended(""), (None, [false; 5]));
    let (held_out, dispatched) = ended(r#", "regret": {"mean": 1.001, "worst": 1.1}"#);
    let held_out = held_out.unwrap();
    assert!(held_out.judgement == Judgement::Kept && !held_out.decided, "{held_out:?}");
    assert!(held_out.shapes == 16 && held_out.is_within(), "{held_out:?}");
    assert!(dispatched.iter().filter(|is_found| **is_found).count() >= 3, "{dispatched:?}");
}

/// Each second shape is better off with another one: no tree of a depth that is allowed tells them apart.
#[test]
fn a_budget_of_regret_that_no_tree_keeps_is_told() {
    let gflops = |at: usize, rows: i64| match (at as i64 + rows) % 2 {
        _ if ROWS.contains(&rows) => 120.0,
        0 => 150.0,
        _ => 100.0,
    };
    let held_out = |seconds: f64| {
        let config = within("[1, 1024]", r#", "regret": {"worst": 1.1}"#);
        let aim = Towards { config: Some(&config), weights: [1.0; 4], most: 8, is_timed: true };
        let Ended { tuned, .. } = finals_towards(aim, seconds, DENSE, &[1, 2], gflops, quiet(), None);
        tuned.regret.unwrap().held_out.unwrap()
    };
    let last = held_out(1e6);
    assert!(last.judgement == Judgement::Broken && last.decided, "{last:?}");
    assert!((1.4..1.6).contains(&last.worst) && last.shapes == 16, "{last:?}");
    let late = held_out(100.0);
    assert!(late.judgement != Judgement::Kept && late.shapes < 16, "{late:?}");
}

/// Which shapes judged is told where all of the range decides. Long calls are measured too.
#[test]
fn who_judges_a_budget_of_regret_is_told() {
    let held_out_of = |rows: &[i64], range: &str, gflops: f64| {
        let config = within(range, r#", "regret": {"worst": 1.1}"#);
        let aim = Towards { config: Some(&config), weights: [1.0; 4], most: 8, is_timed: true };
        let Ended { tuned, .. } = finals_towards(aim, 1e6, DENSE, rows, move |_, _| gflops, quiet(), None);
        tuned.regret.unwrap().held_out.unwrap()
    };
    let held_out = |range: &str, gflops: f64| held_out_of(&[1, 8], range, gflops);
    let alone = held_out_of(&[1], "[16, 1024]", 100.0);
    assert_eq!((alone.judgement, alone.shapes), (Judgement::Alone, 0), "there is nobody but the default");
    let all = held_out("[16, 1024]", 100.0);
    assert_eq!((all.judgement, all.decided, all.shapes), (Judgement::Kept, false, 16));
    let few = held_out("[16, 17]", 100.0);
    assert!(few.judgement == Judgement::Kept && few.decided, "{few:?}");
    let long = held_out("[16, 1024]", 0.0001);
    assert_eq!((long.judgement, long.shapes), (Judgement::Kept, 16));
}

/// A call at any of the other shapes takes 20 or 30 ms: they are measured as far as there is time, and predicted from there on.
#[test]
fn long_calls_are_measured_as_long_as_there_is_time_and_predicted_from_then_on() {
    let gflops = |at: usize, rows: i64| rows as f64 * 4e-4 * if at == 0 { 1.0 } else { 1.5 };
    let aim = Towards { config: Some(&ranging("[16, 1024]")), weights: [1.0; 4], most: 8, is_timed: true };
    let regret = finals_towards(aim, 1e6, DENSE, &[1, 8], gflops, quiet(), None).tuned.regret.unwrap();
    let measured = regret.shapes - regret.predicted - ROWS.len();
    assert!(measured > 2 && regret.predicted > 2 && regret.shapes > 20, "{regret:?}");
}

/// A tile of 8 rows has every instance, which are multiples of 8; of one row, most of it would be padding.
#[test]
fn a_contestant_that_has_no_instance_serves_other_shapes_of_the_range() {
    let ended = |range: &str| {
        let aim = Towards { config: Some(&ranging(range)), weights: [1.0; 4], most: 8, is_timed: false };
        let gflops = |at: usize, _| if at == 0 { 100.0 } else { 150.0 };
        finals_towards(aim, 1e6, DENSE, &[1, 8], gflops, quiet(), None)
    };
    let Ended { selected, names, tuned, .. } = ended("[1, 1024]");
    assert_eq!(selected, [1; 4]);
    let vars = ["M".to_owned()];
    let pick = |m: i64| tuned.tree.pick(&vars, &[m]).to_owned();
    assert_eq!(
        [pick(1), pick(2), pick(8), pick(1000)],
        [&names[0], &names[0], &names[1], &names[1]].map(String::clone)
    );
    let regret = tuned.regret.unwrap();
    let order: Vec<&String> = regret.selected.iter().map(|selected| &selected.micro_kernel).collect();
    assert_eq!(order, [&names[1], &names[0]]);
    assert!(regret.selected[0].mean > 1.1 * regret.selected[1].mean && regret.selected[1].mean == 1.0, "{regret:?}");
    assert!((1.0..1.01).contains(&regret.mean) && regret.worst <= 1.1, "{regret:?}");
    assert!(
        regret.regions.len() >= 2 && regret.regions.iter().map(|region| region.shapes).sum::<usize>() == regret.shapes
    );
    assert_eq!(regret.range["M"], [1, 1024]);

    let Ended { names, tuned, .. } = ended("[16, 1024]");
    assert_eq!(tuned.micro_kernels.iter().map(MicroKernel::name).collect::<Vec<_>>(), [names[1].clone()]);
}

/// Where nobody predicts it, the default is the best of few rows; who fails at some shape serves none.
#[test]
fn what_is_measured_at_other_shapes_decides_who_serves_them() {
    let gflops = |at: usize, rows: i64| match (at, rows) {
        (0, ..12) => 300.0,
        (0, _) => 100.0,
        (1, ..12) => 150.0,
        (2, _) if !ROWS.contains(&rows) => 0.0,
        (_, _) => 400.0 - at as f64,
    };
    let config = ranging("[1, 1024]");
    let aim = Towards { config: Some(&config), weights: [1.0; 4], most: 8, is_timed: true };
    let Ended { selected, names, tuned, .. } = finals_towards(aim, 1e6, DENSE, &[1, 8, 4], gflops, quiet(), None);
    assert_eq!(selected, [1; 4]);
    let vars = ["M".to_owned()];
    assert_eq!(
        [1, 5, 900].map(|m| tuned.tree.pick(&vars, &[m]).to_owned()),
        [&names[0], &names[0], &names[1]].map(String::clone)
    );
    let regret = tuned.regret.unwrap();
    assert!(regret.shapes >= ROWS.len() + 5 && regret.mean < 1.02, "{regret:?}");
    assert!(regret.selected.iter().all(|selected| selected.micro_kernel != names[2]), "{regret:?}");
}

#[test]
fn where_there_may_be_few_weights_alone_say_who_they_are_and_defaults_that_win_are_kept() {
    let gflops = |at: usize, rows: i64| match (at, rows) {
        (0, 64) => 190.0,
        (1, 16) | (2, 1024) => 200.0,
        (1, 64 | 256 | 1024) | (2, 16 | 64 | 256) => 150.0,
        _ => 100.0,
    };
    let selected = |weights, most| {
        let aim = Towards { config: None, weights, most, is_timed: false };
        finals_towards(aim, 1e6, DENSE, &[1, 2, 4], gflops, quiet(), None).selected
    };
    assert_eq!(selected([8.0, 1.0, 1.0, 1.0], 1), [1, 0, 1, 1]);
    assert_eq!(selected([1.0, 1.0, 1.0, 8.0], 1), [2, 0, 2, 2]);
    let all = selected([1.0; 4], 8);
    assert_eq!((all[0], all[1], all[3]), (1, 0, 2));
}

/// A product of three sizes that was tuned for up to 256 of each: far beyond, a row, a column and a long sum are the default's.
#[test]
fn shapes_far_off_the_range_take_what_the_default_takes() {
    let def = crate::testing::kernel(
        "#[dynamic_kernel]
        pub fn product(x: &[[f32; K]; M], w: &[[f32; K]; N], y: &mut [[f32; N]; M]) {
            for i in 0..M { for j in 0..N {
                let mut acc = 0.0;
                for k in 0..K { acc += x[i][k] * w[j][k]; }
                y[i][j] = acc;
            } }
        }",
    );
    let text = r#"{"kernel": {"source": "ops.rs", "function": "product"}, "shape": {"M": "M", "N": "N", "K": "K"},
        "wkl_insts": [{"M": 64, "N": 64, "K": 64}], "range": {"M": [32, 256], "N": [32, 256], "K": [32, 256]}}"#;
    let config = Config::parse("c.json", text.to_owned()).unwrap();
    let vars = Config::shape_vars(&def);
    let sizes = |all: &[(&str, i64)]| all.iter().map(|(name, size)| ((*name).to_owned(), *size)).collect();
    let tiled = Tiled {
        vector: Some("j".into()),
        register_tile: sizes(&[("i", 8), ("j", 16)]),
        block_tile: sizes(&[("i", 64), ("j", 64), ("k", 64)]),
        pack: vec!["w".into()],
        ..Tiled::default()
    };
    let tile = tiled.micro_kernel(&frontend::program(&def), &avx512()).unwrap().0;
    let fast = tile.name();
    let call = move |name: &str, instance: &Instance, _: usize| {
        let gflops = if name == fast { 150.0 } else { 100.0 };
        Ok::<f64, Failure>(instance.flops / gflops / 1e9)
    };
    let device = SimulatedDevice::new(def.clone(), Target::Cpu(avx512()), Box::new(call)).timed();
    let workload = |size: i64| {
        let wkl: BTreeMap<String, i64> = vars.iter().map(|var| (var.clone(), size)).collect();
        WorkloadInstance { wkl, weight: 1.0, instance: Instance::of(&def, &[size; 3]).unwrap() }
    };
    let workloads: Vec<WorkloadInstance> = [64, 200].map(workload).into();
    let defaults = crate::dispatch::defaults(&device, &workloads).unwrap();
    let default = crate::dispatch::Winners::default_for(device.program(), &avx512()).tree;
    let (stop, watch) = (AtomicBool::new(false), |_: Event| ());
    let budget = Budget::start(device.clock(), 1e6, &stop);
    let journal = Journal::resume(Database::in_memory(), &device, Identity { seed: 0, space_hash: String::new() });
    let tuning = Tuning::new(Box::new(device), workloads, vec![1], defaults, budget, journal, &watch);
    let mut tasks = [Task { tuning, proposer: enumerated([tile.clone()]), weight: 1.0, per_round: 8 }];
    let course = Course { trials: None, until: None, scheduling: Scheduling::default(), seed: 0 };
    let found = search(&mut tasks, &course).swap_remove(0).unwrap();
    let searched = Searched { config: Some(&config), tolerance: 0.02, most: 1, space_hash: "s", found: &found };
    let Finalized { tuned, .. } =
        finalize(&mut tasks[0].tuning, searched, &Baselines::on_gpu(None, false), |_| ()).unwrap();
    let of = |tree: &crate::dispatch::Tree, m, n, k| {
        let value = |var: &String| match &**var {
            "M" => m,
            "N" => n,
            _ => k,
        };
        tree.pick(&vars, &vars.iter().map(value).collect::<Vec<_>>()).to_owned()
    };
    for (m, n, k) in [(1, 1, 100_000), (2048, 1, 768), (1, 2304, 768), (1, 1, 1_000_000), (4096, 4096, 4096), (1, 4, 1)]
    {
        assert_eq!(of(&tuned.tree, m, n, k), of(&default, m, n, k), "{m}, {n}, {k}");
    }
    for size in [32, 64, 100, 256] {
        assert_eq!(of(&tuned.tree, size, size, size), tile.name());
    }
    // One for the range, and all of the default.
    let of_default: std::collections::BTreeSet<&str> = default.leaves().collect();
    assert!(of_default.len() > 1 && tuned.micro_kernels.len() == of_default.len() + 1, "{of_default:?}");
}

#[test]
fn a_run_that_is_continued_reads_its_verdicts_and_what_it_measured_at_other_shapes() {
    let folder = tempfile::tempdir().unwrap();
    let records = folder.path().join("records.jsonl");
    let config = within("[16, 24]", r#", "regret": {"worst": 1.1}"#);
    let run = |few: usize| {
        let gflops = move |at: usize, rows: i64| match rows {
            ..21 if at == few => 150.0,
            ..21 => 100.0,
            _ => 100.0 + 20.0 * at as f64,
        };
        let aim = Towards { config: Some(&config), weights: [1.0; 4], most: 8, is_timed: true };
        let ended = finals_towards(aim, 1e6, DENSE, &[1, 2, 4], gflops, quiet(), Some(&records));
        (ended.selected, ended.verdicts, ended.tuned.tree, ended.tuned.regret)
    };
    let first = run(0);
    assert!(first.1.len() >= 2 && first.2.leaves().count() > 1, "{first:?}");
    let lines = std::fs::read_to_string(&records).unwrap();
    assert_eq!(run(1), first, "nothing was decided anew");
    assert_eq!(std::fs::read_to_string(&records).unwrap(), lines, "nor measured");
}

/// On a machine that is never quiet nobody wins, and that is on record.
#[test]
fn where_no_sample_is_clean_the_default_stays_and_is_unknown() {
    let never: Noise = Box::new(|_, _| None);
    let Ended { selected, verdicts, .. } = finals(DENSE, &[1, 2], |at, _| 100.0 * (1 + at) as f64, never, None);
    assert_eq!(selected, [0; 4]);
    assert!(verdicts.iter().all(|(.., verdict)| *verdict == Verdict::Unknown) && !verdicts.is_empty(), "{verdicts:?}");
}
