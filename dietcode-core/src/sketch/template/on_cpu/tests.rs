//! What configurations become on nests, and what they say where they serve none.

use super::super::{Family, Local, Naive, NonLocal, NonLocalInterleaved, Vectorization};
use crate::machine::CpuTarget;

const PRODUCT: &str = "#[dynamic_kernel] fn product(a: &[[f32; K]; M], b: &[[f32; K]; N], c: &mut [[f32; N]; M]) {
    for i in 0..M { for j in 0..N { for k in 0..K { c[i][j] += a[i][k] * b[j][k]; } } } }";

fn cpu() -> CpuTarget {
    CpuTarget {
        model: "any".into(),
        march: "x86-64-v3".into(),
        compiler: "any".into(),
        features: 0,
        vector_bytes: 32,
        vector_registers: 16,
        l1_bytes: 32 << 10,
        l2_bytes: 1 << 20,
        l3_bytes: 32 << 20,
        cores: 2,
    }
}

fn on_cpu(family: &Family, nest: &str) -> Result<String, String> {
    let def = crate::testing::kernel(nest);
    family.on_cpu(&crate::frontend::program(&def), &cpu()).map(|tiled| tiled.name())
}

fn local() -> Local {
    Local {
        cache_line_size: 256,
        item_rows: 4,
        item_cols: 8,
        wg_rows: 8,
        wg_cols: 16,
        tile_rows: 2,
        tile_cols: 4,
        vectorization_size: 16,
        double_buffer: true,
        no_bank_conflict_a: true,
        no_bank_conflict_b: false,
    }
}

fn non_local(vectorization: Vectorization) -> Family {
    Family::NonLocal(NonLocal {
        item_rows: 8,
        item_cols: 8,
        wg_rows: 4,
        wg_cols: 4,
        vectorization_size: 8,
        vectorization,
    })
}

#[test]
fn every_parameter_is_in_the_schedule() {
    let expected = "tiled_vj_r_i4_j8_b_i32_j128_k64_p_a_b_lanes8_pad_a16_raster_i2_j4_double";
    assert_eq!(on_cpu(&Family::Local(local()), PRODUCT).as_deref(), Ok(expected));
    let partial = "tiled_vj_r_i8_j8_b_i32_j32_k512_lanes8";
    assert_eq!(on_cpu(&non_local(Vectorization::Partial), PRODUCT).as_deref(), Ok(partial));
    let full = "tiled_vj_r_i8_j8_k8_b_i32_j32_k512_lanes8_load_b";
    assert_eq!(on_cpu(&non_local(Vectorization::Full), PRODUCT).as_deref(), Ok(full));
    assert_eq!(on_cpu(&Family::Naive(Naive { cache_line_size: 64 }), PRODUCT).as_deref(), Ok("tiled_b_j16"));
}

#[test]
fn roles_follow_from_what_loops_move() {
    let transposed = "#[dynamic_kernel] fn product(a: &[[f32; K]; M], b: &[[f32; K]; N], c: &mut [[f32; M]; N]) {
        for y in 0..N { for x in 0..M { for z in 0..K { c[y][x] += a[x][z] * b[y][z]; } } } }";
    let one = Local { tile_rows: 1, tile_cols: 1, double_buffer: false, no_bank_conflict_a: false, ..local() };
    let expected = "tiled_vx_r_x4_y8_b_x32_y128_z64_p_a_b_lanes4";
    assert_eq!(on_cpu(&Family::Local(one), transposed).as_deref(), Ok(expected));
}

const INTERLEAVED: &str = "#[dynamic_kernel]
    fn product(a: &[[[f32; B]; K]; M], b: &[[[f32; B]; N]; K], c: &mut [[[f32; B]; N]; M]) {
        for i in 0..M { for j in 0..N { for s in 0..B { for k in 0..K { c[i][j][s] += a[i][k][s] * b[k][j][s]; } } } } }";

#[test]
fn vectors_of_columns_become_vectors_of_batches() {
    let one = Local { tile_rows: 1, tile_cols: 1, vectorization_size: 4, ..local() };
    let expected = "tiled_vs_r_i4_j2_s4_b_i8_j32_k64_s4_p_a_b_lanes4_pad_a16_double";
    assert_eq!(on_cpu(&Family::Local(one), INTERLEAVED).as_deref(), Ok(expected));
    let partial = "tiled_vs_r_i8_j1_s8_b_i8_j4_k512_s8_lanes8";
    assert_eq!(on_cpu(&non_local(Vectorization::Partial), INTERLEAVED).as_deref(), Ok(partial));
}

#[test]
fn interleaved_batches_are_vectors() {
    let family = Family::NonLocalInterleaved(NonLocalInterleaved {
        cache_line_size: 64,
        item_rows: 2,
        item_cols: 2,
        item_batches: 8,
        wg_rows: 4,
        wg_cols: 4,
        wg_batches: 2,
        vectorization_size: 2,
    });
    assert_eq!(on_cpu(&family, INTERLEAVED).as_deref(), Ok("tiled_vs_r_i2_j2_s8_b_i8_j8_k16_s16_lanes2"));
    assert_eq!(on_cpu(&family, PRODUCT).unwrap_err(), "no batches: no loop moves both operands");
}

#[test]
fn what_does_not_serve_says_why() {
    let sum = "#[dynamic_kernel] fn sum(a: &[[f32; K]; M], c: &mut [f32; M]) {
        for i in 0..M { for k in 0..K { c[i] += a[i][k]; } } }";
    let vector = "#[dynamic_kernel] fn vector(a: &[[f32; K]; M], b: &[f32; K], c: &mut [f32; M]) {
        for i in 0..M { for k in 0..K { c[i] += a[i][k] * b[k]; } } }";
    let refused = |local: Local, nest| on_cpu(&Family::Local(local), nest).unwrap_err();
    assert_eq!(refused(local(), sum), "`sum` does not sum products of two tensors");
    assert_eq!(refused(local(), vector), "no columns: no loop moves `b` and not `a`");
    let odd = refused(Local { wg_rows: 4, ..local() }, PRODUCT);
    assert!(odd.starts_with("wg_rows_divided: not wg_rows % item_cols == 0: "), "{odd}");
    let large = refused(Local { cache_line_size: 4096, wg_rows: 64, wg_cols: 64, ..local() }, PRODUCT);
    assert!(large.contains("second-level cache: it takes") && large.contains("allows 1048576"), "{large}");
    let none = refused(Local { cache_line_size: 2, ..local() }, PRODUCT);
    assert!(none.starts_with("cache_line_of_elements: "), "{none}");
    let hostile = refused(Local { item_rows: i64::MAX, wg_rows: -1, ..local() }, PRODUCT);
    assert!(hostile.contains("not "), "{hostile}");
}
