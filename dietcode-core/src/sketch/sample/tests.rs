//! Draws from sketches that are written by hand after the structure of each target, and from those of the GPU's rules.

use std::collections::BTreeMap;
use std::sync::Arc;

use rand::SeedableRng;
use rand::rngs::StdRng;

use super::bounded::Bounded;
use crate::frontend;
use crate::ir::{ForKind, Name};
use crate::machine::Target;
use crate::machine::cuda::DeviceLimits;
use crate::machine::{CpuTarget, avx512};
use crate::schedule::{Axis, Factor, Instruction, Level, MatrixUnit, Pipeline, Place, Size, Staging, Tail, Trace};
use crate::sketch::footprint::Assignment;
use crate::sketch::limits::bounds;
use crate::sketch::rules::{
    AddRFactor, Applied, AutoBind, CrossThreadReduction, MultiLevelTilingCuda, MultiLevelTilingTensorCore,
    PartialSketch, Rule, Structure,
};
use crate::sketch::{Bounds, Mutators, Space};

const DENSE: &str = "#[dynamic_kernel] fn dense(x: &[[f32; K]; M], w: &[[f32; K]; N], y: &mut [[f32; N]; M]) {
    for i in 0..M { for j in 0..N { let mut acc = 0.0; for k in 0..K { acc += x[i][k] * w[j][k]; } y[i][j] = acc; } } }";

const HALF: &str = "#[dynamic_kernel] fn dense(x: &[[f16; K]; M], w: &[[f16; K]; N], y: &mut [[f32; N]; M]) {
    for i in 0..M { for j in 0..N { let mut acc = 0.0; for k in 0..K { acc += f32::from(x[i][k]) * f32::from(w[j][k]); } y[i][j] = acc; } } }";

const CONV: &str = "#[dynamic_kernel] fn conv(x: &[[[f32; W + 2]; H + 2]; C], w: &[[[[f32; 3]; 3]; C]; F], y: &mut [[[f32; W]; H]; F]) {
    for f in 0..F { for h in 0..H { for v in 0..W { let mut acc = 0.0;
    for c in 0..C { for r in 0..3 { for s in 0..3 { acc += x[c][h + r][v + s] * w[f][c][r][s]; } } } y[f][h][v] = acc; } } } }";

const ROW_SUM: &str = "#[dynamic_kernel] fn row_sum(x: &[[f32; N]; M], y: &mut [f32; M]) {
    for i in 0..M { let mut acc = 0.0; for k in 0..N { acc += x[i][k]; } y[i] = acc; } }";

fn avx2() -> CpuTarget {
    CpuTarget { vector_bytes: 32, vector_registers: 16, l2_bytes: 256 << 10, ..avx512() }
}

fn device(name: &str) -> Target {
    Target::Cuda(*DeviceLimits::of(name.parse().expect("a capability")).expect("it is known"))
}

/// A space without sketches; the axes in the order of the nest.
fn space(text: &str, target: Target, extents: &[&[i64]]) -> Space {
    let def = crate::testing::kernel(text);
    let program = frontend::program(&def);
    let iters = program.blocks[0].iters.iter().map(|iter| iter.name.clone());
    let extents = iters.zip(extents.iter().map(|extents| extents.to_vec())).collect();
    Space { def, program, bounds: Bounds { target, extents }, sketches: Vec::new(), templates: Vec::new(), rule: None }
}

fn axis(name: &str, levels: &[Level]) -> Axis {
    let factor = |level: &Level| Factor { var: format!("{name}_{}", level.name()).into(), level: *level };
    Axis { name: name.into(), factors: levels.iter().map(factor).collect() }
}

/// The dense layer on a CPU, with packed `w`.
fn tiled(pipeline: Option<Pipeline>) -> Trace {
    use Level::{Block, Lanes, Register, Steps, Task, Unroll};
    let split = |parent: &str, factor: &[&str], tail, outer: &str, inner: &str| Instruction::Split {
        parent: parent.into(),
        factor: Size::product(factor),
        tail,
        into: [outer.into(), inner.into()],
    };
    let kind = |kind, name: &str| Instruction::Kind(kind, name.into());
    let read = |buffer: &str, staging, into: &str| Instruction::CacheRead {
        buffer: buffer.into(),
        staging,
        into: vec![into.into()],
    };
    let at = |stage: &str, at| Instruction::ComputeAt { stage: stage.into(), at };
    let order = ["i_0", "j_0", "i_1", "j_1", "k_0", "i_2", "j_2", "k_1", "k_2", "i_3", "j_3", "j_4"];
    let instructions = vec![
        Instruction::SampleTiles(vec![
            axis("i", &[Task, Block, Register]),
            axis("j", &[Task, Block, Register, Lanes]),
            axis("k", &[Steps, Unroll]),
        ]),
        Instruction::SampleCategorical { into: "w_pad".into(), candidates: vec![0, 16], weights: vec![3.0, 1.0] },
        Instruction::SampleComputeLocation { into: "w_place".into(), candidates: vec!["k_0".into(), "i_2".into()] },
        split("i", &["i_register"], Tail::Pad, "i_o", "i_3"),
        split("i_o", &["i_block"], Tail::Clip, "i_b", "i_2"),
        split("i_b", &["i_task"], Tail::Clip, "i_0", "i_1"),
        split("j", &["j_register", "j_lanes"], Tail::Pad, "j_o", "j_t"),
        split("j_t", &["j_lanes"], Tail::Pad, "j_3", "j_4"),
        split("j_o", &["j_block"], Tail::Clip, "j_b", "j_2"),
        split("j_b", &["j_task"], Tail::Clip, "j_0", "j_1"),
        split("k", &["k_unroll"], Tail::Pad, "k_o", "k_2"),
        split("k_o", &["k_steps"], Tail::Clip, "k_0", "k_1"),
        Instruction::Reorder(order.map(Into::into).to_vec()),
        kind(ForKind::Unrolled, "k_2"),
        kind(ForKind::Unrolled, "i_3"),
        kind(ForKind::Unrolled, "j_3"),
        kind(ForKind::Vectorized, "j_4"),
        Instruction::Fuse { loops: ["i_0".into(), "j_0".into()], into: "block".into() },
        kind(ForKind::Parallel, "block"),
        Instruction::CacheWrite("y_tile".into()),
        read("w", Staging::Always, "w_panel"),
        Instruction::StorageAlign { stage: "w_panel".into(), pad: Size::product(["w_pad"]) },
        read("x", Staging::Edge, "x_view"),
        at("y_tile", Place::Loop("j_2".into())),
        at("w_panel", Place::Sampled("w_place".into())),
        at("x_view", Place::Loop("j_2".into())),
        Instruction::DecomposeReduction,
    ];
    Trace::new(instructions.into_iter().chain(pipeline.map(Instruction::Pipeline)).collect::<Vec<_>>())
}

fn on_cpu(target: CpuTarget, extents: &[&[i64]]) -> Space {
    Space { sketches: vec![tiled(None), tiled(Some(Pipeline::Panels))], ..space(DENSE, Target::Cpu(target), extents) }
}

fn on_gpu(text: &str, name: &str, extents: &[&[i64]]) -> Space {
    by_rules(text, name, extents, None)
}

fn by_rules(text: &str, name: &str, extents: &[&[i64]], of_f32: Option<MatrixUnit>) -> Space {
    let space = space(text, device(name), extents);
    let rules: [&dyn Rule; 5] = [
        &AddRFactor,
        &CrossThreadReduction,
        &MultiLevelTilingTensorCore { of_f32 },
        &MultiLevelTilingCuda(&Structure::all("cuda")[0]),
        &AutoBind,
    ];
    let first = vec![PartialSketch::new(space.program.clone(), Arc::new(space.bounds.clone()))];
    let partial_sketches = rules.into_iter().fold(first, |partial_sketches, rule| {
        let made = |partial: PartialSketch| match rule.apply(partial.clone(), 0).expect("it is no user's") {
            Applied::Made(made) => made,
            Applied::Unmet(_) => vec![partial],
        };
        partial_sketches.into_iter().flat_map(made).collect()
    });
    Space { sketches: partial_sketches.into_iter().map(|partial| Trace::new(partial.instructions)).collect(), ..space }
}

/// Bert's dense layer.
const BERT: [&[i64]; 3] = [&[80, 384, 688, 992, 1296, 1600, 1904, 2048], &[2304], &[768]];

fn spaces() -> Vec<Space> {
    let small: [&[i64]; 3] = [&[1, 43], &[13], &[5]];
    let cpus =
        [avx512(), avx2()].into_iter().flat_map(|target| [on_cpu(target.clone(), &BERT), on_cpu(target, &small)]);
    let conv: [&[i64]; 6] = [&[64], &[14, 27], &[14], &[31], &[3], &[3]];
    let gpus = ["sm_75", "sm_80", "sm_90"].into_iter().flat_map(|name| {
        let dense = [
            on_gpu(DENSE, name, &BERT),
            on_gpu(DENSE, name, &small),
            on_gpu(HALF, name, &BERT),
            by_rules(DENSE, name, &BERT, Some(MatrixUnit::Tf32)),
            by_rules(DENSE, name, &BERT, Some(MatrixUnit::Tf32x3)),
        ];
        dense.into_iter().chain([on_gpu(CONV, name, &conv), on_gpu(ROW_SUM, name, &[&[1, 128], &[1024]])])
    });
    cpus.chain(gpus).collect()
}

#[test]
fn every_draw_lowers_within_the_limits() {
    for space in spaces() {
        let sampler = space.sampler().expect("a sketch has a draw");
        assert_eq!(sampler.sketches.len(), space.sketches.len());
        let mut rng = StdRng::seed_from_u64(1);
        for _ in 0..12 {
            let trace = sampler.sample(&mut rng);
            space.apply(&trace).unwrap_or_else(|e| panic!("{e}\n{trace}"));
        }
    }
}

#[test]
fn mutants_and_children_lower_within_the_limits() {
    for space in spaces() {
        let sampler = space.sampler().expect("a sketch has a draw");
        let mut rng = StdRng::seed_from_u64(2);
        let (mut mutants, mut children) = (0, 0);
        for _ in 0..8 {
            let trace = sampler.sample(&mut rng);
            let mut mate = trace.clone();
            for _ in 0..6 {
                let Some((_, mutant)) = sampler.mutate(&mate, &Mutators::default(), &mut rng) else { continue };
                assert!(mutant.decisions != mate.decisions && mutant.instructions == mate.instructions);
                mate = mutant;
                mutants += 1;
            }
            let child = sampler.crossover(&trace, &mate, &mut rng);
            children += usize::from(child.is_some());
            for made in child.iter().chain([&mate]) {
                space.apply(made).unwrap_or_else(|e| panic!("{e}\n{made}"));
            }
            assert!(child.is_none_or(|child| child.decisions != trace.decisions && child.decisions != mate.decisions));
        }
        assert!(mutants > 24 && children > 2, "{mutants} mutants, {children} children of\n{}", space.sketches[0]);
    }
}

#[test]
fn measures_are_what_lowering_comes_to() {
    for space in [
        on_cpu(avx512(), &BERT),
        on_cpu(avx2(), &BERT),
        on_gpu(CONV, "sm_80", &[&[64], &[14, 27], &[14], &[31], &[3], &[3]]),
    ] {
        let mut rng = StdRng::seed_from_u64(3);
        for sketch in &space.sketches {
            let bounded = Bounded::of(&space, sketch).expect("the sketch has a draw");
            for _ in 0..20 {
                let trace = bounded.sample(&mut rng);
                let applied = space.apply(&trace).expect("it lowers");
                let values = bounded.values(&trace).expect("all is decided");
                let of_memory = ["second-level cache", "shared memory"];
                let bound = bounds(&space.bounds.target, space.program.computes_in())
                    .into_iter()
                    .find(|bound| of_memory.contains(&bound.limit.name));
                let assignment = Assignment::new(&bounded.footprint, &values);
                let measured = (bound.expect("it is limited").of)(&assignment);
                let found = applied.nests[0].scratch_bytes(&[]);
                // Where nothing hangs over the edge, there is no view; and what lies between a panel's runs depends on which loops
                // of one iteration stay: the larger counts.
                let set = |name: &str, value: i64| trace.decisions.get(name) == Some(&value);
                let padded = trace.decisions.iter().any(|(name, pad)| name.ends_with("_pad") && *pad > 0);
                let loose = padded || (set("i_register", 1) && set("k_unroll", 1));
                let most = if loose { measured } else { 0 };
                assert!(measured == found || (found..=most).contains(&measured), "{measured}, not {found}: {trace}");
            }
        }
    }
}

#[test]
fn what_is_decided_stays() {
    let space = on_cpu(avx512(), &BERT);
    let mut rng = StdRng::seed_from_u64(4);
    let decisions: BTreeMap<_, _> = [("i_register".into(), 7), ("k_steps".into(), 100), ("w_place".into(), 1)].into();
    for sketch in &space.sketches {
        let full = space.complete(&sketch.with(decisions.clone()), &mut rng).expect("there is room for it");
        assert!(full.open().next().is_none());
        assert!(decisions.iter().all(|(name, value)| full.decisions[name] == *value), "{full}");
        assert_eq!(space.complete(&full, &mut rng).expect("nothing is open"), full);
    }
}

#[test]
fn what_a_sketch_decides_is_kept() {
    let mut space = on_cpu(avx512(), &BERT);
    let own = [("i_register".into(), 5), ("j_lanes".into(), 8)];
    space.sketches = vec![space.sketches[0].with(own.clone().into())];
    let sampler = space.sampler().expect("a sketch has a draw");
    let mut rng = StdRng::seed_from_u64(10);
    let mut trace = sampler.sample(&mut rng);
    for _ in 0..100 {
        assert!(own.iter().all(|(name, value)| trace.decisions[name] == *value), "{trace}");
        (_, trace) = sampler.mutate(&trace, &Mutators::default(), &mut rng).expect("others are free");
    }
    space.sketches = vec![space.sketches[0].with([("i_register".into(), 50)].into())];
    let error = space.sampler().err().expect("it is beyond the registers").to_string();
    assert!(error.contains("`i_register` = 50"), "{error}");
}

#[test]
fn numbers_that_are_no_sizes_are_told() {
    let refused_by = |weight: f64, candidates: Vec<i64>| {
        let weights = vec![weight; candidates.len()];
        let into = Name::from("rows");
        let parent = Name::from("i");
        let instructions = vec![
            Instruction::SampleCategorical { into: into.clone(), candidates, weights },
            Instruction::Split {
                parent,
                factor: Size::product([into]),
                tail: Tail::Pad,
                into: ["i_0".into(), "i_1".into()],
            },
        ];
        let space = Space { sketches: vec![Trace::new(instructions)], ..on_cpu(avx512(), &BERT) };
        space.sampler().err().expect("no loop has so many iterations").to_string()
    };
    let refused = |candidates: Vec<i64>| refused_by(1.0, candidates);
    assert!(refused(vec![4, -4]).contains("`rows` from -4, expected 0 to 2^31"));
    assert!(refused(vec![1 << 40, 4]).contains("`rows` from 1099511627776, expected 0 to 2^31"));
    assert!(refused(vec![4, 0]).contains("split of `i` by 0: the factor must be from 1 to 2^31"));
    assert!(refused(Vec::new()).contains("`rows` from no candidates"));
    assert!(refused_by(1e308, vec![1, 2]).contains("of which the sum is a number"));
}

#[test]
fn impossible_decisions_are_told() {
    let space = on_cpu(avx512(), &BERT);
    let mut rng = StdRng::seed_from_u64(5);
    let mut refused = |name: &str, value: i64| {
        let partial = space.sketches[0].with([(name.into(), value)].into());
        space.complete(&partial, &mut rng).expect_err("it is impossible").to_string()
    };
    assert_eq!(
        refused("i_register", 31),
        "`i_register` = 31 has no schedule here: vector registers: it takes 31 registers, the target allows 30"
    );
    assert_eq!(refused("j_lanes", 3), "`j_lanes` is 3, expected one of 2, 4, 8, 16");
    assert_eq!(refused("w_place", 2), "`w_place` is 2, expected the position of one of 2 places");
    assert_eq!(refused("z", 2), "the trace decides `z`, which it does not sample");
    assert!(refused("j_block", 4000).contains("tile: "));
}

#[test]
fn an_empty_space_names_the_limit() {
    let tiny = CpuTarget { l2_bytes: 32, ..avx512() };
    let error = on_cpu(tiny, &BERT).sample(&mut StdRng::seed_from_u64(6)).expect_err("no panel fits").to_string();
    assert!(error.contains("second-level cache: it takes 128 bytes, the target allows 32"), "{error}");
    assert!(error.contains("sample_target_constrained_tiles() = _, _"), "{error}");
}

fn product(trace: &Trace, names: &[&str]) -> i64 {
    names.iter().map(|name| trace.decisions[*name]).product()
}

#[test]
fn useful_sizes_are_likely() {
    let space = on_cpu(avx512(), &BERT);
    let sampler = space.sampler().expect("a sketch has a draw");
    let mut rng = StdRng::seed_from_u64(7);
    let draws: Vec<Trace> = (0..1000).map(|_| sampler.sample(&mut rng)).collect();
    let share = |holds: fn(&Trace) -> bool| draws.iter().filter(|trace| holds(trace)).count() as f64 / 1000.0;
    let full_vectors = share(|trace| trace.decisions["j_lanes"] == 16);
    let half_of_registers = share(|trace| product(trace, &["i_register", "j_register", "j_lanes"]) >= 12 * 16);
    let perfect = share(|trace| 768 % product(trace, &["k_steps", "k_unroll"]) == 0);
    let largest = share(|trace| product(trace, &["k_steps", "k_unroll"]) > 384);
    assert!(full_vectors > 0.6 && half_of_registers > 0.3, "{full_vectors} {half_of_registers}");
    assert!(perfect > 0.7 && perfect < 0.95 && largest < 0.4, "{perfect} {largest}");
}

#[test]
fn a_seed_decides_all() {
    let space = on_gpu(DENSE, "sm_80", &BERT);
    let draws = |seed| {
        let mut rng = StdRng::seed_from_u64(seed);
        (0..20).map(|_| space.sample(&mut rng).expect("a sketch has a draw")).collect::<Vec<Trace>>()
    };
    assert_eq!(draws(8), draws(8));
    assert_ne!(draws(8), draws(9));
}
