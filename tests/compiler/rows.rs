//! What the row of a micro-kernel says beside its code, by micro-kernels that need it.

use dietcode_core::frontend;
use dietcode_core::machine::Toolchain;
use dietcode_core::schedule::{Combine, Schedule, Size, Staging, Tail};
use dietcode_core::sketch::{Lowered, Sizes};
use dietcode_syntax::KernelDef;

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
