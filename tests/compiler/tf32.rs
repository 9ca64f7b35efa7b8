//! Products of f32 by matrix instructions of tf32: rounded once, with the same bits wherever they are rounded, or in two parts, and then
//! as good as in f32, where what was rounded once is not.

use std::collections::BTreeMap;

use dietcode_core::codegen::cuda::CudaUnit;
use dietcode_core::frontend;
use dietcode_core::ir::{DType, Name};
use dietcode_core::machine::cuda::{DeviceLimits, HostCompiler};
use dietcode_core::reference::{self, Approx, Arithmetic, Tensors};
use dietcode_core::schedule::Trace;
use dietcode_core::sketch::Blocked;
use dietcode_syntax::{KernelDef, Role};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

use crate::common::instance::Instance;
use crate::common::on_gpu::{Case, Library};
use crate::common::units;

/// A nest, the sizes of its tiles, and shapes that those do not divide.
struct Product {
    source: &'static str,
    tiles: &'static str,
    stages: [&'static str; 2],
    shapes: &'static [&'static [i64]],
}

/// Products whose factors lie along the sum or across it, by vectors and element by element, batched, and a convolution.
const PRODUCTS: [Product; 4] = [
    Product {
        source: "#[dynamic_kernel] fn nt(x: &[[f32; K]; M], w: &[[f32; K]; N], b: &[f32; N], y: &mut [[f32; N]; M]) {
            for i in 0..M { for j in 0..N {
                let mut acc = b[j];
                for k in 0..K { acc += x[i][k] * w[j][k]; }
                y[i][j] = acc;
            } }
        }",
        tiles: r#""thread": {"i": 2, "j": 2}, "inner": {"i": 1, "j": 2}, "reduce": {"k": 16}"#,
        stages: [r#""x": {"vector": 4, "pad": 4}, "w": {"vector": 4, "pad": 4}"#, r#""x": {"pad": 4}, "w": {"vector": 2, "pad": 4}"#],
        shapes: &[&[32, 16, 32], &[37, 29, 41], &[5, 64, 3]],
    },
    Product {
        source: "#[dynamic_kernel] fn tn(x: &[[f32; M]; K], w: &[[f32; N]; K], y: &mut [[f32; N]; M]) {
            for i in 0..M { for j in 0..N {
                let mut acc = 0.0;
                for k in 0..K { acc += x[k][i] * w[k][j]; }
                y[i][j] = acc;
            } }
        }",
        tiles: r#""thread": {"i": 1, "j": 2}, "inner": {"i": 2, "j": 1}, "reduce": {"k": 8}"#,
        stages: [r#""x": {"vector": 4, "pad": 8}, "w": {"vector": 4, "pad": 8}"#, r#""x": {}, "w": {"vector": 2}"#],
        shapes: &[&[16, 32, 16], &[31, 33, 19]],
    },
    Product {
        source: "#[dynamic_kernel] fn batched(x: &[[[f32; K]; M]; B], w: &[[[f32; N]; K]; B], y: &mut [[[f32; N]; M]; B]) {
            for n in 0..B { for i in 0..M { for j in 0..N {
                let mut acc = 0.0;
                for k in 0..K { acc += x[n][i][k] * w[n][k][j]; }
                y[n][i][j] = acc;
            } } }
        }",
        tiles: r#""thread": {"i": 1, "j": 2}, "inner": {"i": 1, "j": 1}, "reduce": {"k": 16}"#,
        stages: [r#""x": {"vector": 4, "pad": 4}, "w": {"vector": 4}"#, r#""x": {}, "w": {}"#],
        shapes: &[&[2, 16, 32, 16], &[3, 21, 35, 9]],
    },
    Product {
        source: "#[dynamic_kernel] fn conv(x: &[[f32; W + S - 1]; H + R - 1], k: &[[[f32; S]; R]; O], y: &mut [[[f32; W]; H]; O]) {
            for o in 0..O { for h in 0..H { for w in 0..W {
                let mut acc = 0.0;
                for r in 0..R { for s in 0..S { acc += x[h + r][w + s] * k[o][r][s]; } }
                y[o][h][w] = acc;
            } } }
        }",
        tiles: r#""thread": {"o": 1, "w": 2}, "inner": {"o": 1, "w": 1}, "reduce": {"r": 2, "s": 8}"#,
        stages: [r#""x": {}, "k": {}"#, r#""x": {"pad": 4}, "k": {"pad": 4}"#],
        shapes: &[&[16, 8, 4, 2, 16], &[11, 9, 5, 3, 17]],
    },
];

fn kernel(source: &str) -> KernelDef {
    let found = dietcode_syntax::scan(source).expect("the source parses");
    found[0].parse().unwrap_or_else(|errors| panic!("{errors}"))
}

fn device() -> &'static DeviceLimits {
    DeviceLimits::of("sm_80".parse().expect("a capability")).expect("it is known")
}

/// The micro-kernel of some tiles, with more parameters.
fn unit(product: &Product, stage: usize, unit: &str, more: &str) -> CudaUnit {
    let Product { source, tiles, stages, .. } = product;
    let parameters = format!(r#"{{{tiles}, "stage": {{{}}}, "matrix_unit": "{unit}"{more}}}"#, stages[stage]);
    let blocked: Blocked = serde_json::from_str(&parameters).expect("parameters");
    units::blocked(&kernel(source), &blocked, device()).unwrap_or_else(|e| panic!("{parameters}: {e}"))
}

/// Tensors of which tf32 rounds each element towards zero, by a fourth of its last place at the least. All are from 1 to 2, so that no error
/// makes up for another.
fn tensors(instance: &Instance) -> Vec<Vec<f64>> {
    let mut rng = StdRng::seed_from_u64(instance.seed);
    let mut element = || f64::from(1.0 + (rng.random_range(0..1024) as f32 + rng.random_range(0.25..0.49f32)) / 1024.0);
    instance.tensors().iter().map(|tensor| tensor.iter().map(|_| element()).collect()).collect()
}

/// Each element of the output within the bounds of an arithmetic, in row-major order.
fn expected(instance: &Instance, tensors: &[Vec<f64>], arithmetic: Arithmetic) -> Vec<Approx> {
    let Instance { def, shape, .. } = instance;
    let named: Tensors = def.params.iter().map(|param| Name::from(&*param.name)).zip(tensors.iter().cloned()).collect();
    let vars = def.shape_vars.iter().map(|var| Name::from(&*var.name));
    let values: BTreeMap<Name, i64> = vars.zip(shape.iter().copied()).collect();
    let spatial = def.loops.iter().filter(|l| l.role == Role::Spatial);
    let iterations = spatial.fold(vec![Vec::new()], |all, l| {
        let extent = l.extent.evaluate(|name| def.value_at(shape, name)).expect("it is a number");
        all.iter().flat_map(|outer: &Vec<i64>| (0..extent).map(move |at| [&outer[..], &[at]].concat())).collect()
    });
    let written = reference::evaluate_at(&frontend::program(def), &values, &named, arithmetic, &iterations);
    let by_place: BTreeMap<usize, Approx> = written.expect("the case is in bounds").into_iter().collect();
    by_place.into_values().collect()
}

/// What a micro-kernel computes at a shape.
fn computed(library: &Library, unit: &CudaUnit, instance: &Instance, tensors: &[Vec<f64>]) -> Vec<f64> {
    let case = Case { instance: instance.clone(), unit: unit.clone() };
    let mut memory = instance.memory(tensors);
    memory[instance.def.output] = instance.output(tensors);
    library.run(&case, &mut memory);
    instance.elements(instance.def.output, &memory[instance.def.output])
}

/// The shapes of a product, with rows that follow each other and rows that do not.
fn instances(product: &Product) -> Vec<Instance> {
    let def = kernel(product.source);
    let at = |(n, shape): (usize, &&[i64])| [0, 1, 4].map(|gap| (n, shape.to_vec(), gap));
    let all = product.shapes.iter().enumerate().flat_map(at);
    all.map(|(n, shape, gap)| Instance { seed: n as u64, def: def.clone(), shape, gap, coarse: false }).collect()
}

#[test]
fn elements_are_rounded_once_where_they_pass_through_registers_and_results_keep_their_bits() {
    let compiler = HostCompiler::find().expect("a C++ compiler");
    for product in &PRODUCTS {
        for stage in 0..2 {
            let loaded = unit(product, stage, "tf32", r#", "stages": 2, "async": true"#);
            assert!(
                loaded.source.contains("dietcode_round_tf32<4>(") && !loaded.source.contains(", true>(&"),
                "{}",
                loaded.source
            );
            let ahead = unit(product, stage, "tf32", r#", "stages": 2, "async": true, "fragments": 2"#);
            let filled = ["", r#", "stages": 2"#, r#", "persistent": true"#, r#", "stages": 2, "fragments": 2"#]
                .map(|more| unit(product, stage, "tf32", more));
            for unit in &filled {
                assert!(
                    unit.source.contains(", true>(&") && !unit.source.contains("dietcode_round_tf32"),
                    "{}",
                    unit.source
                );
            }
            let library = Library::compile(&compiler, filled.iter().chain([&loaded, &ahead]));
            for instance in instances(product) {
                let tensors = tensors(&instance);
                let bits = |unit: &CudaUnit| -> Vec<u64> {
                    computed(&library, unit, &instance, &tensors).into_iter().map(f64::to_bits).collect()
                };
                let before = bits(&loaded);
                assert!(
                    filled.iter().chain([&ahead]).all(|unit| bits(unit) == before),
                    "{:?} of\n{}",
                    instance.shape,
                    instance.def
                );
            }
        }
    }
}

#[test]
fn three_products_for_one_are_as_good_as_f32_and_one_is_not() {
    let compiler = HostCompiler::find().expect("a C++ compiler");
    let ways = [
        "",
        r#", "stages": 2"#,
        r#", "stages": 3, "async": true, "persistent": true"#,
        r#", "stages": 2, "fragments": 2"#,
        r#", "stages": 3, "async": true, "fragments": 2"#,
        r#", "stage_store": true, "store": 4"#,
    ];
    for product in &PRODUCTS {
        // The sum that a matrix instruction takes steps of is shared by blocks.
        let step = if product.source.contains("fn conv") { "s" } else { "k" };
        let shared = [false, true]
            .map(|atomic| format!(r#", "split": {{"{step}": 2}}, "atomic": {atomic}, "stages": 2, "async": true"#));
        let ways: Vec<&str> = ways.into_iter().chain(shared.iter().map(|way| &**way)).collect();
        let good: Vec<CudaUnit> =
            ways.iter().enumerate().map(|(n, more)| unit(product, n % 2, "tf32x3", more)).collect();
        let rounded = unit(product, 0, "tf32", "");
        assert!(good.iter().all(|unit| unit.arithmetic == Arithmetic::Tf32x3 && !unit.source.contains(", true>(&")));
        let library = Library::compile(&compiler, good.iter().chain([&rounded]));
        for instance in instances(product) {
            let tensors = tensors(&instance);
            let expected = expected(&instance, &tensors, Arithmetic::Tf32x3);
            let told = || format!("{:?}, gap {}, of\n{}", instance.shape, instance.gap, instance.def);
            for unit in &good {
                let found = computed(&library, unit, &instance, &tensors);
                assert_eq!(found.len(), expected.len());
                for (at, (found, expected)) in found.into_iter().zip(&expected).enumerate() {
                    assert!(
                        expected.admits(DType::F32, found),
                        "element {at} is {found}, expected {expected:?}: {}\n{}",
                        told(),
                        unit.source
                    );
                }
            }
            let found = computed(&library, &rounded, &instance, &tensors);
            assert!(
                found.into_iter().zip(&expected).all(|(found, expected)| !expected.admits(DType::F32, found)),
                "{}",
                told()
            );
        }
    }
}

#[test]
fn what_has_two_parts_is_replayed() {
    for product in &PRODUCTS {
        let def = kernel(product.source);
        let program = frontend::program(&def);
        let parameters = format!(
            r#"{{{}, "stage": {{{}}}, "matrix_unit": "tf32x3", "stages": 3, "async": true}}"#,
            product.tiles, product.stages[0]
        );
        let blocked: Blocked = serde_json::from_str(&parameters).expect("parameters");
        let (micro_kernel, _) = blocked.micro_kernel(&program, device()).unwrap_or_else(|e| panic!("{e}"));
        let text = serde_json::to_string(&micro_kernel.trace).expect("a trace is written");
        let primitives = micro_kernel.trace.to_string();
        assert!(text.contains("tf32x3") && primitives.contains("tensorize(m16n8k8, 3 x tf32)"), "{primitives}");
        let read: Trace = serde_json::from_str(&text).expect("it is read");
        assert_eq!(read, micro_kernel.trace);
        let [own, replayed] = [&micro_kernel.trace, &read]
            .map(|trace| units::traced_on_gpu(&def, trace, device()).unwrap_or_else(|e| panic!("{e}")));
        assert!(own == replayed && own.source.contains("dietcode_split_tf32<4>("), "{}", own.source);
    }
}
