//! Nests over integers, each with vectors of every width on a CPU and by schedules for a GPU, at shapes that no tile divides: every result is
//! compared bit by bit, in whatever order its terms were added.

use dietcode_core::frontend;
use dietcode_core::ir::Scope;
use dietcode_core::lower::lower;
use dietcode_core::machine::Toolchain;
use dietcode_core::sketch::Tiled;
use dietcode_syntax::DType;

use crate::common::instance::{GUARD, Instance};
use crate::common::rows::{Row, check_on_cpu, check_on_gpu, kernel, with_vectors};
use crate::common::{on_cpu, units};

const DENSE: &str = "#[dynamic_kernel] fn dense(x: &[[u8; K]; M], w: &[[i8; K]; N], y: &mut [[i32; N]; M]) {
    for i in 0..M { for j in 0..N {
        let mut acc = 0;
        for k in 0..K { acc += i32::from(x[i][k]) * i32::from(w[j][k]); }
        y[i][j] = acc;
    } }
}";

/// A scale for each column, a zero point and a bias of integers.
const DEQUANTIZED: &str = "#[dynamic_kernel]
fn dequantized(x: &[[u8; K]; M], w: &[[i8; K]; N], sums: &[i32; N], zero: i32, scales: &[f32; N], alpha: f32, y: &mut [[f32; N]; M]) {
    for i in 0..M { for j in 0..N {
        let mut acc = -zero * sums[j];
        for k in 0..K { acc += i32::from(x[i][k]) * i32::from(w[j][k]); }
        y[i][j] = (acc as f32 * (alpha * scales[j])).max(-1e9);
    } }
}";

const ROWS: [Row; 11] = [
    Row {
        source: DENSE,
        shapes: &[&[1, 1, 1], &[3, 0, 5], &[33, 3, 70], &[65, 131, 37], &[0, 7, 9], &[7, 64, 64]],
        on_gpu: &[
            r#"{"thread": {"i": 4, "j": 8}, "inner": {"i": 2, "j": 4}, "reduce": {"k": 16}, "stream": 7, "waves": 2,
                "stage": {"x": {"vector": 4, "pad": 4, "reduce_outside": true}, "w": {"vector": 1, "reduce_outside": true}},
                "stages": 3, "async": true, "store": 2, "raster": {"i": 2, "j": 2}}"#,
            r#"{"thread": {"i": 4, "j": 8}, "inner": {"i": 2, "j": 2}, "reduce": {"k": 16},
                "stage": {"x": {"vector": 16}, "w": {"vector": 2}}, "stages": 2, "persistent": true, "stage_store": true, "store": 4}"#,
            r#"{"thread": {"i": 2, "j": 8}, "inner": {"i": 2, "j": 2}, "reduce": {"k": 8}, "split": {"k": 3}, "atomic": true,
                "stage": {"x": {}, "w": {}}}"#,
            r#"{"thread": {"i": 2, "j": 8}, "inner": {"i": 2, "j": 2}, "reduce": {"k": 8}, "split": {"k": 2}, "stage": {"x": {}, "w": {}}}"#,
        ],
    },
    Row {
        source: DEQUANTIZED,
        shapes: &[&[1, 1, 1], &[3, 0, 5], &[33, 3, 70], &[17, 131, 37]],
        on_gpu: &[
            r#"{"thread": {"i": 4, "j": 8}, "inner": {"i": 2, "j": 2}, "reduce": {"k": 8},
                "stage": {"x": {"vector": 4}, "w": {"vector": 8}}, "store": 2}"#,
            r#"{"thread": {"i": 4, "j": 8}, "inner": {"i": 2, "j": 2}, "reduce": {"k": 8}, "split": {"k": 2}, "stage": {"x": {}, "w": {}}}"#,
        ],
    },
    // Both signed, cast as Rust may, over a weight that lies by rows of the sum.
    Row {
        source: "#[dynamic_kernel] fn both_signed(x: &[[i8; K]; M], w: &[[i8; N]; K], y: &mut [[i32; N]; M]) {
            for i in 0..M { for j in 0..N { for k in 0..K { y[i][j] += x[i][k] as i32 * w[k][j] as i32; } } }
        }",
        shapes: &[&[1, 1, 1], &[17, 29, 33], &[7, 130, 65]],
        on_gpu: &[],
    },
    // Floats times weights of 8 bits, which are summed as floats.
    Row {
        source: "#[dynamic_kernel] fn weights(x: &[[f32; K]; M], w: &[[i8; K]; N], scale: &[f32; N], y: &mut [[f16; N]; M]) {
            for i in 0..M { for j in 0..N {
                let mut acc = 0.0;
                for k in 0..K { acc += x[i][k] * f32::from(w[j][k]); }
                y[i][j] = f16::from_f32(acc * scale[j] * 0.01);
            } }
        }",
        shapes: &[&[1, 1, 1], &[17, 29, 33], &[7, 130, 65]],
        on_gpu: &[],
    },
    Row {
        source: "#[dynamic_kernel] fn most(x: &[[i8; K]; M], b: &[i32; K], y: &mut [i32; M]) {
            for i in 0..M {
                let mut acc = i32::MIN;
                for k in 0..K { acc = acc.max(i32::from(x[i][k]) * 3 - b[k]); }
                y[i] = acc.min(1000000000);
            }
        }",
        shapes: &[&[1, 1], &[5, 0], &[13, 67], &[70, 9]],
        on_gpu: &[],
    },
    // What a copy of 8 bits cannot hold outside of its tensor.
    Row {
        source: "#[dynamic_kernel] fn least(x: &[[u8; K]; M], y: &mut [i32; M]) {
            for i in 0..M {
                let mut acc = i32::MAX;
                for k in 0..K { acc = if i32::from(x[i][k]) < acc { i32::from(x[i][k]) } else { acc }; }
                y[i] = acc;
            }
        }",
        shapes: &[&[1, 1], &[5, 0], &[13, 67], &[70, 9]],
        on_gpu: &[],
    },
    Row {
        source: "#[dynamic_kernel]
        fn conv(x: &[[[u8; W + S - 1]; H + R - 1]; C], k: &[[[[i8; S]; R]; C]; O], y: &mut [[[i32; W]; H]; O]) {
            for o in 0..O { for h in 0..H { for w in 0..W {
                let mut acc = 0;
                for c in 0..C { for r in 0..R { for s in 0..S { acc += i32::from(x[c][h + r][w + s]) * i32::from(k[o][c][r][s]); } } }
                y[o][h][w] = acc;
            } } }
        }",
        shapes: &[&[10, 3, 4, 3, 5, 9], &[3, 1, 7, 2, 2, 5], &[9, 1, 1, 3, 2, 17]],
        on_gpu: &[],
    },
    Row {
        source: "#[dynamic_kernel] fn batched(a: &[[[u8; K]; M]; B], b: &[[[i8; N]; K]; B], y: &mut [[[f64; N]; M]; B]) {
            for n in 0..B { for i in 0..M { for j in 0..N {
                let mut acc = 0.0;
                for k in 0..K { acc += f64::from(a[n][i][k]) * f64::from(b[n][k][j]); }
                y[n][i][j] = acc;
            } } }
        }",
        shapes: &[&[1, 1, 1, 1], &[29, 17, 3, 33]],
        on_gpu: &[],
    },
    // Sums in integers of which lanes have shares, in a nest that computes in floats.
    Row {
        source: "#[dynamic_kernel] fn rows(x: &[[i32; K]; M], scale: f32, y: &mut [f32; M]) {
            for i in 0..M {
                let mut acc = 0;
                for k in 0..K { acc += x[i][k]; }
                y[i] = acc as f32 * scale;
            }
        }",
        shapes: &[&[1, 1], &[5, 0], &[13, 67], &[70, 9]],
        on_gpu: &[],
    },
    Row {
        source: "#[dynamic_kernel] fn scaled(x: &[[i32; K]; M], w: &[[i32; K]; N], scale: &[f32; N], y: &mut [[f32; N]; M]) {
            for i in 0..M { for j in 0..N {
                let mut acc = 0;
                for k in 0..K { acc += x[i][k] * w[j][k]; }
                y[i][j] = acc as f32 * scale[j];
            } }
        }",
        shapes: &[&[1, 1, 1], &[2, 70, 5], &[5, 131, 3]],
        on_gpu: &[],
    },
    Row {
        source: "#[dynamic_kernel] fn elementwise(x: &[[i32; N]; M], z: &[[u8; N]; M], low: i32, y: &mut [[i32; N]; M]) {
            for i in 0..M { for j in 0..N { y[i][j] = (x[i][j] * x[i][j] - i32::from(z[i][j]) * (j as i32 - 7)).max(low) + y[i][j]; } }
        }",
        shapes: &[&[1, 1], &[67, 7], &[64, 16]],
        on_gpu: &[],
    },
];

#[test]
fn vectors_of_any_width_compute_what_the_nest_says() {
    check_on_cpu(&ROWS);
}

#[test]
fn a_gpu_computes_what_the_nest_says() {
    check_on_gpu(&ROWS);
}

/// Sums, products and differences that leave 32 bits are those modulo 2³², in every order of the terms; the oracles say what Rust's
/// `wrapping_add` and `wrapping_mul` do.
#[test]
fn what_leaves_32_bits_wraps() {
    let def = kernel(
        "#[dynamic_kernel] fn wraps(x: &[[i32; K]; M], w: &[[i32; K]; N], y: &mut [[i32; N]; M]) {
            for i in 0..M { for j in 0..N {
                let mut acc = 5;
                for k in 0..K { acc += x[i][k] * w[j][k]; }
                y[i][j] = -acc * acc + -2147483648;
            } }
        }",
    );
    let (m, n, k) = (5usize, 19usize, 67usize);
    let shape = def.shape_vars.iter().map(|var| match &*var.name {
        "M" => m as i64,
        "N" => n as i64,
        _ => k as i64,
    });
    let instance = Instance { seed: 3, def: def.clone(), shape: shape.collect(), gap: 0, coarse: false };
    let tensors = instance.tensors();
    let (x, w): (Vec<i32>, Vec<i32>) =
        (tensors[0].iter().map(|v| *v as i32).collect(), tensors[1].iter().map(|v| *v as i32).collect());
    let mut expected = Vec::new();
    for i in 0..m {
        for j in 0..n {
            let terms = (0..k).map(|at| x[i * k + at].wrapping_mul(w[j * k + at]));
            let acc = terms.fold(5i32, i32::wrapping_add);
            expected.push(f64::from(acc.wrapping_neg().wrapping_mul(acc).wrapping_add(i32::MIN)).to_bits());
        }
    }
    let by_oracle: Vec<u64> = instance.expected(&tensors).iter().map(|element| element.value.to_bits()).collect();
    assert_eq!(by_oracle, expected);
    let target = with_vectors(32);
    let tiled = Tiled::default_for(&frontend::program(&def), &target);
    for unit in [units::naive(&def), units::tiled(&def, &tiled, &target).expect("it is valid")] {
        let reference = units::oracle(&def);
        let case = on_cpu::Case { instance: instance.clone(), unit, reference, trace: String::new(), sizes: None };
        // As a build compiles it: at a level at which a compiler may conclude that nothing overflows.
        let library =
            on_cpu::Library::as_built(&Toolchain::find("native").expect("a C compiler"), std::slice::from_ref(&case));
        library.check(&case, &tensors, &instance.expected(&tensors));
        assert_eq!(library.output(&case, &tensors, 2)[GUARD..][..expected.len()], expected, "{}", case.unit.source);
    }
}

/// Tiles and panels hold what is summed; what is stored is computed as its scalars are.
#[test]
fn sums_are_integers_and_what_is_stored_is_a_float() {
    let def = kernel(DEQUANTIZED);
    let program = frontend::program(&def);
    assert_eq!((program.sums_in(), program.computes_in()), (DType::I32, DType::F32));
    let target = with_vectors(32);
    let tiled = Tiled::default_for(&program, &target);
    let schedule = tiled.schedule(&program, &target).expect("it is valid");
    let mut found = Vec::new();
    lower(&schedule).expect("it is complete").body.visit(&mut |stmt| {
        if let dietcode_core::ir::Stmt::Allocate { buffer, .. } = stmt {
            found.push((buffer.scope, buffer.dtype));
        }
    });
    assert!(found.contains(&(Scope::Register, DType::I32)), "{found:?}");
    assert!(found.iter().all(|(_, dtype)| dtype.is_integer()), "{found:?}");
    let text = units::tiled(&def, &tiled, &target).expect("it is valid").source;
    assert!(text.contains("dietcode_i32_as_f32x"), "{text}");
}
