//! What configurations become on nests, and what they say where they serve none.

use super::super::{Blocked, Family, Local, Naive, NonLocal, Tiled, Vectorization};
use crate::machine::cuda::DeviceLimits;

const PRODUCT: &str = "#[dynamic_kernel] fn product(a: &[[f32; K]; M], b: &[[f32; N]; K], c: &mut [[f32; N]; M]) {
    for i in 0..M { for j in 0..N { for k in 0..K { c[i][j] += a[i][k] * b[k][j]; } } } }";

fn on_gpu(family: &Family, nest: &str) -> Result<Blocked, String> {
    let def = crate::testing::kernel(nest);
    family.on_gpu(
        &crate::frontend::program(&def),
        DeviceLimits::of("sm_80".parse().expect("a capability")).expect("it is known"),
    )
}

fn name(family: &Family, nest: &str) -> String {
    on_gpu(family, nest).unwrap_or_else(|why| panic!("{why}")).name()
}

fn local() -> Local {
    Local {
        cache_line_size: 64,
        item_rows: 8,
        item_cols: 4,
        wg_rows: 8,
        wg_cols: 16,
        tile_rows: 1,
        tile_cols: 1,
        vectorization_size: 4,
        double_buffer: true,
        no_bank_conflict_a: true,
        no_bank_conflict_b: true,
    }
}

fn non_local(item: i64, vectorization_size: i64, vectorization: Vectorization) -> Family {
    let [item_rows, item_cols] = [item, item];
    Family::NonLocal(NonLocal { item_rows, item_cols, wg_rows: 8, wg_cols: 8, vectorization_size, vectorization })
}

/// Rows of `a`'s tile are written element by element, those of `b`'s by vectors.
#[test]
fn every_parameter_is_in_the_schedule() {
    let expected = "blocked_t_i8_j16_r_i8_j4_k_k16_s_a4p1r_b4p4r_stages2_store4";
    assert_eq!(name(&Family::Local(local()), PRODUCT), expected);
    let plain =
        Local { double_buffer: false, no_bank_conflict_a: false, tile_rows: 4, vectorization_size: 1, ..local() };
    let expected = "blocked_t_i8_j16_r_i8_j4_k_k16_s_a1r_b1p1r_raster_i4_j1";
    assert_eq!(name(&Family::Local(plain), PRODUCT), expected);
    let partial = name(&non_local(8, 4, Vectorization::Partial), PRODUCT);
    assert_eq!(partial, "blocked_t_i8_j8_r_i8_j8_k_k1_load_a1_b4");
    let full = name(&non_local(4, 4, Vectorization::Full), PRODUCT);
    assert_eq!(full, "blocked_t_i8_j8_r_i4_j4_k_k4_store4_load_a4_b4");
    assert_eq!(name(&Family::Naive(Naive { cache_line_size: 128 }), PRODUCT), "blocked_t_j32");
}

#[test]
fn what_does_not_fit_says_so_with_the_numbers() {
    let refused = |family: &Family| on_gpu(family, PRODUCT).unwrap_err();
    let registers = refused(&non_local(16, 16, Vectorization::Full));
    assert!(registers.ends_with("registers of a thread: it takes 792 registers, the target allows 255"), "{registers}");
    let shared = refused(&Family::Local(Local { cache_line_size: 512, wg_rows: 32, wg_cols: 32, ..local() }));
    assert!(shared.contains("shared memory: it takes") && shared.contains("allows 166912"), "{shared}");
    let threads = refused(&Family::Local(Local { wg_rows: 64, wg_cols: 32, ..local() }));
    assert_eq!(threads, "schedule of `product`: bind: a block has up to 1024 threads, `thread` has 2048");
    assert_eq!(refused(&Family::Naive(Naive { cache_line_size: 4 })), "thread: a block has a single thread");
    assert_eq!(refused(&Family::Tiled(Tiled::default())), "`tiled` is a schedule for a CPU");
}

/// A block of one column: the rows of its copy lie along the sum, and are read by vectors.
#[test]
fn a_block_of_one_column_has_a_padded_copy() {
    let product = PRODUCT.replace("b: &[[f32; N]; K]", "b: &[[f32; K]; N]").replace("b[k][j]", "b[j][k]");
    let one = Local { item_rows: 1, item_cols: 1, wg_rows: 16, wg_cols: 1, ..local() };
    let expected = "blocked_t_i16_j1_r_i1_j1_k_k16_s_a4p1r_b4p4r_stages2";
    assert_eq!(name(&Family::Local(one), &product), expected);
}

/// A tensor times itself is read in one way, although it lies contiguous along the sum once, and once not.
#[test]
fn a_tensor_that_is_both_operands_is_read_by_vectors_that_suit_both() {
    const SQUARE: &str = "#[dynamic_kernel] fn square(x: &[[f32; N]; N], c: &mut [[f32; N]; N]) {
        for i in 0..N { for j in 0..N { for k in 0..N { c[i][j] += x[i][k] * x[k][j]; } } } }";
    let partial = name(&non_local(4, 4, Vectorization::Partial), SQUARE);
    assert_eq!(partial, "blocked_t_i8_j8_r_i4_j4_k_k1_load_x1");
    let transposed = SQUARE.replace("x[i][k] * x[k][j]", "x[k][i] * x[j][k]");
    let padded = Local { no_bank_conflict_a: false, ..local() };
    let expected = "blocked_t_i8_j16_r_i8_j4_k_k16_s_x4p4r_stages2_store4";
    assert_eq!(name(&Family::Local(padded), &transposed), expected);
}
