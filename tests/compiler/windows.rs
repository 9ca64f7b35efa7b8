//! A convolution's tiles at the edges of windows: the weights' rows that adjoin in memory are transposed as one run, those that do not, one
//! by one; the input is read where it lies, its last row again behind the edge.

use dietcode_core::frontend;
use dietcode_core::machine::{CpuTarget, Toolchain};
use dietcode_core::sketch::Tiled;
use dietcode_syntax::KernelDef;

use crate::common::avx512;
use crate::common::instance::Instance;
use crate::common::on_cpu::{Case, Library};
use crate::common::units;

const CONV: &str = "#[dynamic_kernel]
    fn conv(x: &[[[f32; S + W - 1]; H + R - 1]; C], k: &[[[[f32; S]; R]; C]; O], y: &mut [[[f32; W]; H]; O]) {
        for o in 0..O { for h in 0..H { for w in 0..W {
            let mut acc = 0.0;
            for c in 0..C { for r in 0..R { for s in 0..S { acc += x[c][h + r][s + w] * k[o][c][r][s]; } } }
            y[o][h][w] = acc;
        } } }
    }";

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
