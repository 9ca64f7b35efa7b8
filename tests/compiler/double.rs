//! Nests that compute in `f64`, each with vectors of every width on a CPU and by schedules for a GPU, at shapes that no tile divides; and
//! numbers that `f32` does not hold, on their way from the nest's text to the output's bits.

use dietcode_core::codegen::cuda::CudaUnit;
use dietcode_core::frontend;
use dietcode_core::machine::Toolchain;
use dietcode_core::machine::cuda::HostCompiler;
use dietcode_core::sketch::{Blocked, Tiled};
use dietcode_syntax::{KernelDef, Prepared};

use crate::common::instance::{GUARD, Instance};
use crate::common::library::library;
use crate::common::rows::{Row, check_on_cpu, check_on_gpu, device, kernel, with_vectors};
use crate::common::{on_cpu, on_gpu, units};

const ROWS: [Row; 7] = [
    // An epilogue with a function, and a scalar.
    Row {
        source: "#[dynamic_kernel] fn dense(x: &[[f64; K]; M], w: &[[f64; K]; N], b: &[f64; N], alpha: f64, y: &mut [[f64; N]; M]) {
            for i in 0..M { for j in 0..N {
                let mut acc = 0.1;
                for k in 0..K { acc += x[i][k] * w[j][k]; }
                y[i][j] = (alpha * acc).exp() + b[j].max(0.3);
            } }
        }",
        shapes: &[&[1, 1, 1], &[3, 5, 0], &[33, 70, 3], &[65, 37, 131], &[0, 7, 9]],
        on_gpu: &[
            r#"{"thread": {"i": 4, "j": 8}, "inner": {"i": 2, "j": 4}, "reduce": {"k": 8}, "stream": 7, "waves": 2,
                "stage": {"x": {"vector": 2, "pad": 2, "reduce_outside": true}, "w": {"vector": 2, "reduce_outside": true}},
                "stages": 3, "async": true, "store": 2, "raster": {"i": 2, "j": 2}}"#,
            r#"{"thread": {"i": 4, "j": 8}, "inner": {"i": 2, "j": 2}, "reduce": {"k": 4},
                "stage": {"x": {}, "w": {}}, "stages": 2, "persistent": true, "stage_store": true, "store": 2}"#,
        ],
    },
    // Three types that are read and one that is written, each rounded or widened once.
    Row {
        source: "#[dynamic_kernel] fn mixed(x: &[[f32; K]; M], w: &[[f16; K]; N], b: &[[bf16; N]; M], alpha: f64, y: &mut [[f16; N]; M]) {
            for i in 0..M { for j in 0..N {
                let mut acc = 0.0;
                for k in 0..K { acc += f64::from(x[i][k]) * f64::from(w[j][k]); }
                y[i][j] = f16::from_f64(acc * alpha + f64::from(b[i][j]));
            } }
        }",
        shapes: &[&[1, 1, 1], &[17, 33, 29], &[7, 65, 130]],
        on_gpu: &[
            r#"{"thread": {"i": 4, "j": 8}, "inner": {"i": 2, "j": 2}, "reduce": {"k": 8},
                "stage": {"x": {"vector": 4}, "w": {"vector": 8}}, "store": 2}"#,
        ],
    },
    Row {
        source: "#[dynamic_kernel] fn most(x: &[[f64; K]; M], y: &mut [f64; M]) {
            for i in 0..M {
                let mut acc = f64::NEG_INFINITY;
                for k in 0..K { acc = acc.max(x[i][k]); }
                y[i] = acc;
            }
        }",
        shapes: &[&[1, 1], &[5, 0], &[13, 67], &[70, 9]],
        on_gpu: &[r#"{"thread": {"i": 4}, "reduce": {"k": 8}, "stage": {"x": {"vector": 2}}}"#],
    },
    Row {
        source: "#[dynamic_kernel] fn elementwise(x: &[[f64; N]; M], low: f64, y: &mut [[f32; N]; M]) {
            for i in 0..M { for j in 0..N { y[i][j] = (if x[i][j] > low { x[i][j].sqrt() } else { x[i][j].tanh() / 3.0 }) as f32; } }
        }",
        shapes: &[&[1, 1], &[7, 67], &[16, 64]],
        on_gpu: &[],
    },
    Row {
        source: "#[dynamic_kernel]
        fn conv(x: &[[[f64; W + S - 1]; H + R - 1]; C], k: &[[[[f64; S]; R]; C]; O], y: &mut [[[f64; W]; H]; O]) {
            for o in 0..O { for h in 0..H { for w in 0..W {
                let mut acc = 0.0;
                for c in 0..C { for r in 0..R { for s in 0..S { acc += x[c][h + r][w + s] * k[o][c][r][s]; } } }
                y[o][h][w] = acc;
            } } }
        }",
        shapes: &[&[9, 3, 5, 3, 4, 10], &[5, 1, 2, 2, 7, 3], &[17, 2, 3, 1, 1, 9]],
        on_gpu: &[r#"{"thread": {"o": 4, "w": 8}, "inner": {"o": 2, "w": 2}, "reduce": {"c": 2, "r": 1, "s": 3},
            "stage": {"x": {}, "k": {}}, "stages": 2}"#],
    },
    Row {
        source: "#[dynamic_kernel] fn batched(a: &[[[f64; K]; M]; B], b: &[[[f64; N]; K]; B], y: &mut [[[f64; N]; M]; B]) {
            for n in 0..B { for i in 0..M { for j in 0..N {
                let mut acc = 0.0;
                for k in 0..K { acc += a[n][i][k] * b[n][k][j]; }
                y[n][i][j] = acc;
            } } }
        }",
        shapes: &[&[1, 1, 1, 1], &[3, 17, 33, 29], &[2, 5, 64, 7]],
        on_gpu: &[
            r#"{"thread": {"i": 2, "j": 8}, "inner": {"i": 2, "j": 2}, "reduce": {"k": 8}, "split": {"k": 3}, "atomic": true,
                "stage": {"a": {"vector": 2}, "b": {"vector": 2}}}"#,
            r#"{"thread": {"i": 2, "j": 8}, "inner": {"i": 2, "j": 2}, "reduce": {"k": 8}, "split": {"k": 2}, "stage": {"a": {}, "b": {}}}"#,
        ],
    },
    // What is there before is read, and added to.
    Row {
        source: "#[dynamic_kernel] fn added(x: &[[f64; K]; M], y: &mut [f64; M]) {
            for i in 0..M { for k in 0..K { y[i] += x[i][k]; } }
        }",
        shapes: &[&[1, 1], &[5, 0], &[13, 67]],
        on_gpu: &[],
    },
];

#[test]
fn vectors_of_any_width_compute_what_the_nest_says() {
    check_on_cpu(&ROWS);
}

/// Where vectors and panels do not fit each other, lanes are loaded one by one in a loop.
#[test]
fn tiles_of_prepared_operands_consist_of_vectors() {
    for bytes in [16, 32, 64] {
        let (plain, target) = (kernel(ROWS[0].source), with_vectors(bytes));
        let prepared = vec![Prepared::of(&plain, 1).expect("a weight")];
        let def = KernelDef { prepared, ..plain };
        let tiled = Tiled::default_for(&frontend::program(&def), &target);
        let unit = units::tiled(&def, &tiled, &target).unwrap_or_else(|e| panic!("{e}"));
        let loads = unit.source.lines().filter(|line| line.contains("y_tile") && line.contains("k_1"));
        let (vectors, others): (Vec<&str>, Vec<&str>) = loads.partition(|line| line.contains("*(const dietcode_f64x"));
        assert!(others.is_empty() && !vectors.is_empty(), "{bytes} bytes: {others:?}\n{}", unit.source);
    }
}

#[test]
fn a_gpu_computes_what_the_nest_says() {
    check_on_gpu(&ROWS);
}

/// Literals, a declared constant, a helper's literal, an index and a scalar, none of which is a number of `f32`. Each element has one term
/// that is not 0, so that nothing is rounded, and is the same in Rust, in C and in CUDA C++.
#[test]
fn no_number_passes_through_f32() {
    let def = kernel(
        "#[dynamic_kernel(consts(THIRD = 0.3333333333333333))]
        fn held(x: &[f64; M], alpha: f64, y: &mut [[f64; 6]; M]) {
            fn tenth(v: f64) -> f64 { v + 0.1 }
            for i in 0..M { for j in 0..6 {
                let zero = x[i];
                let low = if j as f64 > 2.5 { zero } else { if j as f64 > 1.5 { THIRD } else { if j as f64 > 0.5 { tenth(zero) } else { 1e-300 } } };
                let high = if j as f64 > 4.5 { alpha } else { if j as f64 > 3.5 { (16777217 * i + 16777217) as f64 } else { 9007199254740991.0 } };
                y[i][j] = if j as f64 > 2.5 { high } else { low + zero };
            } }
        }",
    );
    // So many that an index times 16777217 exceeds 32 bits.
    let (rows, alpha) = (200, 0.7);
    let expected: Vec<u64> = (0..rows)
        .flat_map(|i| {
            [1e-300, 0.1, 0.333_333_333_333_333_3, 9_007_199_254_740_991.0, 16_777_217.0 * f64::from(i + 1), alpha]
        })
        .map(f64::to_bits)
        .collect();
    let instance = Instance { seed: 0, def: def.clone(), shape: vec![i64::from(rows)], gap: 0, coarse: false };
    let tensors = vec![vec![0.0; rows as usize], vec![alpha], vec![0.0; expected.len()]];
    let by_oracle: Vec<u64> = instance.expected(&tensors).iter().map(|element| element.value.to_bits()).collect();
    assert_eq!(by_oracle, expected);

    let target = with_vectors(32);
    let tiled = Tiled::default_for(&frontend::program(&def), &target);
    let units = [units::naive(&def), units::tiled(&def, &tiled, &target).expect("it is valid")];
    for unit in units {
        let reference = units::oracle(&def);
        let case = on_cpu::Case { instance: instance.clone(), unit, reference, trace: String::new(), sizes: None };
        let library =
            on_cpu::Library::compile(&Toolchain::find("native").expect("a C compiler"), std::slice::from_ref(&case));
        library.check(&case, &tensors, &instance.expected(&tensors));
        assert_eq!(library.output(&case, &tensors, 2)[GUARD..][..expected.len()], expected, "{}", case.unit.source);
    }

    let blocked = Blocked::default_for(&frontend::program(&def), device("sm_80")).expect("there is one");
    let unit: CudaUnit = units::blocked(&def, &blocked, device("sm_80")).expect("it is valid");
    let library = on_gpu::Library::compile(&HostCompiler::find().expect("a C++ compiler"), [&unit].into_iter());
    let case = on_gpu::Case { instance, unit };
    let mut memory = case.instance.memory(&tensors);
    memory[def.output] = case.instance.output(&tensors);
    library.run(&case, &mut memory);
    let found: Vec<u64> =
        case.instance.elements(def.output, &memory[def.output]).into_iter().map(f64::to_bits).collect();
    assert_eq!(found, expected, "{}", case.unit.source);
}

/// Texts of several units are one where a test or a user compiles them together: each asks the header for what it needs.
#[test]
fn what_a_file_needs_may_be_asked_for_in_any_order() {
    const PARTS: [&str; 4] = ["F64", "HALF", "MATH", "INTEGERS"];
    let asked = |order: &mut dyn Iterator<Item = &&str>| -> String {
        order.map(|part| format!("#define DIETCODE_{part}\n#include \"dietcode.h\"\n")).collect()
    };
    let used =
        "dietcode_f64x4 of_halves(const dietcode_bf16 *x) { return dietcode_exp_f64x4(dietcode_load_bf16_f64x4(x)); }
        dietcode_f64x4 of_bytes(const dietcode_u8 *x) { return dietcode_load_u8_f64x4(x); }";
    let toolchain = Toolchain::find("x86-64-v3").unwrap();
    for text in [asked(&mut PARTS.iter()), asked(&mut PARTS.iter().rev())] {
        library(&toolchain, &(text + used), &["-O0", "-Werror=implicit-function-declaration"]);
    }
}
