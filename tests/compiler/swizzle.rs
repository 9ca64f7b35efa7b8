//! Swizzled tiles in shared memory: rows that `ldmatrix` reads at once, and elements that lanes load one by one, lie in different banks, which the
//! emulator is asked to watch, and results are those of the reference, at shapes that the tiles do not divide.

use dietcode_core::machine::cuda::{DeviceLimits, HostCompiler};
use dietcode_core::sketch::{Blocked, Stage};
use dietcode_syntax::KernelDef;

use crate::common::instance::Instance;
use crate::common::on_gpu::{Case, Library};
use crate::common::units;
use crate::micro_kernels::oracle::Oracles;

/// How the rows of both operands are swizzled, and shapes.
struct Product {
    name: &'static str,
    operands: [&'static str; 2],
    tiles: &'static str,
    swizzles: [i64; 2],
    shapes: &'static [&'static [i64]],
}

const SHAPES: &[&[i64]] = &[&[80, 72, 128], &[37, 51, 29]];

/// Rows of 2 to 16 chunks, along the sum and across it.
const PRODUCTS: [Product; 9] = [
    Product { name: "nt_f16", operands: ["[i][k]", "[j][k]"], tiles: SQUARE, swizzles: [8, 8], shapes: SHAPES },
    Product { name: "nn_f16", operands: ["[i][k]", "[k][j]"], tiles: SQUARE, swizzles: [8, 8], shapes: SHAPES },
    Product { name: "nn_bf16", operands: ["[i][k]", "[k][j]"], tiles: ODD, swizzles: [8, 8], shapes: SHAPES },
    Product { name: "tn_f16", operands: ["[k][i]", "[k][j]"], tiles: WIDE, swizzles: [8, 8], shapes: SHAPES },
    Product { name: "tt_bf16", operands: ["[k][i]", "[j][k]"], tiles: LONG, swizzles: [8, 8], shapes: SHAPES },
    Product {
        name: "batched_f16",
        operands: ["[n][i][k]", "[n][j][k]"],
        tiles: LONG,
        swizzles: [8, 8],
        shapes: BATCHES,
    },
    Product { name: "nt_f32", operands: ["[i][k]", "[j][k]"], tiles: TF32, swizzles: [4, 4], shapes: SHAPES },
    Product { name: "tn_f32", operands: ["[k][i]", "[k][j]"], tiles: TF32, swizzles: [8, 8], shapes: SHAPES },
    Product {
        name: "conv_f16",
        operands: ["[h + r][w + s]", "[o][r][s]"],
        tiles: WINDOW,
        swizzles: [8, 8],
        shapes: WINDOWS,
    },
];

const SQUARE: &str = r#""thread": {"i": 1, "j": 2}, "inner": {"i": 2, "j": 2}, "reduce": {"k": 32}"#;
/// The second warp begins amid the chunks that change places.
const ODD: &str = r#""thread": {"i": 1, "j": 2}, "inner": {"i": 1, "j": 3}, "reduce": {"k": 16}"#;
const WIDE: &str = r#""thread": {"i": 2, "j": 2}, "inner": {"i": 3, "j": 8}, "reduce": {"k": 16}"#;
const LONG: &str = r#""thread": {"i": 2, "j": 1}, "inner": {"i": 1, "j": 3}, "reduce": {"k": 64}"#;
const TF32: &str = r#""thread": {"i": 1, "j": 2}, "inner": {"i": 2, "j": 2}, "reduce": {"k": 16}"#;
const WINDOW: &str = r#""thread": {"o": 1, "w": 2}, "inner": {"o": 1, "w": 2}, "reduce": {"r": 2, "s": 16}"#;
const BATCHES: &[&[i64]] = &[&[2, 40, 24, 64], &[3, 21, 35, 9]];
const WINDOWS: &[&[i64]] = &[&[16, 8, 32, 2, 16], &[11, 9, 5, 3, 17]];

impl Product {
    fn def(&self) -> KernelDef {
        let (form, dtype) = self.name.split_once('_').expect("a form and a type");
        let of = |index: &str, extents: &[(&str, &str)]| {
            let dims = index[1..index.len() - 1]
                .rsplit("][")
                .map(|i| extents.iter().find(|(name, _)| *name == i).expect("an index").1);
            dims.fold(dtype.to_owned(), |of, extent| format!("[{of}; {extent}]"))
        };
        let element = |text: String| if dtype == "f32" { text } else { format!("f32::from({text})") };
        let (extents, spatial, sums): (&[(&str, &str)], &[&str], &[&str]) = match form {
            "conv" => (
                &[
                    ("h + r", "H + R - 1"),
                    ("w + s", "W + S - 1"),
                    ("o", "O"),
                    ("r", "R"),
                    ("s", "S"),
                    ("h", "H"),
                    ("w", "W"),
                ],
                &["o", "h", "w"],
                &["r", "s"],
            ),
            "batched" => (&[("n", "B"), ("i", "M"), ("j", "N"), ("k", "K")], &["n", "i", "j"], &["k"]),
            _ => (&[("i", "M"), ("j", "N"), ("k", "K")], &["i", "j"], &["k"]),
        };
        let extent = |name: &str| extents.iter().find(|(other, _)| *other == name).expect("a loop").1;
        let open =
            |loops: &[&str]| loops.iter().map(|l| format!("for {l} in 0..{} {{ ", extent(l))).collect::<String>();
        let close = |loops: &[&str]| "} ".repeat(loops.len());
        let [x, w] = self.operands;
        let y: String = spatial.iter().map(|l| format!("[{l}]")).collect();
        let stored = if dtype == "f32" { "acc".to_owned() } else { format!("{dtype}::from_f32(acc)") };
        let text = format!(
            "#[dynamic_kernel] fn {}(x: &{}, f: &{}, y: &mut {}) {{ {} let mut acc = 0.0; {} acc += {} * {}; {} y{y} = {stored}; {} }}",
            self.name,
            of(x, extents),
            of(w, extents),
            of(&y, extents),
            open(spatial),
            open(sums),
            element(format!("x{x}")),
            element(format!("f{w}")),
            close(sums),
            close(spatial),
        );
        let found = dietcode_syntax::scan(&text).expect("the source parses");
        found[0].parse().unwrap_or_else(|errors| panic!("{errors}\n{text}"))
    }

    /// With `swizzle` or without, and then neither padded.
    fn blocked(&self, def: &KernelDef, swizzled: bool) -> Blocked {
        let unit = if self.name.ends_with("f32") { "tf32" } else { "half" };
        let text = format!(r#"{{{}, "matrix_unit": "{unit}", "stages": 3, "async": true, "store": 2}}"#, self.tiles);
        let mut blocked: Blocked = serde_json::from_str(&text).unwrap_or_else(|e| panic!("{e}: {text}"));
        let vector = if self.name.starts_with("conv") { 1 } else { 16 / def.params[0].dtype.bytes() };
        for (param, swizzle) in def.params.iter().zip(self.swizzles) {
            let swizzle = if swizzled { swizzle } else { 0 };
            blocked.stage.insert(param.name.clone(), Stage { vector, swizzle, ..Stage::default() });
        }
        blocked
    }
}

#[test]
fn rows_of_a_matrix_lie_in_different_banks_and_results_are_right() {
    let compiler = HostCompiler::find().expect("a C++ compiler");
    let device = DeviceLimits::of("sm_80".parse().expect("a device")).expect("a known one");
    let defs: Vec<KernelDef> = PRODUCTS.iter().map(Product::def).collect();
    let oracles = Oracles::compile(defs.iter());
    for (product, def) in PRODUCTS.iter().zip(&defs) {
        let blocked = product.blocked(def, true);
        let unit = units::blocked(def, &blocked, device).unwrap_or_else(|e| panic!("{e}"));
        assert!(unit.source.contains("dietcode_swizzled_rows<"), "{}", unit.source);
        let plain = units::blocked(def, &product.blocked(def, false), device).unwrap_or_else(|e| panic!("{e}"));
        assert_eq!(unit.launches[0].shared_bytes, plain.launches[0].shared_bytes);
        let library = Library::without_bank_conflicts(&compiler, &unit);
        for (seed, shape) in product.shapes.iter().enumerate() {
            let instance =
                Instance { seed: seed as u64, def: def.clone(), shape: shape.to_vec(), gap: 0, coarse: false };
            let case = Case { instance, unit: unit.clone() };
            let tensors = case.instance.tensors();
            let expected = oracles.expected(&case.instance, &tensors, blocked.matrix_unit);
            library.check(&case, &tensors, &expected);
        }
    }
}

/// Carries out a product whose rows lie one behind the other.
fn unswizzled(product: &Product) {
    let def = product.def();
    let device = DeviceLimits::of("sm_80".parse().expect("a device")).expect("a known one");
    let blocked = product.blocked(&def, false);
    let unit = units::blocked(&def, &blocked, device).unwrap_or_else(|e| panic!("{e}"));
    let library = Library::without_bank_conflicts(&HostCompiler::find().expect("a C++ compiler"), &unit);
    let instance = Instance { seed: 1, def: def.clone(), shape: SHAPES[0].to_vec(), gap: 0, coarse: false };
    let case = Case { instance, unit };
    let tensors = case.instance.tensors();
    let expected = Oracles::compile(std::iter::once(&def)).expected(&case.instance, &tensors, blocked.matrix_unit);
    library.check(&case, &tensors, &expected);
}

/// What the emulator says of rows that meet in a bank; else the test before could not fail.
#[test]
#[should_panic(expected = "8 rows of ldmatrix lie in the quads of banks")]
fn rows_that_lie_one_behind_the_other_meet_in_a_bank() {
    unswizzled(&PRODUCTS[0]);
}

/// The same of elements of f32 that lie across the sum.
#[test]
#[should_panic(expected = "32 elements lie in the banks")]
fn elements_of_rows_that_lie_one_behind_the_other_meet_in_a_bank() {
    unswizzled(PRODUCTS.iter().find(|product| product.name == "tn_f32").expect("it is there"));
}
