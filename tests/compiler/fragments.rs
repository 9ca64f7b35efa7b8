//! Operands that are read into registers a step ahead: results are those of the reference, at shapes that tiles do not divide, of sums that
//! have no step, one, and fewer than there are tiles on their way. Those of tf32 are in `tf32.rs`.

use dietcode_core::sketch::Blocked;

use crate::common::rows::{DENSE_WITH_EPILOGUE, check_unit, device, instances, kernel};
use crate::common::units;

/// Runs micro-kernels at shapes, with rows that follow each other and rows that do not.
fn check(source: &str, parameters: &[&str], shapes: &[&[i64]]) {
    let def = kernel(source);
    for parameters in parameters {
        let blocked: Blocked =
            serde_json::from_str(&format!("{{{parameters}, \"fragments\": 2}}")).expect("parameters");
        let unit = units::blocked(&def, &blocked, device("sm_80")).unwrap_or_else(|e| panic!("{parameters}: {e}"));
        check_unit(&unit, instances(&def, shapes));
    }
}

/// Steps of a tile in even and odd number, a single one among them; copies through registers and asynchronous ones; blocks that share a sum,
/// threads that do, grids that go on.
#[test]
fn a_dense_layer_by_threads() {
    check(
        DENSE_WITH_EPILOGUE,
        &[
            r#""thread": {"i": 4, "j": 8}, "vthread": {"i": 2}, "inner": {"i": 2, "j": 4}, "reduce": {"k": 8}, "stages": 2, "store": 4,
               "stage": {"x": {"vector": 4, "pad": 4, "reduce_outside": true}, "w": {"vector": 4, "reduce_outside": true}}"#,
            r#""thread": {"i": 4, "j": 8}, "inner": {"i": 2, "j": 2}, "reduce": {"k": 3}, "stages": 3, "async": true,
               "stage": {"x": {}, "w": {}}, "persistent": true, "stage_store": true, "store": 2"#,
            r#""thread": {"i": 4, "j": 8}, "inner": {"i": 2}, "reduce": {"k": 1}, "stages": 2, "stage": {"x": {}, "w": {}}, "split": {"k": 3}"#,
            r#""thread": {"i": 4, "j": 8}, "inner": {"j": 2}, "reduce": {"k": 4}, "stages": 4, "async": true, "stream": 5, "waves": 2,
               "stage": {"x": {"vector": 4}, "w": {}}"#,
        ],
        &[&[1, 1, 1], &[3, 5, 0], &[16, 32, 40], &[33, 70, 3], &[40, 65, 37], &[0, 7, 9]],
    );
}

/// One, two, three and four steps of a matrix unit, padded and swizzled.
#[test]
fn products_of_a_batch_by_matrix_units() {
    check(
        "#[dynamic_kernel] fn batched(a: &[[[f16; K]; M]; B], b: &[[[f16; N]; K]; B], y: &mut [[[f16; N]; M]; B]) {
            for n in 0..B { for i in 0..M { for j in 0..N {
                let mut acc = 0.0;
                for k in 0..K { acc += f32::from(a[n][i][k]) * f32::from(b[n][k][j]); }
                y[n][i][j] = f16::from_f32(acc * 0.5);
            } } }
        }",
        &[
            r#""thread": {"i": 2, "j": 1}, "inner": {"i": 1, "j": 2}, "reduce": {"k": 32}, "matrix_unit": "half", "stages": 3, "async": true,
               "stage": {"a": {"vector": 8, "pad": 8}, "b": {"vector": 8, "swizzle": 8}}, "store": 8, "stage_store": true"#,
            r#""thread": {"i": 1, "j": 2}, "inner": {"i": 2, "j": 1}, "reduce": {"k": 16}, "matrix_unit": "half", "stages": 2, "async": true,
               "stage": {"a": {}, "b": {}}, "store": 2, "stream": 4"#,
            r#""thread": {"i": 1, "j": 2}, "inner": {"i": 2, "j": 3}, "reduce": {"k": 48}, "matrix_unit": "half", "stages": 2,
               "stage": {"a": {"vector": 8, "pad": 8}, "b": {"vector": 4}}, "split": {"k": 2}"#,
            r#""thread": {"i": 2, "j": 2}, "inner": {"i": 1, "j": 1}, "reduce": {"k": 64}, "matrix_unit": "half", "stages": 4, "async": true,
               "stage": {"a": {"vector": 8, "swizzle": 8}, "b": {"vector": 8, "pad": 8}}, "persistent": true, "store": 2"#,
        ],
        &[&[1, 5, 9, 7], &[2, 40, 33, 70], &[3, 64, 32, 96], &[2, 33, 20, 0]],
    );
}

/// Several loops that are summed over are one line of steps; a window slides over the tile that a step reads.
#[test]
fn a_convolution() {
    check(
        "#[dynamic_kernel] fn conv(x: &[[[f32; W + S - 1]; H + R - 1]; C], k: &[[[[f32; S]; R]; C]; O], y: &mut [[[f32; W]; H]; O]) {
            for o in 0..O { for h in 0..H { for w in 0..W {
                let mut acc = 0.0;
                for c in 0..C { for r in 0..R { for s in 0..S { acc += x[c][h + r][w + s] * k[o][c][r][s]; } } }
                y[o][h][w] = acc;
            } } }
        }",
        &[
            r#""thread": {"o": 4, "w": 8}, "inner": {"o": 2, "w": 2}, "reduce": {"c": 2, "r": 1, "s": 3}, "stream": 5, "waves": 2,
               "stage": {"x": {}, "k": {}}, "stages": 2"#,
            r#""thread": {"o": 4, "w": 8}, "inner": {"h": 2}, "reduce": {"c": 3, "r": 3, "s": 3}, "stage": {"x": {}, "k": {}}, "stages": 3, "async": true"#,
        ],
        &[&[9, 3, 5, 3, 4, 10], &[5, 1, 2, 2, 7, 3], &[17, 2, 3, 1, 0, 9]],
    );
}

/// An update that no padding makes change nothing keeps its predicate, under which operands are read ahead too.
#[test]
fn extremes() {
    check(
        "#[dynamic_kernel] fn f(x: &[[f32; K]; M], w: &[[f32; K]; N], b: &[f32; M], y: &mut [[f32; N]; M]) {
            for i in 0..M { for j in 0..N {
                let mut acc = b[i];
                for k in 0..K { let v = x[i][k] + w[j][k]; acc = acc.max(v); }
                y[i][j] = acc;
            } }
        }",
        &[
            r#""thread": {"i": 4, "j": 8}, "inner": {"i": 2}, "reduce": {"k": 4}, "stage": {"x": {"vector": 4}, "w": {}}, "stages": 2"#,
        ],
        &[&[3, 0, 5], &[5, 23, 9], &[40, 64, 30]],
    );
}
