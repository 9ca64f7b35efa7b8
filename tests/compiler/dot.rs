//! Instructions of CPUs that take several steps of a sum in each lane: the loops and the text for a CPU that is described here, what is
//! refused, and, where this CPU has one, that parameters and draws equal the reference. Where it has none, its space has no such sketch.

use std::collections::BTreeMap;

use dietcode_core::cpu_features::{self, CPU_FEATURES};
use dietcode_core::frontend;
use dietcode_core::ir::Dot;
use dietcode_core::lower::lower;
use dietcode_core::machine::{CpuTarget, Target, Toolchain};
use dietcode_core::schedule::{Instruction, Schedule, Staging, Tail, Trace, Unit};
use dietcode_core::sketch::rules::CustomRules;
use dietcode_core::sketch::{Space, Tiled};
use dietcode_syntax::{DType, KernelDef, Role};
use rand::rngs::StdRng;
use rand::seq::IndexedRandom;
use rand::{RngExt, SeedableRng};

use crate::common::avx512;
use crate::common::instance::Instance;
use crate::common::on_cpu::{Case, Library};
use crate::common::{settings, shipped, units};
use crate::gemm::SHAPES;

/// Beside the shipped products: sums of f32, with an epilogue, over windows, and with factors that the instruction does not take.
const NESTS: &str = "
    #[dynamic_kernel] fn dense_bias(x: &[[bf16; K]; M], w: &[[bf16; K]; N], b: &[f32; N], y: &mut [[f32; N]; M]) {
        for i in 0..M { for j in 0..N {
            let mut acc = 0.5;
            for k in 0..K { acc += f32::from(x[i][k]) * f32::from(w[j][k]); }
            y[i][j] = (acc + b[j]).max(0.0);
        } }
    }
    #[dynamic_kernel] fn conv(x: &[[[bf16; W + 2]; B]; C], f: &[[[bf16; 3]; C]; O], y: &mut [[[f32; W]; B]; O]) {
        for o in 0..O { for b in 0..B { for w in 0..W {
            for c in 0..C { for s in 0..3 { y[o][b][w] += f32::from(x[c][b][w + s]) * f32::from(f[o][c][s]); } }
        } } }
    }
    #[dynamic_kernel(prepared(w))] fn laid_out(x: &[[bf16; K]; M], w: &[[bf16; K]; N], y: &mut [[f32; N]; M]) {
        for i in 0..M { for j in 0..N { for k in 0..K { y[i][j] += f32::from(x[i][k]) * f32::from(w[j][k]); } } }
    }
    #[dynamic_kernel] fn one_step(x: &[[bf16; 1]; M], w: &[[bf16; 1]; N], y: &mut [[f32; N]; M]) {
        for i in 0..M { for j in 0..N { for k in 0..1 { y[i][j] += f32::from(x[i][k]) * f32::from(w[j][k]); } } }
    }
    #[dynamic_kernel] fn three_steps(x: &[[bf16; 3]; M], w: &[[bf16; N]; 3], y: &mut [[f32; N]; M]) {
        for i in 0..M { for j in 0..N { for k in 0..3 { y[i][j] += f32::from(x[i][k]) * f32::from(w[k][j]); } } }
    }
    #[dynamic_kernel] fn mixed(x: &[[bf16; K]; M], w: &[[f32; K]; N], y: &mut [[f32; N]; M]) {
        for i in 0..M { for j in 0..N { for k in 0..K { y[i][j] += f32::from(x[i][k]) * w[j][k]; } } }
    }
    #[dynamic_kernel] fn squares(x: &[[bf16; K]; M], w: &[[bf16; K]; N], y: &mut [[f32; N]; M]) {
        for i in 0..M { for j in 0..N { for k in 0..K {
            y[i][j] += (f32::from(x[i][k]) - f32::from(w[j][k])) * (f32::from(x[i][k]) - f32::from(w[j][k]));
        } } }
    }
    #[dynamic_kernel] fn dense_u8(x: &[[u8; K]; M], w: &[[i8; K]; N], y: &mut [[i32; N]; M]) {
        for i in 0..M { for j in 0..N { for k in 0..K { y[i][j] += i32::from(x[i][k]) * i32::from(w[j][k]); } } }
    }
    #[dynamic_kernel]
    fn scaled(x: &[[i8; K]; M], w: &[[u8; N]; K], b: &[i32; N], zero: i32, s: &[f32; N], y: &mut [[f32; N]; M]) {
        for i in 0..M { for j in 0..N {
            let mut acc = b[j] - zero;
            for k in 0..K { acc += i32::from(x[i][k]) * i32::from(w[k][j]); }
            y[i][j] = acc as f32 * s[j];
        } }
    }
    #[dynamic_kernel] fn batch_u8(x: &[[[u8; M]; K]; B], w: &[[[i8; K]; N]; B], y: &mut [[[i32; N]; M]; B]) {
        for b in 0..B { for i in 0..M { for j in 0..N {
            let mut acc = 1;
            for k in 0..K { acc += i32::from(x[b][k][i]) * i32::from(w[b][j][k]); }
            y[b][i][j] = acc;
        } } }
    }
    #[dynamic_kernel] fn conv_u8(x: &[[[u8; W + 2]; B]; C], f: &[[[i8; 3]; C]; O], y: &mut [[[i32; W]; B]; O]) {
        for o in 0..O { for b in 0..B { for w in 0..W {
            for c in 0..C { for s in 0..3 { y[o][b][w] += i32::from(x[c][b][w + s]) * i32::from(f[o][c][s]); } }
        } } }
    }
    #[dynamic_kernel] fn three_steps_u8(x: &[[u8; 3]; M], w: &[[i8; N]; 3], y: &mut [[i32; N]; M]) {
        for i in 0..M { for j in 0..N { for k in 0..3 { y[i][j] += i32::from(x[i][k]) * i32::from(w[k][j]); } } }
    }
    #[dynamic_kernel] fn both_i8(x: &[[i8; K]; M], w: &[[i8; K]; N], y: &mut [[i32; N]; M]) {
        for i in 0..M { for j in 0..N { for k in 0..K { y[i][j] += i32::from(x[i][k]) * i32::from(w[j][k]); } } }
    }
    #[dynamic_kernel]
    fn scaled_i8(x: &[[i8; K]; M], w: &[[i8; N]; K], b: &[i32; N], s: &[f32; N], y: &mut [[f32; N]; M]) {
        for i in 0..M { for j in 0..N {
            let mut acc = b[j];
            for k in 0..K { acc += i32::from(x[i][k]) * i32::from(w[k][j]); }
            y[i][j] = acc as f32 * s[j];
        } }
    }
    #[dynamic_kernel] fn batch_i8(x: &[[[i8; M]; K]; B], w: &[[[i8; K]; N]; B], y: &mut [[[i32; N]; M]; B]) {
        for b in 0..B { for i in 0..M { for j in 0..N {
            let mut acc = 1;
            for k in 0..K { acc += i32::from(x[b][k][i]) * i32::from(w[b][j][k]); }
            y[b][i][j] = acc;
        } } }
    }
    #[dynamic_kernel] fn conv_i8(x: &[[[i8; W + 2]; B]; C], f: &[[[i8; 3]; C]; O], y: &mut [[[i32; W]; B]; O]) {
        for o in 0..O { for b in 0..B { for w in 0..W {
            for c in 0..C { for s in 0..3 { y[o][b][w] += i32::from(x[c][b][w + s]) * i32::from(f[o][c][s]); } }
        } } }
    }
    #[dynamic_kernel] fn both_u8(x: &[[u8; K]; M], w: &[[u8; N]; K], y: &mut [[i32; N]; M]) {
        for i in 0..M { for j in 0..N { for k in 0..K { y[i][j] += i32::from(x[i][k]) * i32::from(w[k][j]); } } }
    }
    #[dynamic_kernel] fn wide(x: &[[i32; K]; M], w: &[[i8; K]; N], y: &mut [[i32; N]; M]) {
        for i in 0..M { for j in 0..N { for k in 0..K { y[i][j] += x[i][k] * i32::from(w[j][k]); } } }
    }
    #[dynamic_kernel] fn as_floats(x: &[[u8; K]; M], w: &[[i8; K]; N], y: &mut [[f32; N]; M]) {
        for i in 0..M { for j in 0..N { for k in 0..K { y[i][j] += f32::from(x[i][k]) * f32::from(w[j][k]); } } }
    }
    #[dynamic_kernel] fn batch(x: &[[bf16; B]; K], w: &[[bf16; B]; K], y: &mut [f32; B]) {
        for b in 0..B { for k in 0..K { y[b] += f32::from(x[k][b]) * f32::from(w[k][b]); } }
    }";

fn nest(name: &str) -> KernelDef {
    let found = dietcode_syntax::scan(NESTS).expect("the source parses");
    let mut own = found.iter().map(|found| found.parse().unwrap_or_else(|errors| panic!("{errors}")));
    own.find(|def: &KernelDef| def.name == name).unwrap_or_else(|| shipped::kernel(name))
}

/// Those that an instruction takes: of two numbers of 16 bits, or of four of 8.
const TAKEN: [&str; 18] = [
    "matmul_nt_bf16",
    "matmul_nn_bf16",
    "matmul_tn_bf16",
    "batch_matmul_tt_bf16",
    "dense_bias",
    "conv",
    "one_step",
    "three_steps",
    "dense_u8",
    "scaled",
    "batch_u8",
    "conv_u8",
    "three_steps_u8",
    "both_i8",
    "both_u8",
    "scaled_i8",
    "batch_i8",
    "conv_i8",
];

/// The instruction that a CPU has for the elements of a nest.
fn instruction(def: &KernelDef, target: &CpuTarget) -> Option<Dot> {
    let is_integer = def.reduction.as_ref().is_some_and(|reduction| reduction.dtype.is_integer());
    let for_elements: &[Dot] = if is_integer { &[Dot::Vpdpbusd, Dot::VpdpbusdYmm] } else { &[Dot::Vdpbf16ps] };
    for_elements.iter().copied().find(|dot| target.has(dot.row().feature))
}

/// A CPU with features, whatever this one is.
fn having(features: &[&str], march: &str) -> CpuTarget {
    let bit = |name| CPU_FEATURES.iter().position(|feature| feature.name == name).expect("it is in the table");
    let features = features.iter().fold(0, |mask, name| mask | 1 << bit(*name));
    CpuTarget { march: march.into(), features, ..avx512::target() }
}

/// One with the instructions on vectors of 512 bits.
fn target() -> CpuTarget {
    having(&["avx512bf16", "avx512vnni"], "sapphirerapids")
}

/// One with vectors of 256 bits and an instruction on those.
fn narrow() -> CpuTarget {
    CpuTarget { vector_bytes: 32, vector_registers: 16, ..having(&["avxvnni"], "alderlake") }
}

fn sizes<const N: usize>(sizes: [(&str, i64); N]) -> BTreeMap<String, i64> {
    sizes.into_iter().map(|(name, size)| (name.to_owned(), size)).collect()
}

/// Rows of 2, vectors of 16, blocks of 8 steps.
fn small() -> Tiled {
    Tiled {
        vector: Some("j".into()),
        register_tile: sizes([("i", 2), ("j", 16)]),
        block_tile: sizes([("k", 8)]),
        pack: vec!["w".into()],
        tensorize: Some("k".into()),
        ..Tiled::default()
    }
}

fn is_tensorized(trace: &Trace) -> bool {
    trace.instructions.iter().any(|instruction| matches!(instruction, Instruction::Tensorize(Unit::Dot(_))))
}

fn space(def: &KernelDef, target: &CpuTarget) -> Space {
    let instances = [3, 70].map(|extent| vec![extent; def.shape_vars.len()]);
    Space::generate(def, Target::Cpu(target.clone()), &instances, &CustomRules::default())
        .unwrap_or_else(|e| panic!("{}: {e}", def.name))
}

/// Steps are pairs in the panel, one instruction takes a pair, and what hangs over the end of the sum is zero in both operands.
#[test]
fn a_pair_of_steps_is_one_instruction() {
    let def = nest("matmul_nt_bf16");
    let program = frontend::program(&def);
    let schedule = small().schedule(&program, &target()).expect("it is legal");
    let text = lower(&schedule).expect("it is complete").body.to_string();
    for expected in [
        "allocate panel w_panel[4][16][2]\n",
        "w_panel[0][0][0] = transpose w[",
        "if (k_0 * 4 + (min(4, (K + 1) / 2 - k_0 * 4) - 1)) * 2 + 1 < K\n",
        "of 16 lanes, min(4, (K + 1) / 2 - k_0 * 4) columns of 2\n",
        "          w_panel[k_1][j_v][k_p] = 0.0\n",
        "            x_view_edge[k_1][i_t][k_p] = 0.0\n",
        "      vectorized j_v in 0..16\n        y_tile[i_t][j_v] += vdpbf16ps w_panel[k_1][j_v][0] · x_view[k_1][i_t][0]\n",
    ] {
        assert!(text.contains(expected), "{expected}\n{text}");
    }
}

/// Steps are fours in the panel, which holds bytes, and lanes are those of either factor.
#[test]
fn four_steps_are_one_instruction() {
    let loops = |name: &str, tiled: Tiled| {
        let schedule = tiled.schedule(&frontend::program(&nest(name)), &target()).expect("it is legal");
        lower(&schedule).expect("it is complete").body.to_string()
    };
    let text = loops("dense_u8", small());
    for expected in [
        "allocate panel w_panel[2][16][4]\n",
        "of 16 lanes, min(2, (K + 3) / 4 - k_0 * 2) columns of 4\n",
        "      vectorized j_v in 0..16\n        y_tile[i_t][j_v] += vpdpbusd w_panel[k_1][j_v][0] · x_view[k_1][i_t][0]\n",
    ] {
        assert!(text.contains(expected), "{expected}\n{text}");
    }
    let text = loops("scaled", small());
    assert!(text.contains("y_tile[i_t][j_v] += vpdpbusd w_panel[k_1][j_v][0] · x_view[k_1][i_t][0]\n"), "{text}");
    let source = units::tiled(&nest("dense_u8"), &small(), &target()).unwrap_or_else(|e| panic!("{e}")).source;
    for expected in [
        " = dietcode_vpdpbusd(y_tile_r_0, &w_panel[",
        "dietcode_transpose16_i8x4(&w_panel[",
        "dietcode_i8 *restrict w_panel",
        "const dietcode_u8 *x_view",
    ] {
        assert!(source.contains(expected), "{expected}\n{source}");
    }
}

/// Of operands that are both signed, or both not, the one that all lanes share is shifted, and what that adds is subtracted: it is computed once
/// for all rows of a panel.
#[test]
fn operands_alike_are_shifted() {
    let lowered = |name: &str, tiled: &Tiled, target: &CpuTarget| {
        let schedule = tiled.schedule(&frontend::program(&nest(name)), target).expect("it is legal");
        lower(&schedule).expect("it is complete").body.to_string()
    };
    let rows = Tiled { block_tile: sizes([("i", 8), ("k", 8)]), ..small() };
    let text = lowered("both_i8", &rows, &target());
    let lines: Vec<&str> = text.lines().map(str::trim).collect();
    for expected in [
        "allocate panel w_panel_zeros[16]\nallocate register w_panel_sums[16]\n",
        "for k_1 in 0..min(2, (K + 3) / 4 - k_0 * 2)\nvectorized j_v in 0..16\n\
         w_panel_sums[j_v] += vpdpbusd w_panel[k_1][j_v][0] · shifted 0\n",
        "vectorized j_v in 0..16\nw_panel_zeros[j_v] = w_panel_sums[j_v]\nfor i_1 in 0..",
        "y_tile[i_t][j_v] += vpdpbusd w_panel[k_1][j_v][0] · shifted x_view[k_1][i_t][0]\n",
        "y_tile[i_t][j_v] = y_tile[i_t][j_v] - w_panel_zeros[j_v]\n",
    ] {
        assert!(lines.join("\n").contains(expected), "{expected}\n{text}");
    }
    // What is packed is shifted there.
    let packed = Tiled { pack: vec!["w".into(), "x".into()], ..small() };
    let text = lowered("both_u8", &packed, &target());
    for expected in [" + 128.0\n", "y_tile[i_t][j_v] += vpdpbusd w_panel[k_1][j_v][0] · x_panel[k_1][i_t][0]\n"] {
        assert!(text.contains(expected), "{expected}\n{text}");
    }
    let source = |name: &str, tiled: &Tiled, target: &CpuTarget| {
        units::tiled(&nest(name), tiled, target).unwrap_or_else(|e| panic!("{e}")).source
    };
    let text = source("both_u8", &packed, &target());
    for expected in ["dietcode_i8 *restrict x_panel", "= dietcode_vpdpbusd(y_tile_r_0, &w_panel["] {
        assert!(text.contains(expected), "{expected}\n{text}");
    }
    let eight = Tiled { register_tile: sizes([("i", 2), ("j", 8)]), ..small() };
    let text = source("both_i8", &eight, &narrow());
    for expected in [
        "dietcode_transpose8_i8x4(&w_panel[",
        "= dietcode_vpdpbusd_ymm_shifted_zeros(w_panel_sums_r, &w_panel[",
        "= dietcode_vpdpbusd_ymm_shifted(y_tile_r_0, &w_panel[",
    ] {
        assert!(text.contains(expected), "{expected}\n{text}");
    }
}

#[test]
fn the_text_calls_the_instruction() {
    let def = nest("matmul_nt_bf16");
    let source = units::tiled(&def, &small(), &target()).unwrap_or_else(|e| panic!("{e}")).source;
    for expected in [
        " = dietcode_vdpbf16ps(y_tile_r_0, &w_panel[",
        "dietcode_transpose16_bf16x2(&w_panel[",
        "dietcode_bf16 *restrict w_panel",
    ] {
        assert!(source.contains(expected), "{expected}\n{source}");
    }
    assert!(!source.contains("dietcode_load_bf16x"), "nothing is converted\n{source}");
}

/// What `-march` does not allow is not drawn, and refused where it is asked for; so it is of nests that have no such products.
#[test]
fn it_is_for_cpus_that_have_it_and_nests_that_it_serves() {
    let with = |name: &str, target: &CpuTarget| {
        space(&nest(name), target).sketches.iter().filter(|s| is_tensorized(s)).count()
    };
    let (own, other) = (target(), avx512::target());
    for name in TAKEN {
        assert!(with(name, &own) > 0 && with(name, &other) == 0, "{name}");
    }
    for name in ["mixed", "squares", "batch", "laid_out", "matmul_nt", "matmul_nt_f16", "wide", "as_floats"] {
        assert_eq!(with(name, &own), 0, "{name}");
    }
    let here = CpuTarget::detect("native").expect("a C compiler");
    for (name, target) in TAKEN.into_iter().flat_map(|name| [(name, here.clone()), (name, narrow())]) {
        assert_eq!(with(name, &target) > 0, instruction(&nest(name), &target).is_some(), "{name}");
    }
    let def = nest("matmul_nt_bf16");
    let why = units::tiled(&def, &small(), &other).map(drop).expect_err("it has no such instruction").to_string();
    assert!(why.contains("takes vdpbf16ps: it needs avx512bf16, which -march=x86-64-v4 does not allow"), "{why}");
}

/// Each with the tensor or the loop.
#[test]
fn what_it_does_not_take_is_refused() {
    let refused = |name: &str, tiled: Tiled, expected: &str| {
        let def = nest(name);
        let why = units::tiled(&def, &tiled, &target()).map(drop).expect_err(name).to_string();
        assert!(why.contains(expected), "{name}: {why}, expected {expected}");
    };
    refused("mixed", small(), "tensorize: `w` is f32, and vdpbf16ps multiplies bf16");
    refused("wide", small(), "tensorize: `x` is i32, and vpdpbusd multiplies i8 and u8, or u8 and i8, or i8, or u8");
    refused("as_floats", small(), "tensorize: `w` is i8, and vdpbf16ps multiplies bf16");
    refused("squares", small(), "`squares` sums products of which a factor is no element of a tensor");
    let along_batch = Tiled {
        vector: Some("b".into()),
        register_tile: sizes([("b", 16)]),
        pack: vec!["x".into(), "w".into()],
        ..small()
    };
    refused("batch", along_batch, "takes one factor that moves with the lanes along `b`, and one that does not");
    refused("laid_out", small(), "`w` is laid out before calls, and not as vdpbf16ps takes it");
    let name = "matmul_nt_bf16";
    let eight = Tiled { register_tile: sizes([("i", 2), ("j", 8)]), ..small() };
    refused(name, eight, "the innermost loops must be 16 lanes along a spatial axis and 2 steps of a sum, both serial");
    refused(
        name,
        Tiled { pack: Vec::new(), ..small() },
        "`w` moves with the lanes, of which vdpbf16ps takes 2 steps each: pack it",
    );
    refused(name, Tiled { vector: None, ..small() }, "tensorize: no loop is that of vectors");
    refused(name, Tiled { tensorize: Some("i".into()), ..small() }, "tensorize: `i` is not summed over");
    let odd = Tiled { register_tile: sizes([("i", 2), ("j", 16), ("k", 3)]), block_tile: sizes([("k", 9)]), ..small() };
    refused(name, odd, "register_tile: `k` is 3, not a multiple of the 2 steps of an instruction");
    refused(
        "matmul_tt_bf16",
        small(),
        "neighbours of `x` along `k_p`, which vdpbf16ps takes at once, do not lie next to each other: pack it",
    );
    // Where it is a primitive of its own.
    let program = frontend::program(&nest(name));
    let mut schedule = Schedule::new(&program, &program.blocks[0]);
    schedule.split("j", 16, Tail::Pad, ["j_0", "j_v"]).unwrap();
    schedule.split("k", 2, Tail::Pad, ["k_0", "k_p"]).unwrap();
    schedule.reorder(&["j_0", "k_0", "k_p", "j_v"]).unwrap();
    let why = schedule.tensorize(Dot::Vdpbf16ps).expect_err("the lanes are innermost").to_string();
    assert!(why.contains("the innermost loops must be 16 lanes"), "{why}");
    schedule.reorder(&["j_v", "k_p"]).unwrap();
    schedule.tensorize(Dot::Vdpbf16ps).unwrap_or_else(|e| panic!("{e}"));
    schedule.cache_read("w", Staging::Always).unwrap();
    schedule.compute_at("w_panel", Some("k_0")).unwrap();
    schedule.decompose_reduction().unwrap();
    let why = lower(&schedule).expect_err("`x` is not staged").to_string();
    assert!(why.contains("a predicate stays in the sum"), "{why}");
}

/// What a target draws of the parameters, by the instruction.
fn tiled(rng: &mut StdRng, def: &KernelDef, target: &CpuTarget) -> Tiled {
    let program = frontend::program(def);
    let vector = Tiled::default_for(&program, target).vector;
    let step = Some(if def.name.starts_with("conv") { "c" } else { "k" }.to_owned());
    let steps = instruction(def, target).expect("it has one").row().steps;
    for _ in 0..200 {
        let size = |rng: &mut StdRng, sizes: &[i64]| *sizes.choose(rng).expect("there are sizes");
        let mut tiled = Tiled { vector: vector.clone(), tensorize: step.clone(), ..Tiled::default() };
        for l in &def.loops {
            let register = match l.role {
                _ if vector.as_ref() == Some(&l.name) => size(rng, &[16, 32, 48]),
                _ if step.as_ref() == Some(&l.name) => steps * size(rng, &[1, 2, 3]),
                Role::Spatial => size(rng, &[1, 2, 3, 6]),
                Role::Reduce => size(rng, &[1, 2]),
            };
            tiled.register_tile.insert(l.name.clone(), register);
            tiled.block_tile.insert(l.name.clone(), register * size(rng, &[1, 2, 7]));
        }
        let inputs = program.blocks[0].update_reads().into_iter().map(|(buffer, _)| buffer.name.to_string());
        let staged = if rng.random_bool(0.5) { &mut tiled.pack } else { &mut tiled.load };
        *staged = inputs.filter(|_| rng.random_bool(0.8)).collect();
        tiled.double_buffer = !tiled.pack.is_empty() && rng.random_bool(0.3);
        let spatial = def.loops.iter().filter(|l| l.role == Role::Spatial).map(|l| l.name.clone());
        tiled.partition = spatial.filter(|_| rng.random_bool(0.3)).collect();
        if tiled.micro_kernel(&program, target).is_ok() {
            return tiled;
        }
    }
    panic!("no parameters of `{}` are valid", def.name)
}

/// The values of a nest's shape variables at a shape of the table.
fn shape(def: &KernelDef, [b, m, n, k]: [i64; 4]) -> Vec<i64> {
    let of = |name: &str| match name {
        "B" => b,
        "M" | "O" => m,
        "N" | "W" => n,
        _ => k,
    };
    def.shape_vars.iter().map(|var| of(&var.name)).collect()
}

/// Whatever a panel is padded by, also one of few steps.
#[test]
fn each_draw_of_a_sketch_lowers() {
    let mut rng = StdRng::seed_from_u64(1);
    let both = TAKEN.into_iter().flat_map(|name| [(name, target()), (name, narrow())]);
    for (name, target) in both.filter(|(name, target)| instruction(&nest(name), target).is_some()) {
        let def = nest(name);
        let space = space(&def, &target);
        let sketches: Vec<&Trace> = space.sketches.iter().filter(|sketch| is_tensorized(sketch)).collect();
        assert!(!sketches.is_empty(), "{name}");
        for sketch in sketches {
            for _ in 0..10 {
                let trace = space.complete(sketch, &mut rng).unwrap_or_else(|e| panic!("{name}: {e}\n{sketch}"));
                space.apply(&trace).unwrap_or_else(|e| panic!("{name}: {e}\n{trace}"));
            }
        }
    }
}

/// Parameters at random, and draws of sketches, at ragged shapes and sums of odd lengths.
#[test]
fn sums_by_the_instruction_equal_the_reference() {
    toolchains().iter().for_each(equal_the_reference);
}

/// For this CPU, and for one with the instruction on vectors of 256 bits where this one has that, too.
fn toolchains() -> Vec<Toolchain> {
    let found = ["native", "alderlake"].into_iter().map(|march| Toolchain::find(march).expect("a C compiler"));
    found.filter(|toolchain| CpuTarget::of(toolchain).features & !cpu_features::detected() == 0).collect()
}

fn equal_the_reference(toolchain: &Toolchain) {
    let target = CpuTarget::of(toolchain);
    let mut rng = StdRng::seed_from_u64(settings::seed_of_the_day());
    let mut cases = Vec::new();
    for name in TAKEN {
        let def = nest(name);
        let space = space(&def, &target);
        let sketches: Vec<&Trace> = space.sketches.iter().filter(|sketch| is_tensorized(sketch)).collect();
        assert_eq!(sketches.is_empty(), instruction(&def, &target).is_none(), "{name}");
        if sketches.is_empty() {
            continue;
        }
        let mut traces = Vec::new();
        let program = frontend::program(&def);
        for tiled in [tiled(&mut rng, &def, &target), tiled(&mut rng, &def, &target)] {
            traces.push(tiled.micro_kernel(&program, &target).unwrap_or_else(|e| panic!("{e}")).0.trace);
        }
        for sketch in sketches.sample(&mut rng, 2) {
            traces.push(space.complete(sketch, &mut rng).unwrap_or_else(|e| panic!("{e}\n{sketch}")));
        }
        for (n, trace) in traces.into_iter().enumerate() {
            assert!(is_tensorized(&trace), "{trace}");
            let def = KernelDef { name: format!("{name}_{n}"), ..def.clone() };
            let unit = units::traced(&def, &trace, &target).unwrap_or_else(|e| panic!("{e}\n{trace}"));
            let instance = Instance { seed: n as u64, shape: shape(&def, SHAPES[0]), def, gap: 0, coarse: false };
            let reference = units::oracle(&instance.def);
            cases.push(Case { instance, unit, reference, trace: trace.to_string(), sizes: None });
        }
    }
    let library = Library::compile(toolchain, &cases);
    for mut case in cases {
        for (n, row) in SHAPES.into_iter().enumerate() {
            case.instance.shape = shape(&case.instance.def, row);
            case.instance.gap = if n % 3 == 1 { n } else { 0 };
            let tensors = case.instance.tensors();
            library.check(&case, &tensors, &case.instance.expected(&tensors));
        }
    }
}

/// The largest products there are, in sums that leave 32 bits, also on the way to results that do not.
#[test]
fn sums_of_extremes_are_exact() {
    let packed = || Tiled { pack: vec!["w".into(), "x".into()], ..small() };
    for toolchain in toolchains() {
        let target = CpuTarget::of(&toolchain);
        let mut cases = Vec::new();
        for (n, (name, tiled)) in
            [("both_i8", small()), ("both_i8", packed()), ("both_u8", small()), ("both_u8", packed())]
                .into_iter()
                .enumerate()
        {
            let def = KernelDef { name: format!("{name}_extremes_{n}"), ..nest(name) };
            if instruction(&def, &target).is_none() {
                continue;
            }
            let unit = units::tiled(&def, &tiled, &target).unwrap_or_else(|e| panic!("{e}"));
            let reference = units::oracle(&def);
            // 128 · 128 · 140003 is more than 2³¹.
            let shape = shape(&def, [1, 3, 17, 140_003]);
            let instance = Instance { seed: n as u64, def, shape, gap: 0, coarse: false };
            cases.push(Case { instance, unit, reference, trace: String::new(), sizes: None });
        }
        let library = Library::compile(&toolchain, &cases);
        for case in &cases {
            let is_signed = case.instance.def.params[0].dtype == DType::I8;
            let [least, most] = if is_signed { [-128.0, 127.0] } else { [0.0, 255.0] };
            for values in [[least, least], [most, most], [least, most]] {
                let mut tensors = case.instance.tensors();
                for (tensor, value) in tensors.iter_mut().zip(values) {
                    tensor.fill(value);
                }
                library.check(case, &tensors, &case.instance.expected(&tensors));
            }
        }
    }
}

/// As `docs/nests.md` says; the same nest without the instruction keeps them.
#[test]
fn subnormal_operands_count_as_zero() {
    let toolchain = Toolchain::find("native").expect("a C compiler");
    let target = CpuTarget::of(&toolchain);
    let (by_dot, by_lanes) = (small(), Tiled { tensorize: None, ..small() });
    let case = |(n, tiled): (usize, &Tiled)| {
        let def = KernelDef { name: format!("subnormal_{n}"), ..nest("matmul_nt_bf16") };
        let unit = units::tiled(&def, tiled, &target)?;
        let shape = shape(&def, [1, 2, 16, 4]);
        let reference = units::oracle(&def);
        let instance = Instance { seed: 0, def, shape, gap: 0, coarse: false };
        Ok::<Case, dietcode_core::Error>(Case { instance, unit, reference, trace: String::new(), sizes: None })
    };
    let both = [&by_lanes, &by_dot].into_iter().enumerate().map(case).collect::<Result<Vec<Case>, _>>();
    assert_eq!(both.is_ok(), target.has("avx512bf16"));
    let Ok(both) = both else { return };
    let library = Library::compile(&toolchain, &both);
    // 2⁻¹³⁰ · 2¹⁰⁰, four times.
    let tensors = vec![vec![2f64.powi(-130); 8], vec![2f64.powi(100); 64], vec![0.0; 32]];
    let [by_lanes, by_dot] = [0, 1].map(|n| library.output(&both[n], &tensors, 1));
    let bits = 2f64.powi(-28).to_bits();
    assert!(by_lanes.iter().filter(|found| **found == bits).count() == 32, "{by_lanes:x?}");
    assert!(by_dot.iter().filter(|found| **found == 0).count() == 32, "{by_dot:x?}");
}
