//! Cartesian products in a defined order.

use std::collections::HashSet;

use dietcode_core::config::{Config, Refused};
use dietcode_core::machine::CpuTarget;
use dietcode_core::sketch::{Family, Tiled};

use super::FULL;

fn config(generators: &str) -> Config {
    let cpu = format!(r#""wkl_insts": [{{}}], "targets": {{"cpu": {{"generators": {generators}}}}}"#);
    Config::parse("c.json", super::SMALL.replace("\"wkl_insts\": [{}]", &cpu)).unwrap()
}

#[test]
fn products_are_ordered_and_have_no_duplicates() {
    let config = Config::parse("full.json", FULL).unwrap();
    let generator = &config.cpu.generators[0];
    assert_eq!(generator.count(), 2 * 2 * 2 * 3);
    let names: Vec<String> = generator.iter().map(|family| family.name()).collect();
    assert_eq!(names[0], "tiled_vj_r_i8_j48_b_i512_j96_k384_p_w_o_i_j");
    assert_eq!(names[1], "tiled_vj_r_i8_j48_b_i512_j96_k384_o_i_j");
    assert_eq!(names[3], "tiled_vj_r_i8_j48_p_w_o_i_j");
    assert_eq!(names[6], "tiled_vj_r_i6_j64_b_i512_j96_k384_p_w_o_i_j");
    assert_eq!(names[23], "tiled_r_i6_j64_p_x_w_o_i_j");
    assert_eq!(names.iter().collect::<HashSet<_>>().len(), 24);
    for (at, family) in generator.iter().enumerate() {
        assert_eq!(generator.get(at as u128), Some(family.clone()));
        assert!(generator.contains(&family));
    }
    assert_eq!(generator.get(24), None);
    assert!(!generator.contains(&Tiled::default().into()));
}

#[test]
fn generators_are_put_together_without_duplicates() {
    let config = config(
        r#"[{"family": "tiled", "vector": ["i", "j"]}, {"family": "tiled", "vector": ["j", null], "pack": [["w"], []]}]"#,
    );
    let names: Vec<String> = config.cpu.candidates().map(|tiled| tiled.name()).collect();
    assert_eq!(names, ["tiled_vi", "tiled_vj", "tiled_vj_p_w", "tiled_p_w", "tiled"]);
    assert_eq!(config.cpu.count(), 6);
}

#[test]
fn a_product_too_large_to_list_is_walked() {
    let tiles: Vec<String> = (1..=20_000).map(|size| format!("{{\"i\": {size}}}")).collect();
    let packs: Vec<String> = (0..20_000).map(|name| format!("[\"x{name}\"]")).collect();
    let (tiles, packs) = (tiles.join(","), packs.join(","));
    let config = config(&format!(
        r#"[{{"family": "tiled", "register_tile": [{tiles}], "block_tile": [{tiles}], "pack": [{packs}], "order": [{packs}]}}]"#
    ));
    let generator = &config.cpu.generators[0];
    assert_eq!(generator.count(), 20_000_u128.pow(4));
    assert_eq!(config.cpu.candidates().take(3).count(), 3);
    let last = generator.get(generator.count() - 1).unwrap();
    let Family::Tiled(last) = last else { panic!("{last:?}") };
    assert_eq!((last.register_tile["i"], last.pack[0].as_str()), (20_000, "x19999"));
}

#[test]
fn families_are_schedules_where_they_serve_the_nest() {
    let config = config(
        r#"[{"family": "tiled", "vector": ["j"]},
            {"family": "local", "cache_line_size": [64], "work_item_sizes": [[4, 8], [4, 6]], "work_group_sizes": [[8, 8]],
             "block_level_tiles": [[1, 1]], "double_buffer": [false], "no_bank_conflict_a": [false],
             "no_bank_conflict_b": [false], "vectorization_size": [8]},
            {"family": "naive", "cache_line_size": [64, 256, 64]},
            {"family": "naive", "cache_line_size": [256]},
            {"family": "non_local_interleaved", "work_item_sizes": [[2, 2]], "work_group_sizes": [[2, 2]],
             "batch_level_tiles": [[2, 2]], "vectorization_size": [2]}]"#,
    );
    let ops = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../src/ops.rs")).unwrap();
    let kernels = dietcode_core::syntax::scan(&ops).unwrap();
    let dense = kernels.iter().map(|k| k.parse().unwrap()).find(|def| def.name == "dense").unwrap();
    let program = dietcode_core::frontend::program(&dense);
    let target = CpuTarget::detect("x86-64-v3").unwrap();
    let found: Vec<Result<Tiled, Refused>> = config.cpu.candidates_on(&program, &target).collect();
    let names: Vec<&str> =
        found.iter().map(|f| f.as_ref().map_or_else(|refused| refused.name.as_str(), |_| "a schedule")).collect();
    let interleaved = "non_local_interleaved_c64_i2x2_w2x2_b2x2_v2";
    assert_eq!(
        names,
        ["a schedule", "a schedule", "local_c64_i4x6_w8x8_t1x1_v8", "a schedule", "a schedule", interleaved]
    );
    assert_eq!(config.cpu.count(), 7);
    // The one naive configuration that is there twice is at both places, and nothing is behind the last.
    let at = |place| config.cpu.get(place, &program, &target).map(|found| found.ok().map(|tiled| tiled.name()));
    assert_eq!(at(4), at(5));
    assert_eq!((at(0), at(6), at(7)), (Some(Some("tiled_vj".to_string())), Some(None), None));
    let without = r#"[{"family": "tiled", "vector": ["j"]}]"#;
    assert_ne!(config.space_hashes("cpu"), self::config(without).space_hashes("cpu"));
}
