//! Pools of made-up records.

use std::collections::BTreeMap;

use dietcode_syntax::KernelDef;
use rand::SeedableRng;
use rand::rngs::StdRng;

use super::*;
use crate::config::{Cache, Evolution};
use crate::cost_model::CostModel;
use crate::ir::ForKind;
use crate::machine;
use crate::machine::cuda::DeviceLimits;
use crate::measure::{Failure, Summary};
use crate::schedule::{Instruction, Trace};
use crate::search::testing::{dense, target};
use crate::search::{Outcome, Record, Shape, Target, Workload};
use crate::sketch::rules::CustomRules;
use crate::sketch::{Lowered, MicroKernel, Space};

fn shape(m: i64) -> Shape {
    Shape::from([("M".to_owned(), m)])
}

/// A trace that decided for a number.
fn trace(value: i64) -> MicroKernel {
    let candidates = (1..=1000).collect();
    let sampled = Instruction::SampleCategorical { into: "u".into(), candidates, weights: vec![1.0; 1000] };
    MicroKernel::of_trace(Trace::new([sampled]).with(BTreeMap::from([("u".into(), value)])), "traced")
}

fn record(value: i64, m: i64, outcome: Outcome) -> Record {
    let workload = Workload { kernel: "dense".into(), source_hash: "0".into(), shape: Some(shape(m)) };
    let target = Target::Cpu { cpu: "a".into(), march: "native".into(), compiler: "cc".into() };
    Record { run: "r".into(), trial: value.unsigned_abs(), ..Record::new(workload, target, trace(value), outcome) }
}

fn measured(value: i64, m: i64, median: f64) -> Record {
    let gflops = Summary { median, iqr: 0.0, repeats: 1 };
    record(value, m, Outcome::Measured { threads: 1, gflops, rel_err: 0.0, cache: Cache::Warm })
}

/// A simulation of a strategy on the records of a CPU.
fn simulated(pool: &Pool, strategy: &mut dyn Strategy, trials: usize, per_round: usize) -> Vec<f64> {
    let mut device = pool.device(&dense(96, 64), target()).unwrap();
    simulate(pool, &mut device, strategy, trials, per_round).unwrap()
}

fn pool(records: &[Record], instances: &[(Shape, f64)]) -> Pool {
    Pool::of(&records.iter().collect::<Vec<_>>(), instances).unwrap()
}

/// The micro-kernel that runs where nothing was tuned, and three traces, one of which failed on its second instance.
fn records() -> Vec<Record> {
    let default = Record {
        schedule: MicroKernel::of_trace(Trace::default(), "tiled"),
        name: "default".into(),
        trial: 0,
        ..measured(0, 64, 5.0)
    };
    vec![
        default,
        measured(1, 64, 10.0),
        measured(1, 32, 4.0),
        measured(2, 64, 20.0),
        measured(3, 64, 99.0),
        record(3, 32, Outcome::Failed(Failure::Timeout { seconds: 1.0 })),
        measured(1, 64, 11.0),
        measured(1, 7, 1.0),
    ]
}

#[test]
fn a_pool_has_the_last_figures_of_what_never_failed() {
    let pool = pool(&records(), &[(shape(64), 3.0), (shape(32), 1.0), (shape(999), 1.0)]);
    let goals: Vec<(&Shape, usize, f64)> = pool.goals.iter().map(|g| (&g.shape, g.threads, g.weight)).collect();
    assert_eq!(goals, [(&shape(64), 1, 3.0), (&shape(32), 1, 1.0)]);
    let figures: Vec<&[Option<f64>]> = pool.candidates.iter().map(|c| &*c.gflops).collect();
    assert_eq!(figures, [&[Some(11.0), Some(4.0)][..], &[Some(20.0), None], &[None, None]]);
    // The default was not measured at the second instance.
    assert_eq!(pool.start, [5.0, 4.0]);
    assert!((pool.mean(&[16.0, 1.0]) - 8.0).abs() < 1e-12, "16^(3/4)");
    assert!((pool.best() - (20.0f64.powi(3) * 4.0).powf(0.25)).abs() < 1e-9);
}

#[test]
fn records_without_traces_are_no_pool() {
    let records = records();
    let error = Pool::of(&[&records[0]], &[(shape(64), 1.0)]).unwrap_err();
    assert!(error.to_string().contains("--strategy random"), "{error}");
    assert!(Pool::of(&records.iter().collect::<Vec<_>>(), &[(shape(999), 1.0)]).is_err());
}

#[test]
fn a_simulation_ends_with_the_trials_or_the_pool() {
    let records: Vec<Record> = (1..=40).map(|value| measured(value, 64, value as f64)).collect();
    let pool = pool(&records, &[(shape(64), 1.0)]);
    for (trials, per_round) in [(10, 3), (10, 64), (40, 7), (1000, 64), (5, 0)] {
        let curve = simulated(&pool, &mut Random::new(0), trials, per_round);
        assert_eq!(curve.len(), trials.min(40) + 1);
        assert!(curve.is_sorted() && curve[0] == 1.0, "{curve:?}");
    }
    let whole = simulated(&pool, &mut Random::new(0), 40, 8);
    assert!((whole[40] - pool.best()).abs() < 1e-9);
}

#[test]
fn random_picks_depend_on_the_seed_only() {
    let records: Vec<Record> = (1..=400).map(|value| measured(value, 64, value as f64)).collect();
    let pool = pool(&records, &[(shape(64), 1.0)]);
    let curve = |seed| simulated(&pool, &mut Random::new(seed), 64, 16);
    assert_eq!(curve(1), curve(1));
    assert_ne!(curve(1), curve(2));
}

#[test]
fn summaries_are_over_seeds() {
    let curve = |seed: u64, end: f64| Curve { seed, gflops: [vec![1.0; 32], vec![end; 20]].concat() };
    let simulated = Simulated::of("random", vec![curve(0, 2.0), curve(1, 4.0)]);
    assert_eq!(simulated.checkpoints.iter().map(|c| c.trials).collect::<Vec<_>>(), [16, 32]);
    let last = simulated.checkpoints[1];
    assert_eq!((last.mean, last.min, last.max), (3.0, 2.0, 4.0));
    assert!((last.deviation - 2.0f64.sqrt()).abs() < 1e-12);
    assert_eq!(Simulated::of("random", vec![curve(0, 2.0)]).checkpoints[0].deviation, 0.0);
}

/// GFLOP/s of a machine that has nothing to do with any model of the project: the structure's hash decides.
fn machine(applied: &Lowered) -> f64 {
    10.0 + f64::from(applied.hash[0])
}

/// What a test says of that machine.
struct Known(fn(&Lowered) -> f64);

impl CostModel for Known {
    fn name(&self) -> &'static str {
        "known"
    }

    fn predict(&self, _: &KernelDef, candidates: &[&Lowered], instances: &[Vec<i64>], _: usize) -> Vec<Vec<f64>> {
        candidates.iter().map(|candidate| vec![(self.0)(candidate); instances.len()]).collect()
    }
}

/// Right to within a fifth.
const GOOD: Known = Known(|applied| machine(applied) * (0.8 + 0.4 * f64::from(applied.hash[1]) / 255.0));
/// Predicts the slowest to be the fastest.
const MISLEADING: Known = Known(|applied| 1e4 / machine(applied));

/// Random draws of a space, as that machine measures them.
fn drawn(space: &Space, count: usize) -> Pool {
    let (sampler, mut rng) = (space.sampler().unwrap(), StdRng::seed_from_u64(5));
    let mut records = Vec::new();
    while records.len() < 2 * count {
        let Ok(applied) = space.apply(&sampler.sample(&mut rng)) else { continue };
        for m in [64, 32] {
            let schedule = MicroKernel::of(&applied);
            let Record { workload, target, outcome, .. } = measured(1, m, machine(&applied));
            records.push(Record { structure: Some(applied.hash), ..Record::new(workload, target, schedule, outcome) });
        }
    }
    pool(&records, &[(shape(64), 1.0), (shape(32), 1.0)])
}

#[test]
fn a_good_model_finds_the_best_sooner_than_chance_and_a_misleading_one_later() {
    let space = Space::generate(&dense(96, 64), target(), &[vec![64], vec![32]], &CustomRules::default()).unwrap();
    let pool = drawn(&space, 80);
    let settings = Evolution { population: 16, generations: 1, ..Evolution::default() };
    let after = |strategy: &mut dyn Strategy| simulated(&pool, strategy, 16, 8)[16];
    let mean = |of: &dyn Fn(u64) -> f64| (0..3).map(of).sum::<f64>() / 3.0;
    let random = mean(&|seed| after(&mut Random::new(seed)));
    let evolved = |model: &Known| {
        let guide = Guide::of(&pool, &space, model, &settings).unwrap();
        mean(&|seed| after(&mut Evolved::new(&guide, seed)))
    };
    let (good, misled) = (evolved(&GOOD), evolved(&MISLEADING));
    assert!(good > 0.98 * pool.best() && good > random && random > misled, "{good} {random} {misled} {}", pool.best());
    let guide = Guide::of(&pool, &space, &GOOD, &settings).unwrap();
    let curve = |seed| simulated(&pool, &mut Proposed::new(&guide, seed), 16, 8);
    assert_eq!(curve(1), curve(1));
}

#[test]
fn guided_strategies_go_through_the_whole_pool_and_end() {
    let space = Space::generate(&dense(96, 64), target(), &[vec![64], vec![32]], &CustomRules::default()).unwrap();
    let pool = drawn(&space, 20);
    let settings = Evolution { population: 8, generations: 1, ..Evolution::default() };
    let guide = Guide::of(&pool, &space, &GOOD, &settings).unwrap();
    for strategy in [&mut Evolved::new(&guide, 0) as &mut dyn Strategy, &mut Proposed::new(&guide, 0)] {
        let curve = simulated(&pool, strategy, 1000, 8);
        assert_eq!(curve.len(), pool.candidates.len() + 1, "{}", strategy.name());
        assert!((curve[pool.candidates.len()] - pool.best()).abs() < 1e-9);
    }
}

/// They have no number of threads: all multiprocessors work.
#[test]
fn records_of_a_gpu_guide_in_its_space_only() {
    let sm_80 = *DeviceLimits::of("sm_80".parse().unwrap()).unwrap();
    let space =
        |target| Space::generate(&dense(96, 64), target, &[vec![64], vec![32]], &CustomRules::default()).unwrap();
    let (gpu, cpu) = (space(machine::Target::Cuda(sm_80)), space(target()));
    let mut pool = drawn(&gpu, 20);
    pool.goals.iter_mut().for_each(|goal| goal.threads = 0);
    let settings = Evolution { population: 8, generations: 1, ..Evolution::default() };
    let guide = Guide::of(&pool, &gpu, &GOOD, &settings).unwrap();
    let curve = simulated(&pool, &mut Evolved::new(&guide, 0), 1000, 8);
    assert!(curve.len() == 21 && (curve[20] - pool.best()).abs() < 1e-9, "{curve:?}");
    let error = Guide::of(&pool, &cpu, &GOOD, &settings).map(drop).unwrap_err();
    assert!(error.to_string().contains("found records of a GPU, expected those of a CPU"), "{error}");
}

#[test]
fn a_trace_of_another_space_is_told() {
    let space = Space::generate(&dense(96, 64), target(), &[vec![64]], &CustomRules::default()).unwrap();
    let settings = Evolution::default();
    let mut records = records();
    records.iter_mut().for_each(|record| record.workload.shape = Some(shape(64)));
    let strange = Trace::new([Instruction::Kind(ForKind::Parallel, "no_loop".into())]);
    records[3].schedule = MicroKernel::of_trace(strange, "traced");
    let pool = pool(&records, &[(shape(64), 1.0)]);
    let error = Guide::of(&pool, &space, &GOOD, &settings).map(drop).unwrap_err();
    assert!(error.to_string().contains("none of the space as it is now"), "{error}");
}
