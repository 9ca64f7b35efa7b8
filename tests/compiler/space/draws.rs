//! Draws, mutants and children lower, and are within the limits that the lowered loops are checked for.
//!
//! 10,000 draws, and 1,000 mutants and children, with `DIETCODE_ALL=1`; without it a twentieth of the draws and a tenth of the
//! others. They are shared out over kernels and targets, with workload instances of extents from 1 to 200, primes among them.

use std::sync::atomic::{AtomicUsize, Ordering};

use dietcode_core::schedule::Trace;
use dietcode_core::sketch::{Mutators, Sampler, Space};
use rand::rngs::StdRng;
use rand::seq::IndexedRandom;
use rand::{RngExt, SeedableRng};

use super::cases::{self, TARGETS};
use crate::common::damaged::damaged;
use crate::common::settings;

/// Draws from one space.
const DRAWS: usize = 10;

/// Calls `check` with random spaces, on two threads.
fn each_space(count: usize, check: impl Fn(&Space, &mut StdRng) + Sync) {
    let seed = settings::seed_of_the_day();
    let of = |name| (cases::target(name), cases::kernels(&cases::target(name)));
    let targets: Vec<_> = TARGETS.into_iter().map(of).collect();
    std::thread::scope(|scope| {
        for worker in 0..2 {
            let (targets, check) = (&targets, &check);
            scope.spawn(move || {
                for n in (worker..count).step_by(2) {
                    let mut rng = StdRng::seed_from_u64(seed.wrapping_mul(1 << 20).wrapping_add(n as u64));
                    let (target, kernels) = &targets[n % targets.len()];
                    let def = kernels.choose(&mut rng).expect("there are kernels");
                    check(&cases::space(&mut rng, def, target.clone(), 200), &mut rng);
                }
            });
        }
    });
}

fn sampler(space: &Space) -> Sampler<'_> {
    space.sampler().unwrap_or_else(|e| panic!("{} at {:?}: {e}", space.def.name, space.bounds))
}

fn apply(space: &Space, trace: &Trace) {
    assert!(trace.open().next().is_none(), "{trace}");
    space.apply(trace).unwrap_or_else(|e| panic!("{} at {:?}: {e}\n{trace}", space.def.name, space.bounds));
}

#[test]
fn every_draw_lowers_within_the_limits() {
    let draws = settings::count(500, 10_000);
    each_space(draws / DRAWS, |space, rng| {
        let sampler = sampler(space);
        for _ in 0..DRAWS {
            apply(space, &sampler.sample(rng));
        }
    });
    println!("{draws} draws, all lower");
}

#[test]
fn every_completed_trace_keeps_what_was_decided() {
    each_space(settings::count(50, 500), |space, rng| {
        let sampler = sampler(space);
        let mut partial = sampler.sample(rng);
        partial.decisions.retain(|_, _| rng.random_bool(0.5));
        let full = sampler.complete(&partial, rng).unwrap_or_else(|e| panic!("{}: {e}\n{partial}", space.def.name));
        assert!(partial.decisions.iter().all(|(name, value)| full.decisions[name] == *value), "{partial}{full}");
        apply(space, &full);
    });
}

#[test]
fn every_mutant_and_child_lowers_within_the_limits() {
    let count = settings::count(100, 1_000);
    let (mutants, children) = (AtomicUsize::new(0), AtomicUsize::new(0));
    each_space(count, |space, rng| {
        let sampler = sampler(space);
        let trace = sampler.sample(rng);
        // A space of a few elements may have a single schedule of its sketch.
        let mutant = sampler.mutate(&trace, &Mutators::default(), rng).map(|(_, mutant)| mutant);
        if let Some(mutant) = &mutant {
            assert_ne!(mutant.decisions, trace.decisions);
            apply(space, mutant);
            mutants.fetch_add(1, Ordering::Relaxed);
        }
        let mate = sampler.complete(&Trace::new(trace.instructions.clone()), rng).expect("its sketch has a draw");
        if let Some(child) = sampler.crossover(&trace, &mate, rng) {
            assert!(child.decisions != trace.decisions && child.decisions != mate.decisions);
            apply(space, &child);
            children.fetch_add(1, Ordering::Relaxed);
        }
    });
    let (mutants, children) = (mutants.into_inner(), children.into_inner());
    println!("{mutants} mutants and {children} children of {count} draws, all lower");
    assert!(mutants > count * 3 / 4 && children > count / 4, "{mutants} mutants, {children} children");
}

#[test]
fn a_damaged_sketch_is_refused_or_drawn() {
    let (refused, drawn) = (AtomicUsize::new(0), AtomicUsize::new(0));
    each_space(settings::count(20, 200), |space, rng| {
        let trace = sampler(space).sample(rng);
        let text = serde_json::to_string(&trace).expect("a trace is JSON");
        for _ in 0..20 {
            let Ok(mut damaged) = serde_json::from_str::<Trace>(&damaged(&text, rng)) else { continue };
            damaged.decisions.retain(|_, _| rng.random_bool(0.8));
            // What is drawn of it need not lower, but has an answer.
            let answer = space.complete(&damaged, rng).map(|full| space.apply(&full).is_ok());
            if answer.is_ok() { &drawn } else { &refused }.fetch_add(1, Ordering::Relaxed);
        }
    });
    let (refused, drawn) = (refused.into_inner(), drawn.into_inner());
    println!("{refused} damaged sketches are refused, {drawn} are drawn");
    assert!(refused > 0 && drawn > 0);
}
