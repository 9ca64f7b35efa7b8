use super::*;
use crate::frontend;
use crate::machine::avx512;
use crate::sketch::Tiled;
use crate::testing::{BATCH, DENSE, kernel};

const CONV: &str = "
#[dynamic_kernel]
pub fn conv(x: &[[f32; W + 2]; C], f: &[[[f32; 3]; C]; O], y: &mut [[f32; W]; O]) {
    for o in 0..O {
        for i in 0..W {
            let mut acc = 0.0;
            for c in 0..C {
                for d in 0..3 {
                    acc += x[c][i + d] * f[o][c][d];
                }
            }
            y[o][i] = acc.max(0.0);
        }
    }
}
";

fn target() -> CpuTarget {
    CpuTarget { cores: 4, ..avx512() }
}

/// The extents of `i`, `j` and `k`, or of `o`, `i` and `c`, which their variables are named after.
fn seconds_of(source: &str, tiled: &Tiled, extents: [(&str, i64); 3], units: usize) -> f64 {
    seconds_on(&target(), source, tiled, extents, units)
}

fn seconds_on(target: &CpuTarget, source: &str, tiled: &Tiled, extents: [(&str, i64); 3], units: usize) -> f64 {
    let def = kernel(source);
    let value = |name: &str| extents.iter().find(|(var, _)| *var == name).map_or(0, |(_, value)| *value);
    let shape: Vec<i64> = def.shape_vars.iter().map(|var| value(&var.name)).collect();
    let (_, lowered) = tiled.micro_kernel(&frontend::program(&def), target).unwrap();
    Profile::of(&lowered).seconds(target, &shape, units)
}

fn seconds(tiled: &Tiled, m: i64) -> f64 {
    seconds_of(DENSE, tiled, [("M", m), ("N", 2304), ("K", 768)], 1)
}

fn tile(sizes: &[(&str, i64)]) -> std::collections::BTreeMap<String, i64> {
    sizes.iter().map(|(name, size)| ((*name).to_owned(), *size)).collect()
}

/// Vectors along N; panels of W.
fn packed(register: [i64; 2], block: [i64; 3]) -> Tiled {
    Tiled {
        vector: Some("j".into()),
        register_tile: tile(&[("i", register[0]), ("j", register[1])]),
        block_tile: tile(&[("i", block[0]), ("j", block[1]), ("k", block[2])]),
        pack: vec!["w".into()],
        ..Tiled::default()
    }
}

fn good() -> Tiled {
    packed([8, 48], [4096, 96, 768])
}

#[test]
fn large_tiles_in_registers_beat_small_ones() {
    let rows = [1, 2, 4, 8].map(|rows| seconds(&packed([rows, 48], [4096, 96, 768]), 2048));
    assert!(rows.is_sorted_by(|a, b| a > b), "{rows:?}");
    // A sum that waits for itself: one accumulator in one vector.
    assert!(seconds(&packed([1, 16], [4096, 96, 768]), 2048) > 2.0 * rows[3]);
}

#[test]
fn packing_is_worth_it_where_it_is_used_again() {
    let strided = Tiled { pack: Vec::new(), ..good() };
    assert!(seconds(&strided, 2048) > 2.0 * seconds(&good(), 2048));
    // A panel for eight rows only is packed for every eight rows.
    assert!(seconds(&packed([8, 48], [8, 96, 768]), 2048) > 1.3 * seconds(&good(), 2048));
}

#[test]
fn few_steps_between_visits_of_the_output_cost_time() {
    let steps = [16, 48, 192, 768].map(|steps| seconds(&packed([8, 48], [4096, 96, steps]), 2048));
    assert!(steps.is_sorted_by(|a, b| a > b), "{steps:?}");
}

#[test]
fn padding_is_paid_for() {
    let narrow = packed([80, 16], [80, 96, 768]);
    let narrow = Tiled { lanes: Some(16), ..narrow };
    assert!(seconds(&narrow, 81) > 1.7 * seconds(&narrow, 80));
    assert!(seconds(&good(), 80) * 1.08 > seconds(&good(), 73));
}

#[test]
fn nothing_is_faster_than_the_core() {
    for rows in [1, 3, 8] {
        for columns in [16, 48] {
            for steps in [4, 100, 768] {
                for m in [1, 8, 80, 2048] {
                    let seconds = seconds(&packed([rows, columns], [rows * 10, columns * 2, steps]), m);
                    let peak = 2.0 * 16.0 * CLOCK;
                    let products = (m * 2304 * 768) as f64;
                    assert!(
                        seconds.is_finite() && seconds >= products / peak,
                        "{rows} {columns} {steps} {m}: {seconds}"
                    );
                }
            }
        }
    }
}

#[test]
fn cores_help_as_far_as_there_are_blocks() {
    let at = |tiled: &Tiled, units| seconds_of(DENSE, tiled, [("M", 2048), ("N", 96), ("K", 768)], units);
    // One block: the others wait.
    assert!(at(&good(), 4) >= at(&good(), 1));
    let blocks = packed([8, 48], [512, 96, 768]);
    let gain = at(&blocks, 1) / at(&blocks, 4);
    assert!((3.5..4.01).contains(&gain), "{gain}");
}

/// 24 columns are three halves of a vector, or two vectors of which a quarter is idle: that costs where vectors are carried out in halves.
#[test]
fn half_of_a_vector_takes_half_of_the_time_where_vectors_are_carried_out_in_halves() {
    let [half, whole] = [(8, 24), (16, 32)].map(|(lanes, columns)| Tiled {
        lanes: Some(lanes),
        partition: vec!["j".into()],
        ..packed([8, columns], [64, columns, 384])
    });
    let in_halves = CpuTarget { model: "AMD EPYC (family 25, model 17, stepping 1)".into(), ..target() };
    let gain = |target: &CpuTarget| {
        let at = |tiled: &Tiled| seconds_on(target, DENSE, tiled, [("M", 512), ("N", 24), ("K", 768)], 1);
        at(&whole) / at(&half)
    };
    assert!((1.15..1.4).contains(&gain(&in_halves)), "{}", gain(&in_halves));
    assert!(gain(&target()) < 1.0, "{}", gain(&target()));
}

/// What tiles ask for ahead is worth it where all batches together come from memory, and costs a little where they are in a cache.
#[test]
fn what_is_asked_for_ahead_pays_where_it_comes_from_memory() {
    let gain = |batches: i64| {
        let at = |tiled: &Tiled| seconds_of(BATCH, tiled, [("B", batches), ("M", 96), ("-", 0)], 1);
        let plain = packed([8, 48], [96, 48, 64]);
        at(&plain) / at(&Tiled { ahead: Some("b".into()), ..plain })
    };
    assert!((0.9..1.0).contains(&gain(2)), "{}", gain(2));
    assert!(gain(2000) > 1.05, "{}", gain(2000));
}

#[test]
fn any_nest_is_counted() {
    let at = |tiled: &Tiled| seconds_of(CONV, tiled, [("O", 64), ("W", 1000), ("C", 32)], 1);
    let tiled = Tiled {
        vector: Some("i".into()),
        register_tile: tile(&[("o", 8), ("i", 48)]),
        block_tile: tile(&[("c", 16)]),
        ..Tiled::default()
    };
    let (fast, slow) = (at(&tiled), at(&Tiled::default()));
    assert!(slow > 5.0 * fast && fast > 0.0, "{slow} {fast}");
}
