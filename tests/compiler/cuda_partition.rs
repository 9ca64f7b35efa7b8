//! Tiles of a GPU's grid that lie inside and have a body of their own: how the three forms of an edge look, what kernels with both bodies
//! compute at shapes whose tiles lie inside, at an edge along some axes or all, and what is refused.

use dietcode_core::codegen::cuda::CudaUnit;
use dietcode_core::frontend;
use dietcode_core::ir::Stmt;
use dietcode_core::lower::lower_observed;
use dietcode_core::machine::Target;
use dietcode_core::schedule::{Instruction, Schedule, Tail};
use dietcode_core::sketch::rules::CustomRules;
use dietcode_core::sketch::{Blocked, Space};
use dietcode_syntax::KernelDef;

use crate::common::rows::{DENSE_WITH_EPILOGUE, check_unit, device, instances, kernel};
use crate::common::{shipped, units};
use crate::cuda_lowering::expect_text;

/// The dense layer of the literature.
const DENSE: &str = "#[dynamic_kernel] fn dense(x: &[[f32; K]; M], w: &[[f32; K]; N], y: &mut [[f32; N]; M]) {
    for i in 0..M { for j in 0..N {
        let mut acc = 0.0;
        for k in 0..K { acc += x[i][k] * w[j][k]; }
        y[i][j] = acc;
    } }
}";

fn blocked(parameters: &str, partition: bool) -> Blocked {
    let blocked: Blocked = serde_json::from_str(parameters).unwrap_or_else(|e| panic!("{parameters}: {e}"));
    Blocked { partition, ..blocked }
}

/// What a pass makes of parameters.
fn after(pass: &str, def: &KernelDef, blocked: &Blocked) -> String {
    let schedule = blocked.schedule(&frontend::program(def)).unwrap_or_else(|e| panic!("{e}"));
    let mut found = None;
    let mut observe = |name: &'static str, body: &Stmt| {
        if name == pass {
            found = Some(body.to_string());
        }
    };
    lower_observed(&schedule, &mut observe).unwrap_or_else(|e| panic!("{e}"));
    found.expect("the pipeline has the pass")
}

/// The lines of the two bodies of a print, without what they are indented by.
fn bodies(print: &str) -> [Vec<&str>; 2] {
    let lines: Vec<&str> = print.lines().collect();
    let indent = |line: &str| line.len() - line.trim_start().len();
    let at = |is: &dyn Fn(&str) -> bool| lines.iter().position(|line| is(line)).unwrap_or_else(|| panic!("{print}"));
    let condition = at(&|line| line.trim_start().starts_with("if ") && line.contains("i_b"));
    let by = indent(lines[condition]);
    let otherwise = at(&|line| line.trim_start() == "else" && indent(line) == by);
    let inner = |from: usize, to: usize| lines[from..to].iter().map(|line| &line[by + 2..]).collect::<Vec<&str>>();
    let end = (otherwise + 1..lines.len()).find(|at| indent(lines[*at]) <= by).unwrap_or(lines.len());
    [inner(condition + 1, otherwise), inner(otherwise + 1, end)]
}

/// Whether a line asks whether something lies inside.
fn is_predicate(line: &&str) -> bool {
    line.trim_start().starts_with("if ") || line.contains("= if ")
}

/// Predicates in the sum, a body without any where a tile lies inside, and copies that are padded, of one nest.
#[test]
fn the_three_forms_of_an_edge() {
    let def = kernel(DENSE);
    let parameters = r#"{"thread": {"i": 16, "j": 16}, "inner": {"i": 4, "j": 4}, "reduce": {"k": 8},
        "stage": {"x": {"reduce_outside": true}, "w": {"reduce_outside": true}}}"#;
    let [whole, partitioned] = [false, true].map(|partition| blocked(parameters, partition));
    let predicated = after("nest", &def, &whole);
    let [padded, partitioned] = [&whole, &partitioned].map(|blocked| after("local_padding", &def, blocked));
    let [inside, edge] = bodies(&partitioned);
    assert!(inside.iter().any(|line| line.contains("y_tile[i_i2][j_i2] + x_shared[")), "{partitioned}");
    assert!(!inside.iter().any(is_predicate), "{partitioned}");
    // What the other tiles do is what all do without it: predicates in copies and stores, none in the sum.
    let all: Vec<&str> = padded.lines().collect();
    let begin = all.iter().position(|line| line.trim_start() == edge[0].trim_start()).expect(&padded);
    let indent = all[begin].len() - all[begin].trim_start().len();
    assert_eq!(edge, all[begin..].iter().map(|line| &line[indent..]).collect::<Vec<&str>>());
    assert_eq!(edge.iter().filter(|line| is_predicate(line)).count(), 3, "{partitioned}");
    assert!(predicated.lines().filter(is_predicate).count() > 3, "{predicated}");
    let forms = [("predicated", predicated), ("partitioned", partitioned), ("padded", padded)];
    let prints: Vec<String> = forms.into_iter().map(|(form, print)| format!("{form}\n\n{print}\n")).collect();
    expect_text("dense_edges.txt", &prints.concat());
}

/// Copies that are sure to lie inside are vectors of all lanes, in a pipeline too.
#[test]
fn copies_inside_have_all_lanes() {
    let def = kernel(DENSE);
    let parameters = r#"{"thread": {"i": 8, "j": 8}, "inner": {"i": 4, "j": 4}, "reduce": {"k": 8}, "stages": 3, "async": true, "store": 4,
        "stage": {"x": {"vector": 4}, "w": {"vector": 4}}}"#;
    let print = after("registers", &def, &blocked(parameters, true));
    let [inside, edge] = bodies(&print);
    let copies = |lines: &[&str]| -> Vec<String> {
        lines.iter().filter(|line| line.contains("copy ")).map(|line| (*line).to_owned()).collect()
    };
    let (inside, edge) = (copies(&inside), copies(&edge));
    assert!(inside.len() > 4 && inside.len() == edge.len(), "{print}");
    assert!(inside.iter().all(|copy| copy.contains(", 4 of 4 lanes")), "{print}");
    assert!(edge.iter().all(|copy| !copy.contains(", 4 of 4 lanes")), "{print}");
}

/// Runs kernels with both bodies at shapes.
fn check(source: &str, parameters: &[&str], shapes: &[&[i64]]) {
    let def = kernel(source);
    for parameters in parameters {
        let unit = unit(&def, &blocked(parameters, true));
        let both = unit.source.matches("} else {").count();
        let one = self::unit(&def, &blocked(parameters, false)).source.matches("} else {").count();
        assert!(both > one, "{parameters}: {}", unit.source);
        check_unit(&unit, instances(&def, shapes));
    }
}

fn unit(def: &KernelDef, blocked: &Blocked) -> CudaUnit {
    units::blocked(def, blocked, device("sm_80")).unwrap_or_else(|e| panic!("{blocked:?}: {e}"))
}

/// Rows, steps and columns: all tiles inside; an edge along each and all of them; sums of nothing, also inside; outputs of nothing.
const OF_PRODUCTS: [&[i64]; 10] = [
    &[64, 32, 64],
    &[33, 32, 64],
    &[64, 31, 64],
    &[64, 32, 65],
    &[65, 33, 63],
    &[31, 7, 130],
    &[5, 0, 6],
    &[64, 0, 64],
    &[0, 8, 9],
    &[96, 64, 97],
];

#[test]
fn products_of_threads() {
    check(
        DENSE_WITH_EPILOGUE,
        &[
            r#"{"thread": {"i": 8, "j": 8}, "inner": {"i": 4, "j": 4}, "reduce": {"k": 8}, "stages": 3, "async": true, "fragments": 2,
                "stage": {"x": {"vector": 4, "pad": 4, "reduce_outside": true}, "w": {"vector": 4, "reduce_outside": true}}, "store": 4}"#,
            r#"{"thread": {"i": 8, "j": 8}, "inner": {"i": 2, "j": 2}, "vthread": {"i": 2, "j": 2}, "reduce": {"k": 8}, "stages": 2,
                "fragments": 2, "stage": {"x": {"vector": 4}, "w": {}}, "persistent": true, "stage_store": true, "store": 2,
                "raster": {"i": 2, "j": 2}, "min_blocks": 2}"#,
            r#"{"thread": {"i": 4, "j": 8}, "inner": {"i": 2, "j": 4}, "reduce": {"k": 16}, "load": {"x": 4, "w": 1}}"#,
            r#"{"thread": {"i": 4, "j": 8}, "inner": {"i": 4, "j": 4}}"#,
            r#"{"thread": {"i": 8, "j": 8}, "inner": {"i": 4, "j": 4}, "reduce": {"k": 4}, "split": {"k": 3}, "stages": 2,
                "stage": {"x": {}, "w": {}}}"#,
            r#"{"thread": {"i": 8, "j": 8}, "inner": {"i": 4, "j": 4}, "reduce": {"k": 8}, "split": {"k": 2}, "ranges": true,
                "stages": 3, "async": true, "stage": {"x": {"vector": 4}, "w": {"vector": 2}}}"#,
            r#"{"thread": {"i": 8, "j": 8}, "inner": {"i": 2, "j": 2}, "reduce": {"k": 8}, "stream": 7, "waves": 2,
                "stages": 3, "async": true, "stage": {"x": {"vector": 4}, "w": {"vector": 2}}, "store": 2}"#,
        ],
        &OF_PRODUCTS,
    );
}

#[test]
fn products_of_matrix_units() {
    check(
        "#[dynamic_kernel] fn nt(x: &[[f16; K]; M], w: &[[f16; K]; N], y: &mut [[f16; N]; M]) {
            for i in 0..M { for j in 0..N {
                let mut acc = 0.0;
                for k in 0..K { acc += f32::from(x[i][k]) * f32::from(w[j][k]); }
                y[i][j] = f16::from_f32(acc);
            } }
        }",
        &[
            r#"{"thread": {"i": 1, "j": 2}, "inner": {"i": 2, "j": 2}, "reduce": {"k": 32}, "matrix_unit": "half", "stages": 3,
                "async": true, "fragments": 2, "stage": {"x": {"vector": 8, "swizzle": 8}, "w": {"vector": 8, "swizzle": 8}},
                "store": 8, "stage_store": true}"#,
            r#"{"thread": {"i": 2, "j": 1}, "inner": {"i": 1, "j": 2}, "reduce": {"k": 16}, "matrix_unit": "half", "stages": 2,
                "stage": {"x": {"vector": 8, "pad": 8}, "w": {}}, "store": 2, "persistent": true}"#,
            r#"{"thread": {"i": 1, "j": 1}, "inner": {"i": 2, "j": 2}, "reduce": {"k": 32}, "matrix_unit": "half", "stream": 5,
                "stages": 3, "async": true, "stage": {"x": {"vector": 8, "pad": 8}, "w": {"vector": 8, "pad": 8}}, "store": 2}"#,
        ],
        &OF_PRODUCTS,
    );
}

#[test]
fn batched_products() {
    check(
        "#[dynamic_kernel] fn batched(a: &[[[f32; K]; M]; B], b: &[[[f32; N]; K]; B], y: &mut [[[f32; N]; M]; B]) {
            for n in 0..B { for i in 0..M { for j in 0..N {
                let mut acc = 0.0;
                for k in 0..K { acc += a[n][i][k] * b[n][k][j]; }
                y[n][i][j] = acc;
            } } }
        }",
        &[
            r#"{"thread": {"i": 4, "j": 8}, "inner": {"i": 4, "j": 2}, "reduce": {"k": 8}, "stages": 3, "async": true,
                "stage": {"a": {"vector": 4}, "b": {"vector": 4}}, "store": 2}"#,
            r#"{"thread": {"n": 2, "j": 16}, "inner": {"i": 4}, "reduce": {"k": 4}, "stages": 2,
                "stage": {"a": {}, "b": {"vector": 2}}, "stream": 4, "waves": 2}"#,
        ],
        // In the last three, sums of nothing inside, and rows inside that are no whole vectors.
        &[
            &[2, 32, 16, 32],
            &[3, 33, 16, 32],
            &[2, 32, 9, 32],
            &[1, 16, 8, 15],
            &[3, 31, 7, 17],
            &[2, 3, 0, 5],
            &[2, 32, 0, 32],
            &[2, 32, 16, 33],
            &[2, 32, 16, 34],
        ],
    );
}

/// Windows over rows and columns, and a sum over three loops.
#[test]
fn convolutions() {
    check(
        "#[dynamic_kernel] fn conv(x: &[[[f32; W + S - 1]; H + R - 1]; C], k: &[[[[f32; S]; R]; C]; O], y: &mut [[[f32; W]; H]; O]) {
            for o in 0..O { for h in 0..H { for w in 0..W {
                let mut acc = 0.0;
                for c in 0..C { for r in 0..R { for s in 0..S { acc += x[c][h + r][w + s] * k[o][c][r][s]; } } }
                y[o][h][w] = acc;
            } } }
        }",
        &[
            r#"{"thread": {"o": 4, "w": 8}, "inner": {"o": 2, "w": 2}, "reduce": {"c": 2, "r": 1, "s": 3},
                "stage": {"x": {}, "k": {}}, "stages": 2, "store": 2}"#,
            r#"{"thread": {"o": 4, "w": 8}, "inner": {"h": 2}, "reduce": {"c": 2, "r": 3, "s": 3},
                "stage": {"x": {}, "k": {}}, "stages": 3, "async": true, "persistent": true}"#,
            r#"{"thread": {"o": 4, "w": 8}, "inner": {"h": 2}, "reduce": {"c": 2, "r": 1, "s": 1}, "stream": 5, "waves": 2,
                "stage": {"x": {}, "k": {}}, "stages": 2}"#,
        ],
        // C, H, R, S, W, O
        &[&[4, 4, 3, 3, 16, 8], &[4, 4, 3, 3, 17, 8], &[4, 5, 3, 3, 16, 8], &[3, 4, 3, 3, 16, 9], &[3, 3, 2, 2, 5, 7]],
    );
}

/// Reductions whose copies hold something else than zeros outside, or nothing, since no value serves.
#[test]
fn other_reductions() {
    check(
        "#[dynamic_kernel] fn f(x: &[[f32; K]; M], w: &[[f32; K]; N], y: &mut [[f32; N]; M]) {
            for i in 0..M { for j in 0..N {
                let mut acc = f32::NEG_INFINITY;
                for k in 0..K { let v = x[i][k] + w[j][k]; acc = acc.max(v); }
                y[i][j] = acc;
            } }
        }",
        &[
            r#"{"thread": {"i": 4, "j": 8}, "inner": {"i": 2}, "reduce": {"k": 4}, "stage": {"x": {"vector": 4}, "w": {}}, "stages": 2}"#,
        ],
        &[&[16, 8, 16], &[17, 8, 16], &[16, 7, 16], &[16, 0, 16], &[3, 0, 5]],
    );
}

#[test]
fn what_is_no_loop_over_tiles_is_refused() {
    let def = kernel(DENSE);
    let program = frontend::program(&def);
    let bound = |steps: i64, tail: Tail| {
        let mut schedule = Schedule::new(&program, &program.blocks[0]);
        schedule.split("i", 32, Tail::Pad, ["i_0", "i_1"]).unwrap();
        schedule.split("k", 12, Tail::Pad, ["k_0", "k_1"]).unwrap();
        schedule.split("k_1", steps, tail, ["k_2", "k_3"]).unwrap();
        schedule.split("k_2", 3, Tail::Pad, ["k_4", "k_5"]).unwrap();
        schedule.reorder(&["i_0", "j", "i_1", "k_0", "k_4", "k_5", "k_3"]).unwrap();
        ["i_0", "j"].iter().for_each(|name| schedule.bind_block(name).unwrap());
        schedule
    };
    let threaded = |mut schedule: Schedule| {
        schedule.bind_thread("i_1").unwrap();
        let tile = schedule.cache_write().unwrap();
        schedule.compute_at(&tile, Some("i_1")).unwrap();
        schedule.decompose_reduction().unwrap();
        schedule
    };
    let schedule = threaded(bound(4, Tail::Pad));
    let refused = |name: &str, halvings| schedule.clone().partition(name, halvings).expect_err("refused").to_string();
    let not = "it is neither an unrolled spatial loop of a CPU nor a spatial one over the blocks of a GPU";
    for name in ["i_1", "k_0"] {
        assert!(refused(name, 1).contains(&format!("partition of `{name}`: {not}")), "{}", refused(name, 1));
    }
    for halvings in [-1, 2] {
        let why = refused("i_0", halvings);
        assert!(why.contains(&format!("partition of `i_0` by {halvings} halvings; they are from 0 to 1")), "{why}");
    }
    let lowered = |mut schedule: Schedule| {
        schedule.partition("j", 1).unwrap();
        lower_observed(&schedule, &mut |_, _| {}).map(|nest| nest.body.to_string())
    };
    let text = lowered(schedule.clone()).expect("last iterations decide");
    assert!(text.contains("if i_0 * 32 + 31 < M"), "{text}");
    let why = lowered(threaded(bound(5, Tail::Clip))).expect_err("the last step has fewer").to_string();
    assert!(
        why.contains("moves with a loop in a way that no last iteration says whether all of a tile lies inside"),
        "{why}"
    );
    // A tile of all threads together.
    let mut outside = bound(4, Tail::Pad);
    let tile = outside.cache_write().unwrap();
    outside.bind_thread("i_1").unwrap();
    outside.compute_at(&tile, Some("j")).unwrap();
    let why = lowered(outside).expect_err("it has one body").to_string();
    assert!(why.contains("partition: the tile stands outside of `i_1`, in which its bodies would stand"), "{why}");
    // Unrolled when it was partitioned, and a thread's later.
    let mut late = bound(4, Tail::Pad);
    late.unroll("k_3").unwrap();
    late.split("i_1", 4, Tail::Pad, ["i_2", "i_3"]).unwrap();
    late.unroll("i_3").unwrap();
    late.partition("i_3", 1).unwrap();
    late.bind_thread("i_2").unwrap();
    let why = lowered(late).expect_err("a loop of a thread").to_string();
    assert!(
        why.contains(
            "partition: `i_3` is no loop over the blocks of the grid, or was replaced later; name one that is"
        ),
        "{why}"
    );
}

/// Whether tiles inside have a body of their own is drawn of every sketch that sums, and of no other.
#[test]
fn it_is_a_decision_of_sums() {
    for (name, is_drawn) in [
        ("dense", true),
        ("batch_matmul", true),
        ("conv2d", true),
        ("row_sum", true),
        ("outer", false),
        ("gelu", false),
    ] {
        let def = shipped::kernel(name);
        let instances = [8, 256].map(|extent| vec![extent; def.shape_vars.len()]);
        let target = Target::Cuda(*device("sm_80"));
        let space = Space::generate(&def, target, &instances, &CustomRules::default()).expect("it has sketches");
        for sketch in &space.sketches {
            let drawn = sketch.instructions.iter().filter(|i| matches!(i, Instruction::Partition { .. })).count();
            assert_eq!(drawn, usize::from(is_drawn), "{name}: {sketch}");
        }
    }
}
