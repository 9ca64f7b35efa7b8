//! Sums that the lanes of a vector share: which nests have sketches of them, the loops that they are lowered to, what is refused, and
//! that draws equal the reference.

use dietcode_core::frontend;
use dietcode_core::ir::ForKind;
use dietcode_core::lower::lower;
use dietcode_core::machine::Target;
use dietcode_core::schedule::{Instruction, Schedule, Staging, Tail, Trace};
use dietcode_core::sketch::Space;
use dietcode_core::sketch::rules::CustomRules;
use dietcode_syntax::{KernelDef, Role};
use rand::SeedableRng;
use rand::rngs::StdRng;

use super::cases;
use super::compiled::{Draw, carry_out};
use super::odd::nests;
use crate::common::avx512::target;
use crate::common::instance::Instance;
use crate::common::settings;
use crate::common::shipped::kernel;

fn space(def: &KernelDef, target: Target, extents: [i64; 2]) -> Space {
    let instances = extents.map(|extent| vec![extent; def.shape_vars.len()]);
    Space::generate(def, target, &instances, &CustomRules::default()).unwrap_or_else(|e| panic!("{}: {e}", def.name))
}

/// An odd nest, or a shipped kernel.
pub(super) fn nest(name: &str) -> KernelDef {
    nests().into_iter().find(|def| def.name == name).unwrap_or_else(|| kernel(name))
}

/// The sketches of a space whose vectors lie along a sum.
fn shared(space: &Space) -> Vec<&Trace> {
    let of_sum = |name: &str| {
        let axis = name.rsplit_once('_').map(|(axis, _)| axis);
        space.program.blocks[0].iters_of(Role::Reduce).any(|iter| Some(&*iter.name) == axis)
    };
    let is_lane =
        |instruction: &Instruction| matches!(instruction, Instruction::Kind(ForKind::Vectorized, name) if of_sum(name));
    space.sketches.iter().filter(|sketch| sketch.instructions.iter().any(is_lane)).collect()
}

/// All that moves along the sum lies contiguous there, its terms can be padded, and an input is used a few times only.
#[test]
fn lanes_share_sums_that_are_contiguous_and_seldom_read_again() {
    let has = |name: &str, extents| !shared(&space(&nest(name), Target::Cpu(target()), extents)).is_empty();
    for name in ["total", "total_of_rows", "row_max", "largest_negative", "nothing_shared", "if_alpha", "row_sum"] {
        assert!(has(name, [40, 100]) || has(name, [1, 100]), "{name}");
    }
    // Neither the rows nor the columns of the other operand; the maximum of products has no padding.
    for name in ["product_of_column", "channels_last", "furthest", "least_difference", "gemm_tn"] {
        assert!(!has(name, [1, 100]), "{name}");
    }
    assert!(has("dense", [16, 100]) && !has("dense", [17, 100]));
}

/// Sums over everything and of rows, maxima, half types, conditions, a sum that is shorter than a vector, and products.
const NESTS: [&str; 12] = [
    "total",
    "total_of_rows",
    "row_max",
    "largest_negative",
    "nothing_shared",
    "if_alpha",
    "distances",
    "same_twice",
    "one_term",
    "dense",
    "matmul_nt_f16",
    "added",
];

#[test]
fn draws_whose_lanes_share_the_sum_equal_the_reference() {
    let mut rng = StdRng::seed_from_u64(settings::seed_of_the_day());
    for target in ["cpu", "avx2"] {
        let mut draws = Vec::new();
        for (name, extent) in NESTS.into_iter().flat_map(|name| [3, 67].map(|extent| (name, extent))) {
            let def = nest(name);
            let space = space(&def, cases::target(target), [1, extent]);
            for (n, sketch) in shared(&space).into_iter().enumerate() {
                let trace = space.complete(sketch, &mut rng).unwrap_or_else(|e| panic!("{e}\n{sketch}"));
                space.apply(&trace).unwrap_or_else(|e| panic!("{e}\n{trace}"));
                let shape = vec![extent; def.shape_vars.len()];
                let def = KernelDef { name: format!("{name}_{extent}_{n}"), ..def.clone() };
                draws.push(Draw::new(Instance { seed: n as u64, def, shape, gap: n % 2, coarse: true }, trace));
            }
        }
        assert!(draws.len() >= 2 * NESTS.len(), "{} draws", draws.len());
        carry_out(&cases::target(target), draws);
    }
}

const ROW_SUM: &str = "#[dynamic_kernel] fn row_sum(x: &[[f32; N]; M], y: &mut [f32; M]) {
    for i in 0..M { let mut acc = 1.5; for k in 0..N { acc += x[i][k]; } y[i] = acc; } }";

fn unscheduled() -> Schedule {
    let def = dietcode_syntax::scan(ROW_SUM).expect("the source parses")[0].parse().expect("the nest is one");
    let program = frontend::program(&def);
    Schedule::new(&program, &program.blocks[0])
}

/// Two copies of four lanes, for two rows.
fn row_sum() -> Schedule {
    let mut schedule = unscheduled();
    let mut scheduled = || {
        schedule.split("i", 2, Tail::Pad, ["i_0", "i_1"])?;
        schedule.split("k", 8, Tail::Pad, ["k_0", "k_tile"])?;
        schedule.split("k_tile", 4, Tail::Pad, ["k_1", "k_2"])?;
        schedule.reorder(&["i_0", "k_0", "k_1", "i_1", "k_2"])?;
        schedule.unroll("k_1")?;
        schedule.unroll("i_1")?;
        schedule.vectorize("k_2")
    };
    scheduled().expect("the schedule is legal");
    schedule
}

/// The sum has no condition; copies meet before halves, and the start is added last.
#[test]
fn copies_and_lanes_meet_in_one_order() {
    let mut schedule = row_sum();
    let mut staged = || {
        let tile = schedule.cache_write()?;
        schedule.compute_at(&tile, Some("i_0"))?;
        let view = schedule.cache_read("x", Staging::Edge)?.remove(0);
        schedule.compute_at(&view, Some("k_0"))?;
        schedule.decompose_reduction()
    };
    staged().expect("the schedule is legal");
    let text = lower(&schedule).expect("the schedule is complete").body.to_string();
    let lines: Vec<&str> = text.lines().map(str::trim).collect();
    let expected = [
        "allocate register y_tile[2][2][4]",
        "y_tile[k_1][i_1][k_2] = y_tile[k_1][i_1][k_2] + x_view[k_1][i_1][k_2]",
        "vectorized k_2 in 0..4",
        "y_tile[0][i_1][k_2] = y_tile[0][i_1][k_2] + y_tile[1][i_1][k_2]",
        "vectorized k_2 in 0..4",
        "y_out[0] = + of the lanes of y_tile[0][0][k_2] y_tile[0][1][k_2]",
        "y[i_0 * 2 + i_1] = 1.5 + y_out[i_1]",
    ];
    let mut rest = lines.iter();
    for line in expected {
        assert!(rest.any(|found| *found == line), "`{line}` is not there, or not in its place:\n{text}");
    }
}

/// Of a loop that is not unrolled, each iteration's vector meets by itself.
#[test]
fn lanes_of_a_tile_in_memory_meet_in_a_loop() {
    let mut schedule = unscheduled();
    let mut scheduled = || {
        schedule.split("i", 3, Tail::Pad, ["i_0", "i_1"])?;
        schedule.split("k", 4, Tail::Pad, ["k_0", "k_1"])?;
        schedule.reorder(&["i_0", "k_0", "i_1", "k_1"])?;
        schedule.vectorize("k_1")?;
        let tile = schedule.cache_write()?;
        schedule.compute_at(&tile, Some("i_0"))?;
        schedule.decompose_reduction()
    };
    scheduled().expect("the schedule is legal");
    let text = lower(&schedule).expect("the schedule is complete").body.to_string();
    let lines: Vec<&str> = text.lines().map(str::trim).collect();
    let met = ["for i_1 in 0..3", "vectorized k_1 in 0..4", "y_out[i_1] = + of the lanes of y_tile[i_1][k_1]"];
    assert!(lines.windows(3).any(|found| found == met), "{text}");
}

#[test]
fn lanes_that_share_a_sum_have_accumulators_of_their_own() {
    let mut schedule = row_sum();
    let tile = schedule.cache_write().expect("there is none");
    schedule.compute_at(&tile, Some("k_2")).expect("its extents are constants");
    let error = lower(&schedule).expect_err("a lane has no accumulator").to_string();
    assert!(error.contains("lanes share the sum over `k_2`, but the tile stands inside of it"), "{error}");
    let mut schedule = row_sum();
    schedule.reorder(&["k_2", "i_1"]).expect("no extent depends on another loop");
    let error = lower(&schedule).expect_err("vectors are innermost").to_string();
    assert!(error.contains("lanes share the sum over `k_2`, which is not the innermost loop any more"), "{error}");
}
