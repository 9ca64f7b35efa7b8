//! A convolution's tiles at the edges of windows: the weights' rows that adjoin in memory are transposed as one run, those that do not, one
//! by one; the input is read where it lies, its last row again behind the edge.

use dietcode_core::frontend;
use dietcode_core::machine::{CpuTarget, Target, Toolchain};
use dietcode_core::schedule::{Instruction, Trace};
use dietcode_core::sketch::rules::CustomRules;
use dietcode_core::sketch::{Space, Tiled};
use dietcode_syntax::KernelDef;
use rand::SeedableRng;
use rand::rngs::StdRng;
use rand::seq::IndexedRandom;

use crate::common::avx512;
use crate::common::instance::Instance;
use crate::common::on_cpu::{Case, Library};
use crate::common::{settings, units};

const CONV: &str = "#[dynamic_kernel]
    fn conv(x: &[[[f32; S + W - 1]; H + R - 1]; C], k: &[[[[f32; S]; R]; C]; O], y: &mut [[[f32; W]; H]; O]) {
        for o in 0..O { for h in 0..H { for w in 0..W {
            let mut acc = 0.0;
            for c in 0..C { for r in 0..R { for s in 0..S { acc += x[c][h + r][s + w] * k[o][c][r][s]; } } }
            y[o][h][w] = acc;
        } } }
    }";

/// Windows of a few steps, of one channel, of all of them, and along one axis; as floats, floats of 64 bits, and integers.
const SMALL: &str = "
    #[dynamic_kernel] fn depthwise(x: &[[[f32; W + 2]; H + 2]; C], k: &[[[f32; 3]; 3]; C], y: &mut [[[f32; W]; H]; C]) {
        for c in 0..C { for h in 0..H { for w in 0..W {
            let mut acc = 0.5;
            for r in 0..3 { for s in 0..3 { acc += x[c][h + r][w + s] * k[c][r][s]; } }
            y[c][h][w] = acc;
        } } }
    }
    #[dynamic_kernel] fn conv_of_3(x: &[[[f32; W + 2]; H + 2]; C], k: &[[[[f32; 3]; 3]; C]; O], y: &mut [[[f32; W]; H]; O]) {
        for o in 0..O { for h in 0..H { for w in 0..W {
            let mut acc = 0.0;
            for c in 0..C { for r in 0..3 { for s in 0..3 { acc += x[c][h + r][w + s] * k[o][c][r][s]; } } }
            y[o][h][w] = acc;
        } } }
    }
    #[dynamic_kernel] fn along_one(x: &[[f64; W + 4]; C], k: &[[[f64; 5]; C]; O], y: &mut [[f64; W]; O]) {
        for o in 0..O { for w in 0..W { for c in 0..C { for s in 0..5 { y[o][w] += x[c][w + s] * k[o][c][s]; } } } }
    }
    #[dynamic_kernel] fn of_integers(x: &[[i32; W + 1]; H + 6], k: &[[i32; 2]; 4], y: &mut [[i32; W]; H]) {
        for h in 0..H { for w in 0..W { for r in 0..4 { for s in 0..2 { y[h][w] += x[h + 2 * r][w + s] * k[r][s]; } } } }
    }
    #[dynamic_kernel] fn largest(x: &[[f32; W + 2]; H + 2], y: &mut [[f32; W]; H]) {
        for h in 0..H { for w in 0..W {
            let mut acc = f32::NEG_INFINITY;
            for r in 0..3 { for s in 0..3 { acc = acc.max(x[h + r][w + s]); } }
            y[h][w] = acc;
        } }
    }";

const NAMES: [&str; 5] = ["depthwise", "conv_of_3", "along_one", "of_integers", "largest"];

fn small(name: &str) -> KernelDef {
    let found = dietcode_syntax::scan(SMALL).expect("the source parses");
    let mut all = found.iter().map(|found| found.parse().unwrap_or_else(|errors| panic!("{errors}")));
    all.find(|def: &KernelDef| def.name == name).expect("it is one of them")
}

/// The sketches of a nest with vectors along its rows in which its input is read where it lies.
fn in_place(def: &KernelDef, target: &CpuTarget) -> (Space, Vec<Trace>) {
    let instances = [3, 70].map(|extent| vec![extent; def.shape_vars.len()]);
    let space = Space::generate(def, Target::Cpu(target.clone()), &instances, &CustomRules::default())
        .unwrap_or_else(|e| panic!("{}: {e}", def.name));
    let copies = |instruction: &Instruction| matches!(instruction, Instruction::CacheRead { .. });
    let is_along = |sketch: &&Trace| sketch.to_string().contains("vectorize(w_");
    let sketches = space.sketches.iter().filter(|sketch| !sketch.instructions.iter().any(copies)).filter(is_along);
    let sketches = sketches.cloned().collect();
    (space, sketches)
}

/// Nothing is packed or copied, steps are unrolled, those along vectors outside of the others, and the edge has a body of its own.
#[test]
fn small_windows_are_unrolled_and_read_in_place() {
    let (def, target) = (small("depthwise"), avx512::target());
    let (space, sketches) = in_place(&def, &target);
    assert!(!sketches.is_empty(), "no sketch reads in place");
    let mut rng = StdRng::seed_from_u64(1);
    for sketch in &sketches {
        let text = sketch.to_string();
        assert!(text.contains("unroll(r)") && text.contains("unroll(s)") && text.contains(", s, r, h_"), "{text}");
        let trace = space.complete(sketch, &mut rng).unwrap_or_else(|e| panic!("{e}\n{sketch}"));
        let source = units::traced(&def, &trace, &target).unwrap_or_else(|e| panic!("{e}\n{trace}")).source;
        assert!(source.contains("dietcode_load_some_f32x"), "{source}");
        let rows = [", H + 1)", ", H + 2 - 1)"].iter().any(|last| source.contains(last));
        assert!(rows || trace.decisions.get("h_register") == Some(&1), "{trace}\n{source}");
    }
}

#[test]
fn draws_that_read_windows_in_place_equal_the_reference() {
    let toolchain = Toolchain::find("native").expect("a C compiler");
    let target = CpuTarget::of(&toolchain);
    let mut rng = StdRng::seed_from_u64(settings::seed_of_the_day());
    let mut cases = Vec::new();
    for name in NAMES {
        let def = small(name);
        let (space, sketches) = in_place(&def, &target);
        assert!(!sketches.is_empty(), "{name}");
        for n in 0..4 {
            let sketch = sketches.choose(&mut rng).expect("there are sketches");
            let trace = space.complete(sketch, &mut rng).unwrap_or_else(|e| panic!("{e}\n{sketch}"));
            let def = KernelDef { name: format!("{name}_{n}"), ..def.clone() };
            let unit = units::traced(&def, &trace, &target).unwrap_or_else(|e| panic!("{e}\n{trace}"));
            let reference = units::oracle(&def);
            let instance = Instance { seed: n, shape: shape(&def, SHAPES[0]), def, gap: 0, coarse: false };
            cases.push(Case { instance, unit, reference, trace: trace.to_string(), sizes: None });
        }
    }
    let library = Library::compile(&toolchain, &cases);
    for mut case in cases {
        for (row, gap) in SHAPES.into_iter().chain([[2, 3, 37, 0, 0, 40]]).flat_map(|row| [(row, 0), (row, 3)]) {
            case.instance.shape = shape(&case.instance.def, row);
            case.instance.gap = gap;
            let tensors = case.instance.tensors();
            library.check(&case, &tensors, &case.instance.expected(&tensors));
        }
    }
}

/// C, O, H, R, S, W: windows of the size of a block, smaller ones along each axis, and larger ones.
const SHAPES: [[i64; 6]; 9] = [
    [7, 16, 3, 3, 3, 14],
    [7, 19, 4, 3, 3, 7],
    [5, 9, 2, 2, 3, 5],
    [5, 8, 3, 3, 2, 6],
    [4, 17, 1, 1, 1, 1],
    [13, 3, 2, 4, 4, 9],
    [1, 24, 5, 3, 1, 11],
    [9, 8, 1, 1, 3, 4],
    [6, 33, 2, 5, 7, 3],
];

fn conv() -> KernelDef {
    dietcode_syntax::scan(CONV).expect("the source parses")[0].parse().expect("a kernel")
}

/// Eight lanes of outputs by `rows` places along the picture.
fn tiled(rows: i64) -> Tiled {
    let parameters = serde_json::json!({ "vector": "o", "lanes": 8, "register_tile": { "o": 16, "w": rows },
        "block_tile": { "h": 2, "w": 3 * rows, "c": 4, "r": 3, "s": 3 }, "pack": ["k"], "partition": ["o", "w"] });
    serde_json::from_value(parameters).expect("parameters of the family")
}

fn shape(def: &KernelDef, row: [i64; 6]) -> Vec<i64> {
    let value = |name: &str| row["COHRSW".find(name).expect("a variable of the nest")];
    def.shape_vars.iter().map(|var| value(&var.name)).collect()
}

#[test]
fn rows_that_may_adjoin_are_transposed_at_once_and_edges_are_read_in_place() {
    let (def, target) = (conv(), avx512::target());
    let text = units::tiled(&def, &tiled(5), &target).expect("a valid tile").source;
    assert!(text.contains("dietcode_transpose8_f32_runs(&k_panel["), "{text}");
    assert!(text.contains("dietcode_imin(w_o * 5 + 4, W - 1)") || text.contains(" * 5 + 4, W - 1)"), "{text}");
    assert!(!text.contains("x_view"), "{text}");
    let (_, lowered) = tiled(5).micro_kernel(&frontend::program(&def), &target).expect("a valid tile");
    let nest = lowered.nest().body.to_string();
    assert!(nest.contains(" times, ") && nest.contains(" of 8 lanes"), "{nest}");
    // More rows than there are registers for their addresses are copied.
    let text = units::tiled(&def, &tiled(9), &target).expect("a valid tile").source;
    assert!(text.contains("x_view"), "{text}");
}

#[test]
fn windows_of_any_size_equal_the_nest_with_rows_that_adjoin_and_without() {
    let toolchain = Toolchain::find("native").expect("a C compiler");
    let target = CpuTarget::of(&toolchain);
    let case = |rows: i64| {
        let def = KernelDef { name: format!("conv_{rows}"), ..conv() };
        let unit = units::tiled(&def, &tiled(rows), &target).expect("a valid tile");
        let reference = units::oracle(&def);
        let instance = Instance { seed: rows as u64, shape: shape(&def, SHAPES[0]), def, gap: 0, coarse: false };
        Case { instance, unit, reference, trace: format!("{:?}", tiled(rows)), sizes: None }
    };
    let cases: Vec<Case> = [3, 5].map(case).into();
    let library = Library::compile(&toolchain, &cases);
    for mut case in cases {
        for row in SHAPES {
            for gap in [0, 3] {
                case.instance.shape = shape(&case.instance.def, row);
                case.instance.gap = gap;
                let tensors = case.instance.tensors();
                library.check(&case, &tensors, &case.instance.expected(&tensors));
            }
        }
    }
}
