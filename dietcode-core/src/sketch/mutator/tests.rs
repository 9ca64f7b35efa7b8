//! What each mutator changes, and what it leaves alone.

use std::collections::BTreeSet;

use rand::SeedableRng;
use rand::rngs::StdRng;

use super::{Move, choice, compute_location, crossover, parallel, thread_binding, tile_size, unroll};
use crate::ir::Name;
use crate::machine::Target;
use crate::machine::avx512;
use crate::machine::cuda::DeviceLimits;
use crate::schedule::Level;
use crate::sketch::rules::CustomRules;
use crate::sketch::sample::Bounded;
use crate::sketch::{Blocked, MicroKernel, Mutators, Space, Tiled};

const DENSE: &str = "#[dynamic_kernel] fn dense(x: &[[f32; K]; M], w: &[[f32; K]; N], y: &mut [[f32; N]; M]) {
    for i in 0..M { for j in 0..N { let mut acc = 0.0; for k in 0..K { acc += x[i][k] * w[j][k]; } y[i][j] = acc; } } }";

const SCALED: &str = "#[dynamic_kernel] fn scaled(x: &[f32; N], y: &mut [f32; N]) {
    for j in 0..N { y[j] = x[j] * 0.5; } }";

fn space(text: &str, target: Target) -> Space {
    let def: dietcode_syntax::KernelDef = crate::testing::kernel(text);
    let instance = vec![768; def.shape_vars.len()];
    Space::generate(&def, target, &[instance], &CustomRules::default()).expect("there are sketches")
}

fn gpu() -> Target {
    Target::Cuda(*DeviceLimits::of("sm_80".parse().expect("a capability")).expect("it is known"))
}

fn cpu() -> Target {
    Target::Cpu(avx512())
}

/// A sketch with a variable of this name, and a draw of it.
fn drawn(space: &Space, var: &str) -> (Bounded, Vec<i64>) {
    let sketch = space.sketches.iter().find(|sketch| sketch.variables().any(|name| **name == *var));
    let bounded = Bounded::of(space, sketch.expect("a sketch samples it")).expect("it has a draw");
    let trace = bounded.sample(&mut StdRng::seed_from_u64(1));
    let values = bounded.values(&trace).expect("all is decided");
    (bounded, values)
}

/// The variables that moves change.
fn changed(bounded: &Bounded, values: &[i64], moves: &[Move]) -> BTreeSet<Name> {
    let changes = moves.iter().flatten().filter(|(var, value)| values[*var] != *value);
    changes.map(|(var, _)| bounded.footprint.vars[*var].name.clone()).collect()
}

fn names(all: &[&str]) -> BTreeSet<Name> {
    all.iter().map(|name| Name::from(*name)).collect()
}

#[test]
fn shares_of_steps_and_their_waves_are_choices() {
    let (bounded, values) = drawn(&space(DENSE, gpu()), "stream_shares");
    let changed = changed(&bounded, &values, &choice::moves(&bounded.footprint, &values));
    assert!(names(&["stream_shares", "stream_waves"]).is_subset(&changed), "{changed:?}");
}

#[test]
fn the_order_of_blocks_and_where_they_are_held_change() {
    let (bounded, values) = drawn(&space(DENSE, gpu()), "i_vthread");
    let order = changed(&bounded, &values, &parallel::moves(&bounded.footprint, &values));
    assert_eq!(order, names(&["raster_rows", "raster_columns"]));
    let others = changed(&bounded, &values, &choice::moves(&bounded.footprint, &values));
    assert!(names(&["min_blocks", "persistent"]).is_subset(&others), "{others:?}");
}

#[test]
fn tiles_of_threads_are_left_alone() {
    let (bounded, values) = drawn(&space(DENSE, gpu()), "i_vthread");
    let moves = tile_size::moves(&bounded.footprint, &values);
    let free = ["i_vthread", "i_outer", "i_inner", "j_vthread", "j_outer", "j_inner", "k_steps", "k_unroll"];
    assert_eq!(changed(&bounded, &values, &moves), names(&free));
}

#[test]
fn factors_move_between_levels_of_an_axis() {
    let (bounded, mut values) = drawn(&space(DENSE, cpu()), "i_register");
    let at = |name: &str| bounded.footprint.vars.iter().position(|var| *var.name == *name).expect("it is sampled");
    let (block, register) = (at("i_block"), at("i_register"));
    (values[block], values[register]) = (16, 6);
    let moves = tile_size::moves(&bounded.footprint, &values);
    for expected in [vec![(block, 8), (register, 12)], vec![(register, 2), (block, 48)], vec![(block, 19)]] {
        assert!(moves.contains(&expected), "{expected:?} of {moves:?}");
    }
    assert!(!moves.iter().flatten().any(|(var, _)| bounded.footprint.vars[*var].level() == Some(Level::Task)));
}

#[test]
fn threads_lie_along_other_axes() {
    let (bounded, values) = drawn(&space(DENSE, gpu()), "i_vthread");
    let moves = thread_binding::moves(&bounded.footprint, &values);
    let threads = |step: &Move| step.iter().map(|(_, value)| value).product::<i64>();
    assert!(moves.len() > 3 && moves.iter().all(|step| threads(step) == threads(&moves[0])), "{moves:?}");
    assert_eq!(changed(&bounded, &values, &moves), names(&["i_thread", "j_thread"]));
}

#[test]
fn threads_that_are_drawn_alone_become_more_or_fewer() {
    let (bounded, values) = drawn(&space(SCALED, gpu()), "j_thread");
    let moves = thread_binding::moves(&bounded.footprint, &values);
    assert_eq!(changed(&bounded, &values, &moves), names(&["j_thread"]));
}

#[test]
fn what_is_unrolled_changes_where_it_is_free() {
    let (bounded, values) = drawn(&space(SCALED, cpu()), "j_unroll");
    let moves = unroll::moves(&bounded.footprint, &values);
    assert_eq!(changed(&bounded, &values, &moves), names(&["j_unroll"]));
    let (bounded, values) = drawn(&space(DENSE, cpu()), "k_unroll");
    assert!(unroll::moves(&bounded.footprint, &values).is_empty());
}

#[test]
fn places_and_tasks_have_mutators_of_their_own() {
    let (bounded, values) = drawn(&space(DENSE, cpu()), "w_place");
    let places = changed(&bounded, &values, &compute_location::moves(&bounded.footprint, &values));
    assert!(places.contains(&*Name::from("w_place")), "{places:?}");
    let tasks = changed(&bounded, &values, &parallel::moves(&bounded.footprint, &values));
    assert_eq!(tasks, names(&["i_task", "j_task"]));
}

#[test]
fn a_child_has_each_axis_of_one_parent() {
    let space = space(DENSE, cpu());
    let (bounded, _) = drawn(&space, "w_place");
    let mut rng = StdRng::seed_from_u64(2);
    let mut children = 0;
    for _ in 0..50 {
        let [a, b] = [bounded.sample(&mut rng), bounded.sample(&mut rng)];
        let Some(child) = crossover::crossover(&bounded, &a, &b, &mut rng) else { continue };
        let values = [&a, &b, &child].map(|trace| bounded.values(trace).expect("all is decided"));
        for axis in &bounded.footprint.axes {
            let [a, b, child] =
                values.each_ref().map(|all| axis.vars.iter().map(|var| all[*var]).collect::<Vec<i64>>());
            assert!(child == a || child == b, "{child:?} of {a:?} and {b:?}");
        }
        assert!(values[2] != values[0] && values[2] != values[1]);
        children += 1;
    }
    assert!(children > 25, "{children} of 50 pairs have a child");
    let other = space.sketches.iter().find(|sketch| !bounded.is_of(sketch)).expect("there are several");
    let stranger = space.complete(other, &mut rng).expect("it has a draw");
    assert!(space.crossover(&bounded.sample(&mut rng), &stranger, &mut rng).is_none());
}

/// The numbers of a family are decisions: mutants of its trace are other schedules of the same structure, which keep all limits,
/// with instances and without.
#[test]
fn numbers_of_a_family_are_decisions() {
    let unbounded = |mut space: Space| {
        space.bounds.extents.clear();
        space
    };
    for target in [cpu(), gpu()] {
        for space in [space(DENSE, target.clone()), unbounded(space(DENSE, target.clone()))] {
            let default = default_of_family(&space);
            let trace = default.trace.before_postproc();
            let first = space.apply(&trace).expect("the default keeps all limits");
            let mut rng = StdRng::seed_from_u64(5);
            let (mut hashes, mut vars) = (BTreeSet::from([first.hash]), BTreeSet::new());
            for _ in 0..60 {
                let (_, mutant) =
                    space.mutate(&trace, &Mutators::default(), &mut rng).expect("there are traces nearby");
                assert_eq!(mutant.instructions, trace.instructions);
                let changed = mutant.decisions.iter().filter(|(var, value)| trace.decisions[*var] != **value);
                vars.extend(changed.map(|(var, _)| var.clone()));
                hashes.insert(space.apply(&mutant).unwrap_or_else(|e| panic!("{e}\n{mutant}")).hash);
            }
            assert!(hashes.len() > 20, "{target:?}: {} schedules", hashes.len());
            let expected = match target {
                Target::Cpu(_) => names(&["i_block", "i_register", "j_register", "k_steps"]),
                Target::Cuda(_) => names(&["i_thread", "j_thread", "i_inner", "j_inner", "k_steps"]),
            };
            assert!(vars.is_superset(&expected), "{vars:?}");
        }
    }
}

fn default_of_family(space: &Space) -> MicroKernel {
    let found = match &space.bounds.target {
        Target::Cpu(target) => Tiled::default_for(&space.program, target).micro_kernel(&space.program, target),
        Target::Cuda(device) => {
            let default = Blocked::default_for(&space.program, device).expect("there is a default");
            default.micro_kernel(&space.program, device)
        }
    };
    found.expect("it is valid").0
}
