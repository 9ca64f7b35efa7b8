//! What iterations ask for since later ones read it.

use dietcode_core::frontend;
use dietcode_core::lower::{lower, structure_hash};
use dietcode_core::schedule::{Schedule, Tail};
use dietcode_core::sketch::Tiled;
use serde_json::json;

use super::{expect, kernel};
use crate::common::avx512::target;
use crate::common::units;

const DENSE: &str = "#[dynamic_kernel] fn dense(x: &[[f32; K]; M], w: &[[f32; N]; K], y: &mut [[f32; N]; M]) {
         for i in 0..M { for j in 0..N { let mut acc = 0.0; for k in 0..K { acc += x[i][k] * w[k][j]; } y[i][j] = acc; } }
     }";

/// A tile asks for the rows of the next one, once, outside of the steps of the sum; of a tensor that other columns have read already, and
/// where there is no next tile, nothing.
#[test]
fn a_tile_asks_for_what_the_next_one_reads() {
    let def = kernel(DENSE);
    let tiled = |prefetch: &[&str]| -> Tiled {
        let tiled = json!({"vector": "j", "register_tile": {"i": 2, "j": 16}, "block_tile": {"i": 64, "k": 384}, "pack": ["w"],
            "prefetch": prefetch});
        serde_json::from_value(tiled).expect("parameters")
    };
    let [with, without] = [&["x"][..], &[]]
        .map(|prefetch| lower(&tiled(prefetch).schedule(&frontend::program(&def), &target()).unwrap()).unwrap());
    expect("prefetch.txt", &format!("{}\n", with.body));
    assert_ne!(structure_hash(&[with]), structure_hash(&[without]));
    let text = units::tiled(&def, &tiled(&["x"]), &target()).unwrap().source;
    assert_eq!(text.matches("dietcode_prefetch(x, sizeof *x, ").count(), 1, "{text}");
    let refused = tiled(&["w"]).schedule(&frontend::program(&def), &target()).expect_err("no tile of a block moves w");
    assert!(
        refused.to_string().contains("prefetch: `w`: no loop over the register tiles of a block moves it"),
        "{refused}"
    );
}

const BATCH: &str =
    "#[dynamic_kernel] fn batch(x: &[[[[f32; K]; M]; H]; B], w: &[[[f32; N]; K]; H], y: &mut [[[[f32; N]; M]; H]; B]) {
         for b in 0..B { for h in 0..H { for i in 0..M { for j in 0..N {
             let mut acc = 0.0; for k in 0..K { acc += x[b][h][i][k] * w[h][k][j]; } y[b][h][i][j] = acc;
         } } } }
     }";

/// Tiles share what those of the next head read and write; a tensor without slices of heads is asked for by none.
#[test]
fn tiles_ask_for_their_shares_of_the_next_slices() {
    let def = kernel(BATCH);
    let tiled = |ahead: Option<&str>| -> Tiled {
        let tiled = json!({"vector": "j", "register_tile": {"i": 2, "j": 16}, "block_tile": {"i": 64, "k": 128}, "pack": ["w"],
            "ahead": ahead});
        serde_json::from_value(tiled).expect("parameters")
    };
    let lowered = |ahead| lower(&tiled(ahead).schedule(&frontend::program(&def), &target()).unwrap()).unwrap();
    expect("prefetch_slices.txt", &format!("{}\n", lowered(Some("h")).body));
    let hashes = [None, Some("b"), Some("h")].map(|ahead| structure_hash(&[lowered(ahead)]));
    assert!(hashes[0] != hashes[1] && hashes[1] != hashes[2] && hashes[0] != hashes[2]);
    let asked = |ahead, tensor: &str| {
        let text = units::tiled(&def, &tiled(Some(ahead)), &target()).unwrap().source;
        text.matches(&format!("dietcode_prefetch({tensor}, ")).count()
    };
    assert_eq!(["x", "w", "y"].map(|tensor| asked("h", tensor)), [1, 1, 1]);
    assert_eq!(["x", "w", "y"].map(|tensor| asked("b", tensor)), [1, 0, 1]);
    for axis in ["i", "j"] {
        let refused =
            tiled(Some(axis)).schedule(&frontend::program(&def), &target()).expect_err("it has a tile").to_string();
        assert!(
            refused.contains(&format!(
                "ahead: `{axis}`: there is no sum whose tensors have a slice for each of its iterations"
            )),
            "{refused}"
        );
    }
}

#[test]
fn what_has_no_slices_is_told() {
    let program = frontend::program(&kernel(BATCH));
    let mut schedule = Schedule::new(&program, &program.blocks[0]);
    schedule.fuse("b", "h", "block").unwrap();
    schedule.parallel("block").unwrap();
    let mut refused =
        |buffer: &str, at: &str, ahead| schedule.prefetch(buffer, at, ahead).expect_err("it is refused").to_string();
    assert!(refused("w", "b", 1).contains("prefetch of `w`: it has no slice for each iteration of `b`"));
    assert!(refused("q", "h", 1).contains("prefetch of `q`: it has no slice for each iteration of `h`"));
    assert!(refused("y", "h", 9).contains("prefetch of `y` 9 iterations ahead; they are from 0 to 8"));
    assert!(refused("y", "i", 1).contains("prefetch of `y`: the sum reads none of it that moves with `i`"));
    schedule.prefetch("y", "h", 2).unwrap();
    assert!(lower(&schedule).unwrap().body.to_string().contains("h + 2 < H"));
}

#[test]
fn what_cannot_be_asked_for_is_told() {
    let program = frontend::program(&kernel(DENSE));
    let tiled = || {
        let mut schedule = Schedule::new(&program, &program.blocks[0]);
        schedule.split("i", 8, Tail::Pad, ["i_0", "i_1"]).unwrap();
        schedule.split("i_0", 4, Tail::Clip, ["i_2", "i_3"]).unwrap();
        schedule.reorder(&["i_2", "j", "i_3", "k", "i_1"]).unwrap();
        schedule.unroll("i_1").unwrap();
        schedule
    };
    let refused = |buffer: &str, at: &str, ahead: i64| {
        tiled().prefetch(buffer, at, ahead).expect_err("it is refused").to_string()
    };
    assert!(refused("x", "q", 1).contains("no loop `q`"));
    assert!(refused("x", "i_1", 1).contains("prefetch of `x`: `i_1` is not a serial loop of a CPU"));
    assert!(refused("x", "j", 1).contains("prefetch of `x`: the sum reads none of it that moves with `j`"));
    assert!(refused("y", "i_3", 1).contains("prefetch of `y`: the sum reads none of it that moves with `i_3`"));
    for ahead in [-1, 9] {
        let why = format!("prefetch of `x` {ahead} iterations ahead; they are from 0 to 8");
        assert!(refused("x", "i_3", ahead).contains(&why), "{why}");
    }
    // The last one holds; a loop that is no longer serial when all is complete does not.
    let mut schedule = tiled();
    schedule.prefetch("x", "i_3", 8).unwrap();
    schedule.prefetch("x", "i_3", 0).unwrap();
    assert!(!lower(&schedule).unwrap().body.to_string().contains("prefetch"));
    schedule.prefetch("x", "i_2", 1).unwrap();
    schedule.parallel("i_2").unwrap();
    let why = lower(&schedule).expect_err("it is refused").to_string();
    assert!(
        why.contains(
            "prefetch of `x`: `i_2` is neither a serial loop of a CPU any more, nor an axis of tasks with slices of it"
        ),
        "{why}"
    );
}

/// A tensor in which rows of the tile, or steps of the sum, stand outside of the batch has no slice that is a tile's.
#[test]
fn a_batch_inside_of_rows_or_steps_has_no_slices() {
    let asked = |nest: &str| {
        let tiled = json!({"vector": "j", "register_tile": {"i": 2, "j": 16}, "block_tile": {"i": 64, "k": 128}, "pack": ["w"],
            "ahead": "h"});
        let tiled: Tiled = serde_json::from_value(tiled).expect("parameters");
        let lowered = lower(&tiled.schedule(&frontend::program(&kernel(nest)), &target()).unwrap()).unwrap();
        ["x", "w", "y"].map(|tensor| lowered.body.to_string().contains(&format!("elements from {tensor}[")))
    };
    let heads_of_rows = BATCH.replace("K]; M]; H]; B], w", "K]; H]; M]; B], w").replace("x[b][h][i]", "x[b][i][h]");
    let heads_of_steps = BATCH.replace("N]; K]; H]", "N]; H]; K]").replace("w[h][k]", "w[k][h]");
    assert_eq!(
        [BATCH, &heads_of_rows, &heads_of_steps].map(asked),
        [[true; 3], [false, true, true], [true, false, true]]
    );
}

/// Panels in pairs, two axes at once, an axis that is the loop over tasks itself, and heads outside of batches, whose slices all
/// batches share.
#[test]
fn slices_are_asked_for_in_any_schedule() {
    let lowered = |nest: &str, tiled: serde_json::Value| {
        let tiled: Tiled = serde_json::from_value(tiled).expect("parameters");
        lower(&tiled.schedule(&frontend::program(&kernel(nest)), &target()).unwrap()).unwrap().body.to_string()
    };
    let doubled = json!({"vector": "j", "register_tile": {"i": 2, "j": 16}, "block_tile": {"k": 128}, "pack": ["w"], "double_buffer": true,
        "ahead": "h"});
    assert_eq!(lowered(BATCH, doubled).matches("prefetch dietcode_").count(), 3);
    let rows = "#[dynamic_kernel] fn rows(x: &[[f32; K]; M], y: &mut [f32; M]) {
        for i in 0..M { let mut acc = 0.0; for k in 0..K { acc += x[i][k]; } y[i] = acc; } }";
    let asked = lowered(rows, json!({"vector": "k", "register_tile": {"k": 16}, "ahead": "i"}));
    assert_eq!(asked.matches("prefetch").count(), 1, "{asked}");
    let outside = BATCH.replace("[b][h]", "[h][b]").replace("H]; B]", "B]; H]").replace("y[h][b]", "y[b][h]");
    let outside = outside.replace("y: &mut [[[[f32; N]; M]; B]; H]", "y: &mut [[[[f32; N]; M]; H]; B]");
    let asked = lowered(
        &outside,
        json!({"vector": "j", "register_tile": {"i": 2, "j": 16}, "block_tile": {"k": 128}, "pack": ["w"], "ahead": "h"}),
    );
    assert!(asked.contains("let dietcode_x_of_h = (B * M * K + (B * "), "each batch asks for a part: {asked}");
    let program = frontend::program(&kernel(BATCH));
    let mut schedule = Schedule::new(&program, &program.blocks[0]);
    schedule.fuse("b", "h", "block").unwrap();
    schedule.parallel("block").unwrap();
    ["b", "h"].iter().for_each(|axis| schedule.prefetch("x", axis, 1).unwrap());
    assert_eq!(lower(&schedule).unwrap().body.to_string().matches("prefetch dietcode_x_of_").count(), 2);
}

/// Elementwise nests have no tiles that could ask.
#[test]
fn what_is_not_summed_is_not_asked_for() {
    let copy = "#[dynamic_kernel] fn copy(x: &[[f32; N]; B], y: &mut [[f32; N]; B]) {
        for b in 0..B { for i in 0..N { y[b][i] = x[b][i]; } } }";
    let tiled: Tiled =
        serde_json::from_value(json!({"vector": "i", "register_tile": {"i": 16}, "ahead": "b"})).expect("parameters");
    let refused = tiled.schedule(&frontend::program(&kernel(copy)), &target()).expect_err("it is refused").to_string();
    assert!(refused.contains("ahead: `b`: there is no sum"), "{refused}");
}
