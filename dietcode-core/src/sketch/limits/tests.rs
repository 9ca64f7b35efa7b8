//! What is found of a lowered kernel is within what was bound before, of every row, on every target.

use std::collections::BTreeMap;

use dietcode_syntax::KernelDef;
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use rayon::prelude::*;

use super::{LIMITS, memory};
use crate::machine::cuda::{DEVICES, DeviceLimits, Resources, blocks_per_sm};
use crate::machine::{CpuTarget, Target, avx512};
use crate::schedule::Trace;
use crate::sketch::footprint::Assignment;
use crate::sketch::rules::{CustomRules, Tf32};
use crate::sketch::{Sampler, Space};

/// The kernels that the project ships, and those at the edges of what a kernel may be.
const SOURCES: [&str; 6] = [
    include_str!("../../../../src/ops.rs"),
    include_str!("../../../../src/ops/matmul.rs"),
    include_str!("../../../../src/ops/batched.rs"),
    include_str!("../../../../src/ops/convolution.rs"),
    include_str!("../../../../src/ops/gemm.rs"),
    include_str!("../../../../tests/compiler/space/odd.txt"),
];

/// Draws of each kernel on each target.
const DRAWS: usize = 6;

/// How often each row has to measure something else than the least of its sketch, before and after lowering.
const EXERCISED: usize = 20;

fn nests() -> Vec<KernelDef> {
    let functions = SOURCES.into_iter().flat_map(|source| dietcode_syntax::scan(source).expect("the source parses"));
    functions.map(|function| function.parse().expect("it is a nest")).collect()
}

fn targets() -> Vec<Target> {
    let narrow = CpuTarget { vector_bytes: 32, vector_registers: 16, l2_bytes: 256 << 10, ..avx512() };
    let devices = DEVICES.iter().map(|device: &DeviceLimits| Target::Cuda(*device));
    [avx512(), narrow].map(Target::Cpu).into_iter().chain(devices).collect()
}

/// What a trace takes by each row that its target limits, with the bound, and what is allowed. A kernel beside the main one has no
/// decisions.
fn measured(space: &Space, sampler: &Sampler<'_>, trace: &Trace) -> Vec<Measured> {
    let lowered = space.apply(trace).unwrap_or_else(|e| panic!("{} is refused: {e}\n{trace}", space.def.name));
    let bounds = &space.bounds;
    let kernel = lowered.kernels(&bounds.target, &bounds.extents).nth(lowered.main()).expect("it is one of them");
    let rows = |bound: &dyn Fn(usize) -> i64| {
        let rows = LIMITS.iter().enumerate().filter_map(|(row, limit)| {
            let allowed = (limit.allowed)(&bounds.target, space.program.computes_in())?;
            Some(Measured { row, bound: bound(row), found: (limit.found)(&kernel), allowed })
        });
        rows.collect()
    };
    let measure = sampler.with(trace, |bounded| {
        let values = bounded.values(trace).expect("all is decided");
        let assignment = Assignment::new(&bounded.footprint, &values);
        Ok(rows(&|row| (LIMITS[row].bound)(&assignment)))
    });
    measure.expect("it was drawn")
}

struct Measured {
    row: usize,
    bound: i64,
    found: i64,
    allowed: i64,
}

/// How often rows measured something else than of the least trace, by name: bounds, and what was found.
type Exercised = BTreeMap<&'static str, [usize; 2]>;

/// Draws of a kernel, at instances up to some length.
fn drawn(def: &KernelDef, target: &Target, seed: u64) -> Exercised {
    let mut rng = StdRng::seed_from_u64(seed);
    let most = match def.shape_vars.len() {
        // As long as a sum is that threads of a CPU share.
        1 => 1 << rng.random_range(3..18),
        2 | 3 => 1 << rng.random_range(3..12),
        _ => 6,
    };
    let instances = [1, most].map(|extent| vec![extent; def.shape_vars.len()]);
    let mut custom = CustomRules::default();
    custom.allow_tf32(if seed.is_multiple_of(2) { Tf32::Once } else { Tf32::Thrice });
    let space = Space::generate(def, target.clone(), &instances, &custom).expect("there are sketches");
    let sampler = space.sampler().expect("a sketch has a draw");
    let mut exercised = Exercised::new();
    for _ in 0..DRAWS {
        let trace = sampler.sample(&mut rng);
        let open = Trace::new(trace.instructions.clone());
        let least = sampler.with(&open, |bounded| Ok(bounded.least())).expect("it has a draw");
        let least = measured(&space, &sampler, &least);
        for (own, least) in measured(&space, &sampler, &trace).into_iter().zip(least) {
            let (name, Measured { bound, found, allowed, .. }) = (LIMITS[own.row].name, own);
            let within = found <= bound && bound <= allowed;
            assert!(within, "{}: {name}: found {found}, bound {bound}, allowed {allowed}\n{trace}", def.name);
            let counts = exercised.entry(name).or_default();
            counts[0] += usize::from(bound != least.bound);
            counts[1] += usize::from(found != least.found);
        }
    }
    exercised
}

/// All of them on all targets, but that operands are prepared for CPUs.
fn cases(nests: &[KernelDef]) -> Vec<(&KernelDef, Target)> {
    let all = nests.iter().flat_map(|def| targets().into_iter().map(move |target| (def, target)));
    all.filter(|(def, target)| def.prepared.is_empty() || target.cpu().is_some()).collect()
}

#[test]
fn what_is_found_is_within_the_bound_of_every_limit() {
    let nests = nests();
    let cases = cases(&nests);
    assert!(cases.len() * DRAWS > 3000, "{} draws", cases.len() * DRAWS);
    let counted: Vec<Exercised> =
        cases.par_iter().enumerate().map(|(seed, (def, target))| drawn(def, target, seed as u64)).collect();
    for limit in &LIMITS {
        let of = |side: usize| counted.iter().filter_map(|counts| Some(counts.get(limit.name)?[side])).sum::<usize>();
        let [bound, found] = [0, 1].map(of);
        assert!(bound >= EXERCISED && found >= EXERCISED, "`{}` is not exercised: {bound} and {found}", limit.name);
    }
}

/// Since sm_80 the system keeps a kilobyte of each block: three blocks of this size have room beside each other without it, and not with it.
#[test]
fn blocks_that_a_multiprocessor_shall_hold_have_room_for_what_the_system_keeps() {
    for (capability, of_three) in [("sm_75", 21_760), ("sm_80", 55_900), ("sm_90", 77_700)] {
        let device = DeviceLimits::of(capability.parse().expect("a capability")).expect("it is known");
        let (kept, room) = (i64::from(device.shared_reserved_per_block), i64::from(device.shared_per_sm));
        assert!(3 * of_three <= room);
        let resources = Resources { threads: 128, registers: 32, shared_bytes: of_three as u32 };
        let fits = blocks_per_sm(device, &resources).blocks >= 3;
        assert_eq!(
            (3 * memory::allocated(Some(device), of_three) <= room, fits),
            (kept == 0, kept == 0),
            "{capability}"
        );
    }
}

/// The threads of a block are as many as it takes that the grid is none too large, or the space is empty.
#[test]
fn a_grid_that_is_too_large_has_larger_blocks() {
    let nests = nests();
    let dense = nests.iter().find(|def| def.name == "dense").expect("it is shipped");
    let target = Target::Cuda(*DeviceLimits::of("sm_90".parse().expect("a capability")).expect("it is known"));
    let space = |rows: i64| {
        let instance = dense.shape_vars.iter().map(|var| if var.name == "K" { 64 } else { rows }).collect();
        Space::generate(dense, target.clone(), &[instance], &CustomRules::default()).expect("there are sketches")
    };
    let large = space(1 << 20);
    let (sampler, mut rng) = (large.sampler().expect("there is a draw"), StdRng::seed_from_u64(3));
    for _ in 0..40 {
        let trace = sampler.sample(&mut rng);
        large.apply(&trace).unwrap_or_else(|e| panic!("{e}\n{trace}"));
    }
    let error = space(1 << 40).sampler().map(drop).expect_err("no block is that large").to_string();
    assert!(error.contains("grid: it takes") && error.contains("the target allows 2147483647"), "{error}");
}

/// Nothing but the target bounds what no instance does.
#[test]
fn axes_without_instances_are_unbounded() {
    let nests = nests();
    for (def, target) in cases(&nests) {
        let space = Space::generate(def, target, &[], &CustomRules::default()).expect("there are sketches");
        let trace = space.sample(&mut StdRng::seed_from_u64(1)).unwrap_or_else(|e| panic!("{}: {e}", def.name));
        space.apply(&trace).unwrap_or_else(|e| panic!("{} is refused: {e}\n{trace}", def.name));
    }
}
