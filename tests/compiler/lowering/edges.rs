//! Register tiles at edges: padded, partitioned, or masked.

use dietcode_core::frontend;
use dietcode_core::lower::lower;
use dietcode_core::schedule::{Schedule, Tail};
use dietcode_core::sketch::Tiled;
use serde_json::json;

use super::{compute_is_guarded, expect, kernel};
use crate::common::avx512::target;

/// What a register tile does at an edge: all of it is computed in panels with padding, of which the part inside is stored, of vectors by
/// masks; or, where a loop is partitioned, the smallest tile that covers what is left.
#[test]
fn edges_are_padded_or_partitioned_and_vectors_masked() {
    let def = kernel(
        "#[dynamic_kernel] fn outer(x: &[f32; M], w: &[[f32; N]; 64], y: &mut [[f32; N]; M]) {
             for i in 0..M { for j in 0..N {
                 let mut acc = 0.0;
                 for k in 0..64 { acc += x[i] * w[k][j]; }
                 y[i][j] = acc;
             } }
         }",
    );
    let mut prints = String::new();
    for partition in [&[][..], &["i", "j"]] {
        let tiled = json!({"vector": "j", "register_tile": {"i": 2, "j": 32}, "pack": ["w"], "partition": partition});
        let tiled: Tiled = serde_json::from_value(tiled).expect("parameters");
        let nest = lower(&tiled.schedule(&frontend::program(&def), &target()).unwrap()).unwrap().body;
        assert!(!compute_is_guarded(&nest, false), "{nest}");
        prints += &format!("partition of {partition:?}\n\n{nest}\n");
    }
    expect("edges.txt", &prints);
}

/// Code whose sizes are parameters is only screened: at an edge its tile is stored by way of a copy, in which rows are counted, and whether all of
/// the tile lies inside is asked once. What a build makes has a predicate for each row.
#[test]
fn rows_of_screened_tiles_are_counted_at_edges() {
    let def = kernel(
        "#[dynamic_kernel] fn product(x: &[[f32; K]; M], w: &[[f32; N]; K], y: &mut [[f32; N]; M]) {
             for i in 0..M { for j in 0..N { for k in 0..K { y[i][j] += x[i][k] * w[k][j]; } } }
         }",
    );
    let block = json!({"i": 2, "j": 32, "k": 64});
    let tiled = json!({"vector": "j", "register_tile": {"i": 2, "j": 32}, "block_tile": block, "pack": ["w"]});
    let tiled: Tiled = serde_json::from_value(tiled).expect("parameters");
    let mut schedule = tiled.schedule(&frontend::program(&def), &target()).unwrap();
    let built = lower(&schedule).unwrap().body.to_string();
    assert!(!built.contains("_rows"), "{built}");
    schedule.parameter("size", 1).unwrap();
    let screened = lower(&schedule).unwrap().body.to_string();
    assert!(screened.contains("y_tile_rows"), "{screened}");
    expect("screened_edges.txt", &format!("{screened}\n"));
}

/// Lanes that share a sum read nothing behind its end, and rows outside are the last row again: nothing is copied, and the steps before
/// the end have no masks.
#[test]
fn lanes_of_a_sum_are_masked_where_they_stand() {
    let def = kernel(
        "#[dynamic_kernel] fn rows(x: &[[f32; K]; M], w: &[f32; K], y: &mut [f32; M]) {
             for i in 0..M { let mut acc = 0.0; for k in 0..K { acc += x[i][k] * w[k]; } y[i] = acc; }
         }",
    );
    let tiled = json!({"vector": "k", "register_tile": {"i": 2, "k": 16}});
    let tiled: Tiled = serde_json::from_value(tiled).expect("parameters");
    let nest = lower(&tiled.schedule(&frontend::program(&def), &target()).unwrap()).unwrap().body;
    expect("lanes_at_edges.txt", &format!("{nest}\n"));
}

#[test]
fn what_cannot_be_partitioned_is_told() {
    let program = frontend::program(&kernel(
        "#[dynamic_kernel] fn rows(x: &[[f32; K]; 60], y: &mut [f32; 60]) {
             for i in 0..60 { let mut acc = 0.0; for k in 0..K { acc += x[i][k]; } y[i] = acc; }
         }",
    ));
    let tiled = || {
        let mut schedule = Schedule::new(&program, &program.blocks[0]);
        schedule.split("i", 8, Tail::Pad, ["i_0", "i_1"]).unwrap();
        schedule.split("k", 4, Tail::Pad, ["k_0", "k_1"]).unwrap();
        schedule.reorder(&["i_0", "k_0", "k_1", "i_1"]).unwrap();
        schedule.unroll("k_1").unwrap();
        schedule
    };
    let refused = |schedule: &mut Schedule, name: &str, halvings| {
        schedule.partition(name, halvings).expect_err("it is refused").to_string()
    };
    let not = "it is neither an unrolled spatial loop of a CPU nor a spatial one over the blocks of a GPU";
    assert!(refused(&mut tiled(), "i_1", 3).contains(&format!("partition of `i_1`: {not}")));
    assert!(refused(&mut tiled(), "k_1", 1).contains(&format!("partition of `k_1`: {not}")));
    assert!(refused(&mut tiled(), "q", 1).contains("`q`"));
    let mut unrolled = tiled();
    unrolled.unroll("i_1").unwrap();
    for halvings in [-1, 9, i64::MAX] {
        let error = refused(&mut unrolled, "i_1", halvings);
        assert!(error.contains(&format!("partition of `i_1` by {halvings} halvings; they are from 0 to 8")), "{error}");
    }
    // The last one holds.
    unrolled.partition("i_1", 8).unwrap();
    unrolled.partition("i_1", 0).unwrap();
    unrolled.bind_thread("i_0").unwrap();
    assert!(refused(&mut unrolled, "i_1", 3).contains(not));
}
