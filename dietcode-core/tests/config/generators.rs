//! Cartesian products in a defined order.

use std::collections::HashSet;

use dietcode_core::config::Config;
use dietcode_core::sketch::Tiled;

use crate::FULL;

fn config(generators: &str) -> Config {
    let cpu = format!(r#""wkl_insts": [{{}}], "targets": {{"cpu": {{"generators": {generators}}}}}"#);
    Config::parse("c.json", crate::SMALL.replace("\"wkl_insts\": [{}]", &cpu)).unwrap()
}

#[test]
fn products_are_ordered_and_have_no_duplicates() {
    let config = Config::parse("full.json", FULL).unwrap();
    let generator = &config.cpu.generators[0];
    assert_eq!(generator.count(), 2 * 2 * 2 * 3);
    let names: Vec<String> = generator.iter().map(|tiled| tiled.name()).collect();
    assert_eq!(names[0], "tiled_vj_r_i8_j48_b_i512_j96_k384_p_w_o_i_j");
    assert_eq!(names[1], "tiled_vj_r_i8_j48_b_i512_j96_k384_o_i_j");
    assert_eq!(names[3], "tiled_vj_r_i8_j48_p_w_o_i_j");
    assert_eq!(names[6], "tiled_vj_r_i6_j64_b_i512_j96_k384_p_w_o_i_j");
    assert_eq!(names[23], "tiled_r_i6_j64_p_x_w_o_i_j");
    assert_eq!(names.iter().collect::<HashSet<_>>().len(), 24);
    for (at, tiled) in generator.iter().enumerate() {
        assert_eq!(generator.get(at as u128), Some(tiled.clone()));
        assert!(generator.contains(&tiled));
    }
    assert_eq!(generator.get(24), None);
    assert!(!generator.contains(&Tiled::default()));
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
    assert_eq!((last.register_tile["i"], last.pack[0].as_str()), (20_000, "x19999"));
}
