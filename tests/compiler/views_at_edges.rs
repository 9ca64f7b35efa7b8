//! Matrices that are read where they lie by tiles that are partitioned: at the edge all tiles read one copy, of as many columns as the tile
//! that is taken there reads, and none where that reads no more than there is. Lanes that share a sum read none of what lies along it, also
//! where the other matrix is packed.

use dietcode_core::frontend;
use dietcode_core::machine::{CpuTarget, Toolchain};
use dietcode_core::sketch::Tiled;
use dietcode_syntax::KernelDef;

use crate::common::avx512;
use crate::common::instance::Instance;
use crate::common::on_cpu::{Case, Library};
use crate::common::units;

/// Elements of 32 bits, and of 16, of which masks load the first ones, too.
fn product(dtype: &str) -> KernelDef {
    let widened = |e: &str| if dtype == "f32" { e.to_owned() } else { format!("f32::from({e})") };
    let rounded = if dtype == "f32" { "acc".to_owned() } else { format!("{dtype}::from_f32(acc)") };
    let source = format!(
        "#[dynamic_kernel]
        fn product_{dtype}(x: &[[{dtype}; K]; M], w: &[[{dtype}; N]; K], y: &mut [[{dtype}; N]; M]) {{
            for i in 0..M {{ for j in 0..N {{
                let mut acc = 0.0;
                for k in 0..K {{ acc += {} * {}; }}
                y[i][j] = {rounded};
            }} }}
        }}",
        widened("x[i][k]"),
        widened("w[k][j]")
    );
    dietcode_syntax::scan(&source).expect("the source parses")[0].parse().expect("a kernel")
}

/// Six rows by `vectors` vectors of eight columns, twelve rows a task.
fn tiled(vectors: i64) -> Tiled {
    let parameters = serde_json::json!({ "vector": "j", "lanes": 8, "register_tile": { "i": 6, "j": 8 * vectors },
        "block_tile": { "i": 12, "k": 16 }, "partition": ["i", "j"] });
    serde_json::from_value(parameters).expect("parameters of the family")
}

/// The copy stands around the loop over tiles of rows, and its condition knows how much each tile reads.
#[test]
fn tiles_of_rows_read_one_copy() {
    let (_, lowered) = tiled(4).micro_kernel(&frontend::program(&product("f32")), &avx512::target()).expect("a tile");
    let nest = lowered.nest().body.to_string();
    let view = nest.find("view w_view").expect("the matrix is a view");
    assert!(view < nest.find("for i_1 ").expect("there are tiles of rows"), "{nest}");
    assert_eq!(nest.matches("view w_view").count(), 1, "{nest}");
    assert!(nest.contains("N % 32 == 16") && nest.contains("N % 32 == 8"), "{nest}");
}

/// Products by tiles, compiled for this machine, equal the nest at some values of M, K and N.
fn equal_the_nest(products: &[(&str, Tiled)], shapes: &(impl Iterator<Item = [i64; 3]> + Clone)) {
    let toolchain = Toolchain::find("native").expect("a C compiler");
    let target = CpuTarget::of(&toolchain);
    let case = |(at, (dtype, tiled)): (usize, &(&str, Tiled))| {
        let def = KernelDef { name: format!("product_{dtype}_{at}"), ..product(dtype) };
        let unit = units::tiled(&def, tiled, &target).expect("a valid tile");
        let reference = units::oracle(&def);
        let instance = Instance { seed: at as u64, shape: vec![1; 3], def, gap: 0, coarse: false };
        Case { instance, unit, reference, trace: format!("{tiled:?}"), sizes: None }
    };
    let cases: Vec<Case> = products.iter().enumerate().map(case).collect();
    let library = Library::compile(&toolchain, &cases);
    for mut case in cases {
        for (at, shape) in shapes.clone().enumerate() {
            let value = |name: &str| shape["MKN".find(name).expect("a variable of the nest")];
            case.instance.shape = case.instance.def.shape_vars.iter().map(|var| value(&var.name)).collect();
            case.instance.gap = at % 2;
            let tensors = case.instance.tensors();
            library.check(&case, &tensors, &case.instance.expected(&tensors));
        }
    }
}

#[test]
fn products_of_any_width_equal_the_nest() {
    let products = [("f32", tiled(4)), ("f32", tiled(3)), ("bf16", tiled(4)), ("f16", tiled(3))];
    equal_the_nest(&products, &(1..=70).map(|n| [[1, 6, 13, 27][n as usize % 4], [1, 16, 37][n as usize % 3], n]));
}

/// Eight rows by `columns` columns, eight lanes of the sum, the other matrix in panels.
fn by_lanes(columns: i64) -> Tiled {
    let parameters = serde_json::json!({ "vector": "k", "register_tile": { "i": 8, "j": columns, "k": 8 },
        "block_tile": { "i": 16, "j": 2 * columns, "k": 64 }, "pack": ["w"], "partition": ["i", "j"] });
    serde_json::from_value(parameters).expect("parameters of the family")
}

#[test]
fn what_lies_along_a_sum_is_read_in_place_beside_what_is_packed() {
    let loops = |dtype: &str| {
        let program = frontend::program(&product(dtype));
        let (_, lowered) = by_lanes(3).micro_kernel(&program, &avx512::target()).expect("a tile");
        lowered.nest().body.to_string()
    };
    assert!(!loops("f32").contains("view x_view"), "{}", loops("f32"));
    // No mask loads elements of 16 bits that are floats in a lane.
    assert!(loops("bf16").contains("view x_view"), "{}", loops("bf16"));
}

#[test]
fn sums_of_any_length_by_lanes_beside_panels_equal_the_nest() {
    let products = [("f32", by_lanes(1)), ("f32", by_lanes(3)), ("bf16", by_lanes(3)), ("f16", by_lanes(2))];
    equal_the_nest(&products, &(1..=150).map(|k| [[1, 7, 13, 40][k as usize % 4], k, [1, 2, 5][k as usize % 3]]));
}
