use std::collections::HashSet;
use std::sync::atomic::AtomicBool;

use dietcode_syntax::KernelDef;
use rand::SeedableRng;

use super::*;
use crate::cost_model::{Analytic, CostModel, Random};
use crate::machine::Target;
use crate::measure::Cores;
use crate::search::testing::{dense, target};
use crate::sketch::rules::CustomRules;
use crate::sketch::{Mutator, Tiled};

fn space() -> Space {
    Space::generate(&dense(2304, 768), target(), &[vec![80], vec![2048]], &CustomRules::default()).unwrap()
}

fn objective() -> Objective {
    Objective { instances: vec![vec![80], vec![2048]], weights: vec![1.0, 1.0], units: 1 }
}

fn small() -> Evolution {
    Evolution { population: 24, generations: 3, ..Evolution::default() }
}

fn asked(seed: u64, want: usize) -> Asked {
    Asked { seed, want, templates: 0 }
}

/// What evolves with all of the process's cores, and is not stopped.
struct Ground<'a> {
    space: &'a Space,
    model: &'a dyn CostModel,
    objective: Objective,
    cores: Cores,
    stop: AtomicBool,
}

impl<'a> Ground<'a> {
    fn of(space: &'a Space, model: &'a dyn CostModel) -> Ground<'a> {
        Ground { space, model, objective: objective(), cores: Cores::of_process(), stop: AtomicBool::new(false) }
    }

    fn guidance(&self) -> Guidance<'_> {
        let Ground { space, model, objective, cores, stop } = self;
        Guidance { space, model: *model, objective, cores, stop }
    }

    fn search(&self, by: &Evolution, known: &[Known], taken: &HashSet<Hash>, asked: Asked) -> Vec<Proposal> {
        by.search(self.guidance(), known, taken, asked).unwrap()
    }
}

fn drawn(space: &Space, seed: u64, count: usize) -> Vec<Lowered> {
    let mut rng = StdRng::seed_from_u64(seed);
    (0..count).map(|_| space.apply(&space.sample(&mut rng).unwrap()).unwrap()).collect()
}

/// Candidates that were measured at both instances.
fn measured(candidates: Vec<Lowered>, gflops: impl Fn(&Lowered) -> f64) -> Vec<Known> {
    let known = |lowered: Lowered| Known { gflops: vec![Some(gflops(&lowered)); 2], trace: lowered.trace };
    candidates.into_iter().map(known).collect()
}

fn hashes(found: &[Proposal]) -> Vec<Hash> {
    found.iter().map(|proposal| proposal.structure).collect()
}

#[test]
fn a_seed_gives_the_same_on_any_number_of_cores() {
    let (space, model) = (space(), Random { seed: 3 });
    let run = |cores: usize, seed: u64| {
        let ground = Ground { cores: Cores::several(cores), ..Ground::of(&space, &model) };
        hashes(&ground.search(&small(), &[], &HashSet::new(), asked(seed, 12)))
    };
    let one = run(1, 5);
    assert_eq!((one.len(), &one, &one), (12, &run(2, 5), &run(5, 5)));
    assert_ne!(one, run(2, 6));
}

#[test]
fn what_was_taken_is_not_proposed_again_and_no_structure_twice() {
    let (space, model) = (space(), Random { seed: 3 });
    let mut taken = HashSet::new();
    for seed in 0..3 {
        // The known are parents, and are not proposed again.
        let known = drawn(&space, 9, 5);
        taken.extend(known.iter().map(|known| known.hash));
        let known = measured(known, |_| 50.0);
        let found = Ground::of(&space, &model).search(&small(), &known, &taken, asked(seed, 10));
        assert_eq!(found.len(), 10);
        assert!(hashes(&found).iter().all(|hash| taken.insert(*hash)));
    }
}

#[test]
fn a_small_space_is_proposed_whole_and_then_ends() {
    let mut space = space();
    let one = space.sample(&mut StdRng::seed_from_u64(1)).unwrap();
    // What a sketch decides itself stays: all but one variable.
    let free = one.variables().last().unwrap().clone();
    let mut fixed = one.decisions.clone();
    fixed.remove(&free);
    space.sketches = vec![one.with(fixed)];
    let mut taken = HashSet::new();
    for seed in 0..8 {
        let found = Ground::of(&space, &Random::default()).search(&small(), &[], &taken, asked(seed, 64));
        assert!(hashes(&found).iter().all(|hash| taken.insert(*hash)));
    }
    let rest = Ground::of(&space, &Random::default()).search(&small(), &[], &taken, asked(9, 64));
    assert!(!taken.is_empty() && rest.len() <= 1, "{} {}", taken.len(), rest.len());
}

#[test]
fn children_are_better_than_the_draws_that_they_descend_from() {
    let (space, model) = (space(), Analytic { target: target() });
    let objective = objective();
    let best = |generations: usize, seed: u64| {
        let evolution = Evolution { population: 16, generations, ..small() };
        let found = Ground::of(&space, &model).search(&evolution, &[], &HashSet::new(), asked(seed, 8));
        let rows = model.predict(
            &space.def,
            &found.iter().map(|proposal| &proposal.lowered).collect::<Vec<_>>(),
            &objective.instances,
            1,
        );
        rows.iter().map(|row| (row[0].ln() + row[1].ln()) / 2.0).fold(f64::NEG_INFINITY, f64::max)
    };
    let better = (0..3).filter(|seed| best(3, *seed) > best(0, *seed)).count();
    assert!(better >= 2, "{better} of 3");
}

/// Children are made by the mutators that a config leaves, and say by which.
#[test]
fn a_mutator_without_probability_makes_nothing() {
    let (space, model) = (space(), Random { seed: 3 });
    let made = |probability: fn(Mutator) -> f64| {
        let mut evolution = Evolution { mutation: 1.0, ..small() };
        Mutator::ALL.into_iter().for_each(|mutator| evolution.mutators.set(mutator, probability(mutator)));
        let found = Ground::of(&space, &model).search(&evolution, &[], &HashSet::new(), asked(5, 96));
        found.into_iter().filter_map(|proposal| proposal.made).collect::<Vec<Made>>()
    };
    let parallel = made(|mutator| f64::from(u8::from(mutator == Mutator::Parallel)));
    assert!(parallel.iter().all(|made| [Made::Drawn, Made::Mutant(Mutator::Parallel)].contains(made)), "{parallel:?}");
    assert!(parallel.contains(&Made::Mutant(Mutator::Parallel)) && parallel.contains(&Made::Drawn));
    let all = made(|_| 0.5);
    assert!(all.contains(&Made::Mutant(Mutator::TileSize)) && all.contains(&Made::Mutant(Mutator::ComputeLocation)));
}

/// A model that takes whatever has a marked register tile for the fastest.
struct Marks(i64);

impl CostModel for Marks {
    fn name(&self) -> &'static str {
        "marks"
    }

    fn predict(&self, _: &KernelDef, candidates: &[&Lowered], instances: &[Vec<i64>], _: usize) -> Vec<Vec<f64>> {
        let gflops = |candidate: &&Lowered| if rows(&candidate.trace) == self.0 { 200.0 } else { 100.0 };
        candidates.iter().map(|candidate| vec![gflops(candidate); instances.len()]).collect()
    }
}

fn rows(trace: &Trace) -> i64 {
    trace.decisions.get("i_register").copied().unwrap_or(0)
}

/// What the model takes for the fastest was measured to be slow: its mutants are no better than the model was.
#[test]
fn measurements_and_not_the_model_choose_parents() {
    let space = space();
    let parents = drawn(&space, 9, 40);
    let marked = rows(&parents[0].trace);
    // The mutator leaves register tiles alone.
    let share = |fast: bool| {
        let seen = |lowered: &Lowered| if (rows(&lowered.trace) == marked) == fast { 150.0 } else { 40.0 };
        let known = measured(parents.clone(), seen);
        let mut evolution = Evolution { population: 40, from_database: 1.0, generations: 1, mutation: 1.0, ..small() };
        Mutator::ALL.into_iter().for_each(|mutator| evolution.mutators.set(mutator, 0.0));
        evolution.mutators.set(Mutator::Parallel, 1.0);
        let model = Marks(marked);
        let found = Ground::of(&space, &model).search(&evolution, &known, &HashSet::new(), asked(5, 40));
        let of_marked = found.iter().filter(|proposal| rows(&proposal.lowered.trace) == marked).count();
        (of_marked, found.len())
    };
    let (fast, slow) = (share(true), share(false));
    assert!(fast.0 * 10 >= fast.1 * 9 && fast.1 >= 4, "{fast:?}");
    assert!(slow.0 * 10 <= slow.1 && slow.1 >= 4, "{slow:?}");
}

#[test]
fn an_evolution_begins_with_templates() {
    let mut space = space();
    let Target::Cpu(cpu) = target() else { unreachable!() };
    let (template, _) = Tiled::default_for(&space.program, &cpu).micro_kernel(&space.program, &cpu).unwrap();
    let trace = template.trace.before_postproc();
    let structure = space.apply(&trace).unwrap().hash;
    space.templates = vec![trace];
    let evolution = Evolution { population: 8, generations: 0, ..small() };
    let model = Random::default();
    let found = Ground::of(&space, &model).search(&evolution, &[], &HashSet::new(), asked(1, 8));
    let of_template = found.iter().filter(|proposal| proposal.made == Some(Made::Template));
    assert_eq!(of_template.map(|proposal| proposal.structure).collect::<Vec<_>>(), [structure]);
}

/// The next generation has the share of the best parents that is not mutated, however many children there are.
#[test]
fn parents_are_kept() {
    let (space, model) = (space(), Random { seed: 3 });
    let ground = Ground::of(&space, &model);
    let known = measured(drawn(&space, 9, 8), |lowered| 50.0 + f64::from(lowered.hash[0]));
    let (population, known) = Population::new(ground.guidance(), 0, &known, &[]);
    let goal = goal(&population, LEAST_ERROR, &known, &[]);
    let next = survivors(known.clone(), &[&known[..], &known[..]].concat(), &goal, (8, 2));
    assert_eq!(next.len(), 8);
    assert_eq!(survivors(known.clone(), &known[..3], &goal, (8, 2)).len(), 8, "and where children are missing");
    let without_mutation = Evolution { mutation: 0.0, population: 8, ..Evolution::default() };
    assert_eq!(without_mutation.kept(), 4, "what was crossed comes in");
    let best = known.iter().max_by(|a, b| goal.gain(&a.expected).total_cmp(&goal.gain(&b.expected))).unwrap();
    assert!(survivors(known.clone(), &[], &goal, (2, 1)).iter().any(|kept| kept.hash == best.hash));
}

/// What becomes known while generations are made counts when they are picked from, and is not measured again.
#[test]
fn picks_know_what_was_measured_since_the_generations_began() {
    let (space, model) = (space(), Random { seed: 3 });
    let ground = Ground::of(&space, &model);
    let evolved = || small().evolve(ground.guidance(), &[], 5).unwrap();
    let first = ground.search(&small(), &[], &HashSet::new(), asked(5, 12));
    let taken: HashSet<Hash> = hashes(&first[..6]).into_iter().collect();
    let measured = measured(first[..6].iter().map(|proposal| proposal.lowered.clone()).collect(), |_| 50.0);
    let pick = |known: &[Known], taken: &HashSet<Hash>| {
        let found = small().pick(ground.guidance(), evolved(), known, taken, asked(5, 12));
        hashes(&found.unwrap())
    };
    assert_eq!(pick(&[], &HashSet::new()), hashes(&first));
    let later = pick(&measured, &taken);
    assert!(later.len() == 12 && later.iter().all(|hash| !taken.contains(hash)));
}
