//! What the row of a micro-kernel says beside its code, by micro-kernels that need it.

use dietcode_core::frontend;
use dietcode_core::machine::{CpuTarget, Toolchain};
use dietcode_core::schedule::{Combine, Schedule, Size, Staging, Tail};
use dietcode_core::sketch::{Lowered, Sizes, Tiled};
use dietcode_syntax::KernelDef;
use serde_json::json;

use crate::common::instance::Instance;
use crate::common::on_cpu::{Case, Library};
use crate::common::units;

const SHAPES: [[i64; 3]; 6] = [[1, 1, 1], [5, 30, 7], [13, 64, 20], [16, 65, 16], [33, 200, 50], [3, 0, 5]];

fn kernel(source: &str) -> KernelDef {
    dietcode_syntax::scan(source).expect("the source parses")[0].parse().expect("the nest is one")
}

fn dense() -> KernelDef {
    kernel(
        "#[dynamic_kernel] fn dense(x: &[[f32; K]; M], w: &[[f32; K]; N], y: &mut [[f32; N]; M]) {
        for i in 0..M { for j in 0..N { let mut acc = 0.0; for k in 0..K { acc += x[i][k] * w[j][k]; } y[i][j] = acc; } }
    }",
    )
}

/// Blocks for caches along rows and along the sum, whose sizes are parameters; the panel is as large as they say.
fn blocked(def: &KernelDef) -> Schedule {
    let program = frontend::program(def);
    let mut schedule = Schedule::new(&program, &program.blocks[0]);
    let mut made = || {
        schedule.parameter("rows", 2)?;
        schedule.parameter("steps", 64)?;
        schedule.split("i", Size(vec![4.into(), "rows".into()]), Tail::Clip, ["i_0", "i_1"])?;
        schedule.split("i_1", 4, Tail::Pad, ["i_2", "i_3"])?;
        schedule.split("j", 8, Tail::Pad, ["j_0", "j_1"])?;
        schedule.split("k", Size::product(["steps"]), Tail::Clip, ["k_0", "k_1"])?;
        schedule.reorder(&["i_0", "j_0", "k_0", "i_2", "k_1", "i_3", "j_1"])?;
        schedule.parallel("i_0")?;
        ["i_3", "j_1"].into_iter().try_for_each(|name| schedule.unroll(name))?;
        schedule.cache_read("w", Staging::Always)?;
        schedule.compute_at("w_panel", Some("k_0"))?;
        let tile = schedule.cache_write()?;
        schedule.compute_at(&tile, Some("i_2"))?;
        schedule.decompose_reduction()
    };
    made().expect("the schedule is legal");
    schedule
}

/// Parts of sums along `k`, which threads compute at once.
fn split_sum(def: &KernelDef, parts: i64) -> Schedule {
    let program = frontend::program(def);
    let mut schedule = Schedule::new(&program, &program.blocks[0]);
    let mut made = || {
        schedule.split("k", 4 * parts, Tail::Pad, ["k_0", "k_1"])?;
        schedule.split("k_1", 4, Tail::Clip, ["k_s", "k_2"])?;
        schedule.split("j", 8, Tail::Pad, ["j_0", "j_1"])?;
        schedule.reorder(&["k_s", "i", "j_0", "k_0", "k_2", "j_1"])?;
        schedule.parallel("k_s")?;
        schedule.vectorize("j_1")?;
        schedule.rfactor(Combine::Workspace)?;
        schedule.cache_read("w", Staging::Always)?;
        schedule.compute_at("w_panel", Some("k_0"))?;
        let tile = schedule.cache_write()?;
        schedule.compute_at(&tile, Some("j_0"))?;
        schedule.decompose_reduction()
    };
    made().expect("the schedule is legal");
    schedule
}

/// A first phase leaves parts of sums in a workspace, and a second one adds them in order: on any number of threads the same bits.
#[test]
fn parts_of_a_sum_meet_in_a_second_phase() {
    let toolchain = Toolchain::find("native").expect("a C compiler");
    for (output, epilogue) in [("y[i][j]", "&mut [[f32; N]; M]"), ("y[j][i]", "&mut [[f32; M]; N]")] {
        let def = kernel(&format!(
            "#[dynamic_kernel] fn split(x: &[[f32; K]; M], w: &[[f32; K]; N], b: &[f32; N], y: {epilogue}) {{
                for i in 0..M {{ for j in 0..N {{
                    let mut acc = b[j];
                    for k in 0..K {{ acc += x[i][k] * w[j][k]; }}
                    {output} = acc.max(0.0);
                }} }}
            }}"
        ));
        let unit = units::scheduled(&def, "split", &split_sum(&def, 3)).unwrap();
        let reference = units::oracle(&def);
        let case = |(seed, shape): (usize, [i64; 3])| {
            let instance =
                Instance { seed: seed as u64, def: def.clone(), shape: shape.into(), gap: seed % 2, coarse: false };
            let (unit, reference) = (unit.clone(), reference.clone());
            Case { instance, unit, reference, trace: String::new(), sizes: None }
        };
        let cases: Vec<Case> = SHAPES.into_iter().enumerate().map(case).collect();
        let library = Library::compile(&toolchain, &cases[..1]);
        for case in &cases {
            library.check_on_threads(case);
        }
    }
}

/// One compiled unit, called with other sizes of its blocks than it was made with, computes the same.
#[test]
fn sizes_of_blocks_are_those_of_the_call() {
    let def = dense();
    let schedule = blocked(&def);
    let unit = units::scheduled(&def, "blocked", &schedule).unwrap();
    let lowered = Lowered::of(schedule).unwrap();
    assert!(
        unit.source.contains("  .parameters = (const int64_t[]){2, 64},\n  .parameters_len = 2,\n"),
        "{}",
        unit.source
    );
    let case = |(n, (shape, parameters)): (usize, ([i64; 3], [i64; 2]))| {
        let instance = Instance { seed: n as u64, def: def.clone(), shape: shape.into(), gap: n % 3, coarse: false };
        let trace = format!("{parameters:?}");
        let (unit, sizes) = (unit.clone(), Some(Sizes::of(&lowered, parameters.into())));
        Case { instance, unit, reference: units::oracle(&def), trace, sizes }
    };
    let sizes = [[2, 64], [1, 1], [4, 100], [3, 17]];
    let all = SHAPES.into_iter().flat_map(|shape| sizes.map(|sizes| (shape, sizes)));
    let cases: Vec<Case> = all.enumerate().map(case).collect();
    let library = Library::compile(&Toolchain::find("native").expect("a C compiler"), &cases[..1]);
    for case in &cases {
        let tensors = case.instance.tensors();
        library.check(case, &tensors, &case.instance.expected(&tensors));
    }
}

/// At an edge, a tile that is only screened goes to the stack, and its rows from there, whatever is summed, stored, and read of what they replace.
#[test]
fn rows_of_screened_tiles_are_of_each_type() {
    let toolchain = Toolchain::find("native").expect("a C compiler");
    let target = CpuTarget::of(&toolchain);
    let mut cases = Vec::new();
    for (n, (x, w, y, term, stored)) in [
        ("f32", "f32", "f32", "x[i][k] * w[k][j]", "acc"),
        ("f32", "f32", "f32", "x[i][k] * w[k][j]", "0.5 * y[i][j] + acc"),
        ("f16", "f16", "f16", "f32::from(x[i][k]) * f32::from(w[k][j])", "f16::from_f32(acc)"),
        ("f16", "f16", "f16", "f32::from(x[i][k]) * f32::from(w[k][j])", "f16::from_f32(f32::from(y[i][j]) - acc)"),
        ("bf16", "f32", "bf16", "f32::from(x[i][k]) * w[k][j]", "bf16::from_f32(f32::from(y[i][j]) + acc)"),
        ("f64", "f64", "f64", "x[i][k] * w[k][j]", "y[i][j] * 2.0 - acc"),
        ("f64", "i8", "f32", "x[i][k] * f64::from(w[k][j])", "(f64::from(y[i][j]) + acc) as f32"),
        ("u8", "i8", "i32", "i32::from(x[i][k]) * i32::from(w[k][j])", "acc.max(-100)"),
        ("i32", "i32", "i32", "x[i][k] * w[k][j]", "y[i][j] - acc"),
        ("i8", "i8", "f32", "i32::from(x[i][k]) * i32::from(w[k][j])", "acc as f32 * 0.5"),
        ("i8", "u8", "f32", "i32::from(x[i][k]) * i32::from(w[k][j])", "y[i][j] + acc as f32"),
    ]
    .into_iter()
    .enumerate()
    {
        let start = if term.starts_with("i32") || x == "i32" { "0" } else { "0.0" };
        let def = kernel(&format!(
            "#[dynamic_kernel] fn rows_{n}(x: &[[{x}; 24]; M], w: &[[{w}; N]; 24], y: &mut [[{y}; N]; M]) {{
                for i in 0..M {{ for j in 0..N {{
                    let mut acc = {start};
                    for k in 0..24 {{ acc += {term}; }}
                    y[i][j] = {stored};
                }} }}
            }}"
        ));
        let block = json!({"i": 6, "j": 32});
        let tiled = json!({"vector": "j", "register_tile": {"i": 3, "j": 16}, "block_tile": block, "pack": ["w"]});
        let tiled: Tiled = serde_json::from_value(tiled).expect("parameters");
        let (micro_kernel, _) = tiled.micro_kernel(&frontend::program(&def), &target).expect("it fits");
        let (unit, sizes) = units::parametric(&def, &micro_kernel.trace, &target).unwrap();
        // A CPU may have an instruction for products of u8 and i8, whose tile goes to the stack at every edge.
        assert!(x == "u8" || unit.source.contains("y_tile_rows"), "{stored}: {}", unit.source);
        for (seed, shape) in SHAPES.into_iter().map(|[m, _, n]| [m, n]).enumerate() {
            let instance =
                Instance { seed: seed as u64, def: def.clone(), shape: shape.into(), gap: seed % 2, coarse: false };
            let (unit, sizes, reference) = (unit.clone(), Some(sizes.clone()), units::oracle(&def));
            cases.push(Case { instance, unit, reference, trace: stored.to_owned(), sizes });
        }
    }
    for cases in cases.chunks(SHAPES.len()) {
        let library = Library::compile(&toolchain, &cases[..1]);
        for case in cases {
            let tensors = case.instance.tensors();
            library.check(case, &tensors, &case.instance.expected(&tensors));
        }
    }
}
