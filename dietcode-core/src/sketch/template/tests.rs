//! Names, conditions and JSON of configurations.

use proptest::prelude::*;

use super::*;

fn local() -> Local {
    Local {
        cache_line_size: 64,
        item_rows: 4,
        item_cols: 8,
        wg_rows: 8,
        wg_cols: 16,
        tile_rows: 1,
        tile_cols: 2,
        vectorization_size: 4,
        double_buffer: true,
        no_bank_conflict_a: false,
        no_bank_conflict_b: true,
    }
}

fn interleaved(wg_rows: i64, wg_cols: i64, wg_batches: i64) -> NonLocalInterleaved {
    NonLocalInterleaved {
        cache_line_size: 64,
        item_rows: 2,
        item_cols: 4,
        item_batches: 8,
        wg_rows,
        wg_cols,
        wg_batches,
        vectorization_size: 2,
    }
}

fn non_local(vectorization: Vectorization) -> NonLocal {
    NonLocal { item_rows: 4, item_cols: 4, wg_rows: 8, wg_cols: 8, vectorization_size: 4, vectorization }
}

fn broken(family: &Family) -> Vec<&'static str> {
    family.conditions().iter().filter(|condition| !condition.holds).map(|condition| condition.name).collect()
}

#[test]
fn names_are_readable() {
    assert_eq!(Family::Local(local()).name(), "local_c64_i4x8_w8x16_t1x2_v4_double_padb");
    assert_eq!(Family::NonLocal(non_local(Vectorization::Full)).name(), "non_local_i4x4_w8x8_v4_full");
    let interleaved = Family::NonLocalInterleaved(interleaved(4, 16, 3));
    assert_eq!(interleaved.name(), "non_local_interleaved_c64_i2x4_w4x16_b8x3_v2");
    assert_eq!(Family::Naive(Naive { cache_line_size: 128 }).name(), "naive_c128");
    assert_eq!(Family::Tiled(Tiled::default()).name(), "tiled");
    let negative = Family::Naive(Naive { cache_line_size: -64 }).name();
    assert!(negative.bytes().all(|c| c.is_ascii_alphanumeric() || c == b'_'), "{negative}");
}

#[test]
fn each_condition_speaks_of_what_it_says() {
    assert_eq!(broken(&Family::Local(local())), [""; 0]);
    assert_eq!(broken(&Family::Local(Local { wg_rows: 4, ..local() })), ["wg_rows_divided"]);
    assert_eq!(broken(&Family::Local(Local { item_rows: 3, ..local() })), ["wg_cols_divided"]);
    assert_eq!(broken(&Family::Local(Local { cache_line_size: 1024, ..local() })), ["cache_lines_filled"]);
    let oblong = |vectorization| NonLocal { item_cols: 6, wg_rows: 12, ..non_local(vectorization) };
    assert_eq!(broken(&Family::NonLocal(oblong(Vectorization::Partial))), ["cols_of_vectors"]);
    assert_eq!(broken(&Family::NonLocal(oblong(Vectorization::Full))), ["cols_one_vector"]);
    let flat = NonLocal { wg_cols: 4, ..non_local(Vectorization::Full) };
    assert_eq!(broken(&Family::NonLocal(flat)), ["block_square"]);
    assert_eq!(broken(&Family::NonLocalInterleaved(interleaved(16, 4, 2))), ["work_group_small"]);
    assert_eq!(broken(&Family::NonLocalInterleaved(interleaved(4, 128, 4))), ["work_group_fits"]);
    assert_eq!(broken(&Family::Naive(Naive { cache_line_size: 6 })), ["cache_line_of_elements"]);
}

#[test]
fn sizes_out_of_range_keep_no_condition() {
    for size in [0, -1, i64::MIN, (1 << 14) + 1, 1_000_000_000_000, i64::MAX] {
        let all = Family::Local(Local { item_cols: size, ..local() });
        assert_eq!(broken(&all).len(), all.conditions().len(), "{size}");
        assert!(!broken(&Family::Naive(Naive { cache_line_size: size })).is_empty());
        assert!(!broken(&Family::NonLocalInterleaved(interleaved(size, size, size))).is_empty());
    }
}

#[test]
fn conditions_are_over_the_parameters() {
    let word = |c: char| !(c.is_ascii_alphanumeric() || c == '_');
    for family in samples() {
        let parameters = family.parameters();
        for condition in family.conditions() {
            let names = condition.text.split(word).filter(|w| w.starts_with(|c: char| c.is_ascii_alphabetic()));
            for name in names {
                assert!(parameters.iter().any(|(known, _)| *known == name), "{name} in {}", condition.text);
            }
        }
    }
}

#[test]
fn json_is_read_back() {
    for family in samples() {
        let json = serde_json::to_string(&family).expect("plain data");
        assert!(json.contains(&format!("\"family\":\"{}\"", family.family())), "{json}");
        assert_eq!(serde_json::from_str::<Family>(&json).expect("what was written"), family);
    }
    let unknown = r#"{"family": "naive", "cache_line_size": 64, "rows": 1}"#;
    assert!(serde_json::from_str::<Family>(unknown).is_err());
}

fn samples() -> Vec<Family> {
    let stage = [("a".to_owned(), Stage { vector: 4, pad: 1, swizzle: 0, reduce_outside: true })].into();
    vec![
        Family::Local(local()),
        Family::NonLocal(non_local(Vectorization::Partial)),
        Family::NonLocal(non_local(Vectorization::Full)),
        Family::NonLocalInterleaved(interleaved(4, 4, 4)),
        Family::Naive(Naive { cache_line_size: 64 }),
        Family::Tiled(Tiled { vector: Some("j".to_owned()), ..Tiled::default() }),
        Family::Blocked(Blocked { stage, asynchronous: true, ..Blocked::default() }),
    ]
}

proptest! {
    /// Equal names, equal parameters, also for sizes that no reader would take.
    #[test]
    fn names_differ_as_parameters_do(a in any_local(), b in any_local()) {
        prop_assert_eq!(Family::Local(a.clone()).name() == Family::Local(b.clone()).name(), a == b);
    }
}

fn any_local() -> impl Strategy<Value = Local> {
    let size = || prop_oneof![1i64..=12, Just(-1), Just(i64::MAX)];
    let sizes = (size(), size(), size(), size(), size());
    (sizes, any::<[bool; 3]>()).prop_map(|((cache_line_size, item_rows, item_cols, wg_rows, wg_cols), flags)| Local {
        cache_line_size,
        item_rows,
        item_cols,
        wg_rows,
        wg_cols,
        double_buffer: flags[0],
        no_bank_conflict_a: flags[1],
        no_bank_conflict_b: flags[2],
        ..local()
    })
}

fn tiled(parameters: &str) -> String {
    serde_json::from_str::<Tiled>(parameters).expect("parameters").name()
}

fn blocked(parameters: &str) -> String {
    serde_json::from_str::<Blocked>(parameters).expect("parameters").name()
}

#[test]
fn names_of_schedules_are_readable() {
    let dense = r#"{"vector": "j", "register_tile": {"i": 8, "j": 48}, "block_tile": {"i": 512, "j": 96, "k": 384},
        "pack": ["w"], "order": ["j", "i"], "lanes": 8, "pad": {"w": 16}, "double_buffer": true}"#;
    assert_eq!(tiled(dense), "tiled_vj_r_i8_j48_b_i512_j96_k384_p_w_o_j_i_lanes8_pad_w16_double");
    assert_eq!(tiled(r#"{"load": ["w"], "raster": {"i": 4, "j": 2}}"#), "tiled_load_w_raster_i4_j2");
    let simt = r#"{"thread": {"i": 16, "j": 16}, "vthread": {"i": 2}, "inner": {"i": 4, "j": 4}, "reduce": {"k": 8},
        "stage": {"x": {"vector": 4, "pad": 4, "reduce_outside": true}, "w": {}}, "stages": 2, "store": 4}"#;
    assert_eq!(blocked(simt), "blocked_t_i16_j16_v_i2_r_i4_j4_k_k8_s_w1_x4p4r_stages2_store4");
    let half = r#"{"thread": {"i": 2}, "reduce": {"k": 32}, "matrix_unit": "half", "stages": 3, "async": true,
        "split": {"k": 4}, "atomic": true, "persistent": true, "min_blocks": 2}"#;
    assert_eq!(blocked(half), "blocked_t_i2_k_k32_half_stages3_z_k4_min2_async_atomic_persistent");
    let streamed = r#"{"thread": {"i": 8}, "reduce": {"k": 8}, "stream": 108, "waves": 2}"#;
    assert_eq!(blocked(streamed), "blocked_t_i8_k_k8_stream108_waves2");
    assert_eq!((tiled("{}"), blocked("{}")), ("tiled".to_owned(), "blocked".to_owned()));
}

#[test]
fn what_could_be_read_in_two_ways_gets_a_hash() {
    let of_tiled = [
        (r#"{"register_tile": {"i1": 2}}"#, r#"{"register_tile": {"i": 12}}"#),
        (r#"{"pack": ["w", "o", "i"]}"#, r#"{"pack": ["w"], "order": ["i"]}"#),
        (r#"{"pack": ["a_b"]}"#, r#"{"pack": ["a", "b"]}"#),
        (r#"{"vector": "j_r_i8"}"#, r#"{"vector": "j", "register_tile": {"i": 8}}"#),
        (r#"{"register_tile": {"i": -8}}"#, r#"{"register_tile": {"i_": 8}}"#),
        (r#"{"pack": ["w", "load", "x"]}"#, r#"{"pack": ["w"], "load": ["x"]}"#),
        (r#"{"pack": ["double"]}"#, r#"{"pack": [], "double_buffer": true}"#),
        (r#"{"pad": {"raster": 4}}"#, r#"{"raster": {"": 4}}"#),
        (r#"{"lanes": 8}"#, r#"{"lanes": 4}"#),
    ];
    let of_blocked = [
        (r#"{"thread": {"i1": 2}}"#, r#"{"thread": {"i": 12}}"#),
        (r#"{"stage": {"store": {"vector": 4}}}"#, r#"{"stage": {}, "store": 4}"#),
        (r#"{"stage": {"xr": {}}}"#, r#"{"stage": {"x": {"reduce_outside": true}}}"#),
        (r#"{"stage": {"xp": {"vector": 1}}}"#, r#"{"stage": {"x": {"pad": 1}}}"#),
        (r#"{"thread": {"half": 1}}"#, r#"{"matrix_unit": "half"}"#),
        (r#"{"load": {"async": 1}}"#, r#"{"load": {}, "async": true}"#),
        (r#"{"stage": {"load": {"vector": 4}}}"#, r#"{"stage": {}, "load": {"": 4}}"#),
    ];
    let of_tiled = of_tiled.map(|(a, b)| (tiled(a), tiled(b)));
    for (a, b) in of_tiled.into_iter().chain(of_blocked.map(|(a, b)| (blocked(a), blocked(b)))) {
        assert_ne!(a, b);
        assert!([&a, &b].iter().all(|name| is_identifier(name)), "{a} {b}");
    }
}

#[test]
fn long_and_odd_names_are_still_identifiers_and_differ() {
    let long = "a".repeat(200);
    let [one, other] =
        [8, 9].map(|size| tiled(&format!(r#"{{"vector": "{long}", "register_tile": {{"{long}": {size}}}}}"#)));
    assert_ne!(one, other);
    assert!(is_identifier(&one) && is_identifier(&other));
    assert!(is_identifier(&tiled(r#"{"vector": "ü; rm -rf /", "register_tile": {"\n": 1}, "pack": ["\""]}"#)));
}

fn is_identifier(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_alphabetic())
        && name.bytes().all(|c| c.is_ascii_alphanumeric() || c == b'_')
        && name.len() <= crate::sketch::name::MAX_NAME
}
