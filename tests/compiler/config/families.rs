//! Generators of families: which configurations they stand for, in which order, and what is refused.

use std::path::{Path, PathBuf};

use dietcode_core::config::{Config, ConfigFile, KernelSet};
use dietcode_core::sketch::{Family, Local, Naive, NonLocal, NonLocalInterleaved, Vectorization};
use proptest::prelude::*;
use serde_json::{Value, json};

/// Of all families, valid.
pub(crate) const FAMILIES: &str = r#"{
  "comment": "all families",
  "targets": { "cpu": { "march": "x86-64-v3" }, "cuda": { "capabilities": ["sm_80"] } },
  "local": [
    {
      "comment": "one",
      "cache_line_size": [64, 128],
      "work_item_sizes": [[4, 8], [8, 4]],
      "work_group_sizes": [[8, 8]],
      "block_level_tiles": [[1, 1]],
      "double_buffer": [true, false],
      "no_bank_conflict_a": [false],
      "no_bank_conflict_b": [false],
      "vectorization_size": [4]
    }
  ],
  "non_local": [
    { "work_item_sizes": [[4, 4]], "work_group_sizes": [[8, 8]], "vectorization_size": [2, 4] },
    { "cache_line_size": [64], "work_item_sizes": [[4, 4]], "work_group_sizes": [[8, 8]], "vectorization_size": [4] }
  ],
  "non_local_interleaved": [
    {
      "work_item_sizes": [[2, 2]],
      "work_group_sizes": [[4, 4], [4, 8]],
      "batch_level_tiles": [[4, 4]],
      "vectorization_size": [2]
    }
  ],
  "naive": [{ "cache_line_size": [64, 6] }],
  "tiled": [
    { "vector": ["j"], "register_tile": [{ "i": 8, "j": 16 }] },
    {
      "vector": ["j"],
      "lanes": [null, 8],
      "pack": [["a"]],
      "load": [["b"]],
      "pad": [{ "a": 16 }],
      "double_buffer": [true],
      "partition": [["i", "j"]],
      "ahead": ["b"],
      "raster": [{ "i": 2, "j": 2 }]
    }
  ],
  "blocked": [{ "thread": [{ "i": 16 }], "stages": [1, 2] }, { "load": [{ "a": 4 }], "raster": [{ "i": 2, "j": 2 }] }]
}
"#;

fn names(text: &str) -> Vec<String> {
    let set = KernelSet::parse("c.json", text).unwrap_or_else(|e| panic!("{e}"));
    set.families().unwrap_or_else(|e| panic!("{e}")).iter().map(Family::name).collect()
}

/// A file of portBLAS.
pub(crate) fn portblas(file: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/portblas").join(file)
}

/// The error of reading a set or of expanding it.
fn error(text: impl Into<Vec<u8>>) -> String {
    let read = KernelSet::parse("c.json", text);
    read.and_then(|set| set.families()).expect_err("it is wrong").to_string()
}

/// The error after replacing a part of the set of all families.
fn error_in(from: &str, to: &str) -> String {
    assert!(FAMILIES.contains(from), "{from}");
    error(FAMILIES.replacen(from, to, 1))
}

#[test]
fn families_stand_in_their_order_and_lists_in_theirs() {
    assert_eq!(
        names(FAMILIES),
        [
            "local_c64_i4x8_w8x8_t1x1_v4_double",
            "local_c64_i4x8_w8x8_t1x1_v4",
            "local_c64_i8x4_w8x8_t1x1_v4_double",
            "local_c64_i8x4_w8x8_t1x1_v4",
            "local_c128_i4x8_w8x8_t1x1_v4_double",
            "local_c128_i4x8_w8x8_t1x1_v4",
            "local_c128_i8x4_w8x8_t1x1_v4_double",
            "local_c128_i8x4_w8x8_t1x1_v4",
            "non_local_i4x4_w8x8_v2_partial",
            "non_local_i4x4_w8x8_v4_partial",
            "non_local_i4x4_w8x8_v4_full",
            "non_local_interleaved_c64_i2x2_w4x4_b4x4_v2",
            "non_local_interleaved_c64_i2x2_w4x8_b4x4_v2",
            "naive_c64",
            "tiled_vj_r_i8_j16",
            "tiled_vj_p_a_load_b_pad_a16_part_i_j_aheadb_raster_i2_j2_double",
            "tiled_vj_p_a_lanes8_load_b_pad_a16_part_i_j_aheadb_raster_i2_j2_double",
            "blocked_t_i16",
            "blocked_t_i16_stages2",
            "blocked_load_a4_raster_i2_j2",
        ]
    );
}

#[test]
fn what_was_left_out_is_accounted_for() {
    let expansion = KernelSet::parse("c.json", FAMILIES).unwrap().expand().unwrap();
    let removed: Vec<_> = expansion.removed.iter().map(|r| (r.family, r.condition.name, r.count)).collect();
    assert_eq!(removed, [("non_local", "rows_one_vector", 1), ("naive", "cache_line_of_elements", 1)]);
    assert_eq!((expansion.combinations, expansion.repeated, expansion.families.len()), (24, 2, 20));
}

#[test]
fn a_set_says_which_targets_it_is_for() {
    let set = KernelSet::parse("c.json", FAMILIES).unwrap();
    assert_eq!(set.march.as_deref(), Some("x86-64-v3"));
    assert_eq!(set.capabilities.iter().map(ToString::to_string).collect::<Vec<_>>(), ["sm_80"]);
    let set = KernelSet::parse("c.json", r#"{"naive": [{"cache_line_size": [4]}], "targets": {"cpu": {}}}"#).unwrap();
    assert_eq!((set.march.as_deref(), set.capabilities.len()), (Some("native"), 0));
    let set = KernelSet::read(portblas("default.json")).unwrap();
    assert_eq!((set.march, set.capabilities.len(), set.kernels.len()), (None, 0, 0));
}

/// The numbers are those of portBLAS's own generator.
#[test]
fn files_of_portblas_are_read_as_they_are() {
    for (file, expected) in [("default.json", [0, 30, 269]), ("intel_gpu.json", [1312, 0, 0])] {
        let families = KernelSet::read(portblas(file)).unwrap().families().unwrap();
        let found = ["local", "non_local", "non_local_interleaved"];
        let found = found.map(|name| families.iter().filter(|family| family.family() == name).count());
        assert_eq!((found, families.len()), (expected, expected.iter().sum()), "{file}");
    }
}

#[test]
fn a_configuration_is_its_own_generator() {
    for file in ["default.json", "intel_gpu.json"] {
        for family in KernelSet::read(portblas(file)).unwrap().families().unwrap().iter().step_by(37) {
            let set = KernelSet::parse("c.json", family.generator().to_string()).unwrap();
            assert_eq!(set.families().unwrap(), std::slice::from_ref(family));
        }
    }
    for family in KernelSet::parse("c.json", FAMILIES).unwrap().families().unwrap() {
        let set = KernelSet::parse("c.json", family.generator().to_string()).unwrap();
        assert_eq!(set.families().unwrap(), [family]);
    }
}

#[test]
fn an_empty_product_says_what_emptied_it() {
    let set = r#"{"non_local": [{"work_item_sizes": [[4, 4], [4, 8]], "work_group_sizes": [[8, 8]], "vectorization_size": [16]}]}"#;
    assert_eq!(
        error(set),
        "c.json:1:16: key `non_local[0]`: found no valid configuration among 4: rows_of_vectors (item_rows % \
         vectorization_size == 0: the rows of a work item are read as whole vectors) leaves out 1; rows_one_vector \
         (item_rows == vectorization_size: the rows of a work item are one vector) leaves out 1; block_square (wg_cols * \
         item_cols == wg_rows * item_rows: the block of a work group has as many rows as columns) leaves out 2; expected \
         lists with at least one combination that keeps all conditions"
    );
    assert!(error_in("[64, 6]", "[6]").contains("key `naive[0]`: found no valid configuration among 1: "));
}

#[test]
fn what_is_wrong_is_told_with_its_place() {
    let size = "expected a whole number from 1 to 16384";
    for (from, to, expected) in [
        ("[64, 128]", "[64, \"128\"]", format!("c.json:7:31: key `local[0].cache_line_size[1]`: found the string \"128\", {size}")),
        ("[64, 128]", "[0]", format!("c.json:7:27: key `local[0].cache_line_size[0]`: found 0, {size}")),
        ("[64, 128]", "[-64]", format!("c.json:7:27: key `local[0].cache_line_size[0]`: found -64, {size}")),
        ("[64, 128]", "[1000000000000]", format!("c.json:7:27: key `local[0].cache_line_size[0]`: found 1000000000000, {size}")),
        ("[64, 128]", "[1e12]", format!("c.json:7:27: key `local[0].cache_line_size[0]`: found 1e12, {size}")),
        ("[64, 128]", "[6.5]", format!("c.json:7:27: key `local[0].cache_line_size[0]`: found 6.5, {size}")),
        ("[64, 128]", "64", "c.json:7:26: key `local[0].cache_line_size`: found 64, expected an array of at least one value".into()),
        ("[64, 128]", "[]", "c.json:7:26: key `local[0].cache_line_size`: found an empty array, expected an array of at least one value".into()),
        ("[8, 4]", "[8, 4, 2]", "c.json:8:35: key `local[0].work_item_sizes[1]`: found an array of 3, expected an array of two sizes, such as [4, 8]".into()),
        ("[8, 4]", "[8]", "c.json:8:35: key `local[0].work_item_sizes[1]`: found an array of 1, expected an array of two sizes, such as [4, 8]".into()),
        ("[8, 4]", "8", "c.json:8:35: key `local[0].work_item_sizes[1]`: found 8, expected an array of two sizes, such as [4, 8]".into()),
        ("[8, 4]", "[8, \"4\"]", format!("c.json:8:39: key `local[0].work_item_sizes[1][1]`: found the string \"4\", {size}")),
        ("[true, false]", "[1]", "c.json:11:25: key `local[0].double_buffer[0]`: found 1, expected true or false".into()),
        ("\"vectorization_size\": [4]\n", "\"vectorisation_size\": [4]\n", "c.json:14:7: key `local[0].vectorisation_size`: found an unknown key, expected one of comment, cache_line_size, work_item_sizes, work_group_sizes, block_level_tiles, double_buffer, no_bank_conflict_a, no_bank_conflict_b, vectorization_size; did you mean `vectorization_size`?".into()),
        ("\"block_level_tiles\": [[1, 1]],", "", "c.json:5:5: key `local[0]`: the key `block_level_tiles` is missing, expected an array of at least one value".into()),
        ("\"batch_level_tiles\": [[4, 4]],", "", "c.json:22:5: key `non_local_interleaved[0]`: the key `batch_level_tiles` is missing, expected an array of at least one value".into()),
        ("\"naive\": [{ \"cache_line_size\": [64, 6] }]", "\"naive\": []", "c.json:29:12: key `naive`: found an empty array, expected an array of at least one generator".into()),
        ("\"naive\": [{ \"cache_line_size\": [64, 6] }]", "\"naive\": {}", "c.json:29:12: key `naive`: found an object, expected an array of at least one generator".into()),
        ("\"naive\"", "\"native\"", "c.json:29:3: key `native`: found an unknown key, expected one of $schema, comment, kernels, targets, wkl_insts, local, non_local, non_local_interleaved, naive, tiled, blocked; did you mean `naive`?".into()),
        ("\"vectorization_size\": [2, 4]", "\"vectorization_size\": [2], \"vectorization\": [\"none\"]", "c.json:18:111: key `non_local[0].vectorization[0]`: found the string \"none\", expected \"partial\" or \"full\"".into()),
        ("[null, 8]", "[6]", "c.json:34:17: key `tiled[1].lanes[0]`: found 6, expected 2, 4, 8 or 16, or null for".into()),
        ("{ \"a\": 16 }", "{ \"a\": 0 }", "c.json:37:22: key `tiled[1].pad[0].a`: found 0, expected a whole number from 1 to 1024".into()),
        ("\"vector\": [\"j\"]", "\"family\": \"tiled\"", "c.json:31:7: key `tiled[0].family`: found an unknown key".into()),
        ("x86-64-v3", "a b", "c.json:3:34: key `targets.cpu.march`: found the string \"a b\"".into()),
        ("sm_80", "sm_8", "c.json:3:76: key `targets.cuda.capabilities[0]`: found the string \"sm_8\"".into()),
    ] {
        let message = error_in(from, to);
        assert!(message.starts_with(&expected), "{message}\n{expected}");
    }
}

#[test]
fn a_set_stands_for_something() {
    for text in ["{}", r#"{"comment": "", "targets": {"cpu": {}}}"#] {
        let message = error(text);
        assert!(
            message.starts_with("c.json:1:1: found a set of nothing, expected generators under one of local,"),
            "{message}"
        );
    }
    let kernels = r#"{"naive": [{"cache_line_size": [64]}], "kernels": [{"source": "a.rs", "function": "f"}]}"#;
    assert!(error(kernels).starts_with("c.json:1:51: key `kernels`: found kernels without schedules"));
    let schedules = r#"{"targets": {"cuda": {"capabilities": ["sm_80"], "generators": [{"family": "blocked"}]}}}"#;
    assert!(error(schedules).contains("key `targets.cuda.generators`: found schedules without kernels"));
}

#[test]
fn products_that_nobody_could_compile_are_refused_at_once() {
    let list = |len: usize| json!((1..=len).collect::<Vec<_>>());
    let pairs = json!((1..=2000).map(|size| [size, size]).collect::<Vec<_>>());
    let huge = json!({"local": [{
        "cache_line_size": list(2000), "work_item_sizes": pairs, "work_group_sizes": pairs, "block_level_tiles": pairs,
        "double_buffer": [true, false], "no_bank_conflict_a": [true], "no_bank_conflict_b": [true],
        "vectorization_size": list(2000)
    }]});
    assert_eq!(
        error(huge.to_string()),
        "c.json:1:11: key `local[0]`: found a generator with which the family has 64000000000000000 combinations, \
         expected at most 1048576 of a family in a set: shorten its lists"
    );
    let tiles: Vec<Value> = (1..=5000).map(|size| json!({"i": size})).collect();
    let named = json!({"naive": [{"cache_line_size": [4]}], "tiled": [{"register_tile": tiles}]});
    assert!(error(named.to_string()).contains("5000 combinations, expected at most 4096"));
    let loops: serde_json::Map<String, Value> = (0..17).map(|n| (format!("i{n}"), json!(1))).collect();
    let message = error(json!({"tiled": [{"register_tile": [loops]}]}).to_string());
    assert!(message.contains("key `tiled[0].register_tile[0]`: found 17 names, expected at most 16"), "{message}");
}

/// No time is asserted, but one that grew with the square of their number would be noticed.
#[test]
fn a_hundred_thousand_combinations_are_expanded() {
    let tiles: Vec<[u32; 2]> = (1..=400).map(|size| [size, 1]).collect();
    let sizes: Vec<u32> = (1..=256).collect();
    let set = json!({"local": [{
        "cache_line_size": [4], "work_item_sizes": [[1, 1]], "work_group_sizes": [[1, 1]], "block_level_tiles": tiles,
        "double_buffer": [true], "no_bank_conflict_a": [true], "no_bank_conflict_b": [true],
        "vectorization_size": sizes
    }]});
    let families = KernelSet::parse("c.json", set.to_string()).unwrap().families().unwrap();
    assert_eq!(families.len(), 102_400);
}

#[test]
fn configs_and_sets_are_told_apart() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("c.json");
    let read = |text: &str| {
        std::fs::write(&path, text).unwrap();
        ConfigFile::read(&path)
    };
    assert!(matches!(read(FAMILIES), Ok(ConfigFile::Set(_))));
    assert!(matches!(read(super::sets::SET), Ok(ConfigFile::Set(_))));
    assert!(matches!(read(super::FULL), Ok(ConfigFile::Kernel(_))));
    let misspelt = read(&FAMILIES.replace("\"naive\"", "\"naives\"")).unwrap_err().to_string();
    assert!(misspelt.ends_with("did you mean `naive`?"), "{misspelt}");
    for set in [FAMILIES, super::sets::SET] {
        assert_eq!(
            Config::parse("c.json", set).unwrap_err().to_string(),
            "c.json:1:1: found a set, which stands for configurations of any kernel, expected a config of one kernel, with \
             `kernel`; `dietcode expand` shows a set, DIETCODE_CONFIG builds one"
        );
    }
    assert_eq!(
        KernelSet::parse("c.json", super::FULL).unwrap_err().to_string(),
        "c.json:1:1: found a config of one kernel, expected a set: generators by the names of their families"
    );
}

/// The lists of a generator of one of portBLAS's families, with repetitions.
#[derive(Clone, Debug)]
struct Lists {
    sizes: Vec<i64>,
    items: Vec<[i64; 2]>,
    groups: Vec<[i64; 2]>,
    tiles: Vec<[i64; 2]>,
    flags: Vec<bool>,
    vectors: Vec<i64>,
}

fn lists() -> impl Strategy<Value = Lists> {
    let few = |values: &'static [i64]| proptest::collection::vec(prop::sample::select(values), 1..4);
    let pairs = || proptest::collection::vec(prop::sample::select(vec![[1, 2], [2, 2], [4, 2], [4, 4], [8, 8]]), 1..4);
    let flags = proptest::collection::vec(any::<bool>(), 1..3);
    (few(&[4, 16, 64, 6]), pairs(), pairs(), pairs(), flags, few(&[1, 2, 4, 8]))
        .prop_map(|(sizes, items, groups, tiles, flags, vectors)| Lists { sizes, items, groups, tiles, flags, vectors })
}

impl Lists {
    fn text(&self) -> String {
        let Lists { sizes, items, groups, tiles, flags, vectors } = self;
        json!({
            "naive": [{"cache_line_size": sizes}, {"cache_line_size": [64]}],
            "non_local_interleaved": [
                {"work_item_sizes": items, "work_group_sizes": groups, "batch_level_tiles": tiles, "vectorization_size": vectors},
                {"work_item_sizes": [[2, 2]], "work_group_sizes": [[2, 2]], "batch_level_tiles": [[2, 2]], "vectorization_size": [2]},
            ],
            "local": [
                {"cache_line_size": sizes, "work_item_sizes": items, "work_group_sizes": groups, "block_level_tiles": tiles,
                 "double_buffer": flags, "no_bank_conflict_a": flags, "no_bank_conflict_b": [false], "vectorization_size": vectors},
                {"cache_line_size": [64], "work_item_sizes": [[4, 4]], "work_group_sizes": [[4, 4]], "block_level_tiles": [[1, 2]],
                 "double_buffer": [true], "no_bank_conflict_a": [true], "no_bank_conflict_b": [false], "vectorization_size": [1]},
            ],
            "non_local": [
                {"work_item_sizes": items, "work_group_sizes": groups, "vectorization_size": vectors},
                {"work_item_sizes": [[4, 4]], "work_group_sizes": [[4, 4]], "vectorization_size": [4]},
            ],
        })
        .to_string()
    }

    /// What portBLAS's script does, in plain loops: combinations in order, the valid ones, without those that are there.
    fn expected(&self) -> Result<Vec<Family>, ()> {
        let one = Lists {
            sizes: vec![64],
            items: vec![[4, 4]],
            groups: vec![[4, 4]],
            tiles: vec![[1, 2]],
            flags: vec![true],
            vectors: vec![1],
        };
        let two = |vector| Lists {
            items: vec![[2, 2]],
            groups: vec![[2, 2]],
            tiles: vec![[2, 2]],
            vectors: vec![vector],
            ..one.clone()
        };
        let full = Lists { vectors: vec![4], ..one.clone() };
        let generators = [
            self.local(),
            one.local(),
            self.non_local(),
            full.non_local(),
            self.interleaved(),
            two(2).interleaved(),
            self.naive(),
            one.naive(),
        ];
        let mut all: Vec<Family> = Vec::new();
        for generator in generators {
            if generator.is_empty() {
                return Err(());
            }
            for family in generator {
                if !all.contains(&family) {
                    all.push(family);
                }
            }
        }
        Ok(all)
    }

    fn local(&self) -> Vec<Family> {
        let mut all = Vec::new();
        for &cache_line_size in &self.sizes {
            for &[item_rows, item_cols] in &self.items {
                for &[wg_rows, wg_cols] in &self.groups {
                    for &[tile_rows, tile_cols] in &self.tiles {
                        for &double_buffer in &self.flags {
                            for &no_bank_conflict_a in &self.flags {
                                for &vectorization_size in &self.vectors {
                                    let divided = wg_rows % item_cols == 0 && wg_cols % item_rows == 0;
                                    let filled = (wg_rows * wg_cols) as f64 % (cache_line_size as f64 / 4.0) == 0.0;
                                    if divided && filled && cache_line_size % 4 == 0 {
                                        all.push(Family::Local(Local {
                                            cache_line_size,
                                            item_rows,
                                            item_cols,
                                            wg_rows,
                                            wg_cols,
                                            tile_rows,
                                            tile_cols,
                                            vectorization_size,
                                            double_buffer,
                                            no_bank_conflict_a,
                                            no_bank_conflict_b: false,
                                        }));
                                    }
                                }
                            }
                        }
                    }
                }
            }
        }
        all
    }

    fn non_local(&self) -> Vec<Family> {
        let mut all = Vec::new();
        for &[item_rows, item_cols] in &self.items {
            for &[wg_rows, wg_cols] in &self.groups {
                for &vectorization_size in &self.vectors {
                    for vectorization in [Vectorization::Partial, Vectorization::Full] {
                        let vectors = match vectorization {
                            Vectorization::Partial => {
                                item_rows % vectorization_size + item_cols % vectorization_size == 0
                            }
                            Vectorization::Full => [item_rows, item_cols] == [vectorization_size; 2],
                        };
                        if vectors && wg_cols * item_cols == wg_rows * item_rows {
                            all.push(Family::NonLocal(NonLocal {
                                item_rows,
                                item_cols,
                                wg_rows,
                                wg_cols,
                                vectorization_size,
                                vectorization,
                            }));
                        }
                    }
                }
            }
        }
        all
    }

    fn interleaved(&self) -> Vec<Family> {
        let mut all = Vec::new();
        for &[item_rows, item_cols] in &self.items {
            for &[wg_rows, wg_cols] in &self.groups {
                for &[item_batches, wg_batches] in &self.tiles {
                    for &vectorization_size in &self.vectors {
                        let vectors = [item_batches, item_rows, item_cols].iter().all(|n| n % vectorization_size == 0);
                        if vectors && wg_batches * wg_rows * wg_rows <= 256 {
                            all.push(Family::NonLocalInterleaved(NonLocalInterleaved {
                                cache_line_size: 64,
                                item_rows,
                                item_cols,
                                item_batches,
                                wg_rows,
                                wg_cols,
                                wg_batches,
                                vectorization_size,
                            }));
                        }
                    }
                }
            }
        }
        all
    }

    fn naive(&self) -> Vec<Family> {
        let valid = self.sizes.iter().filter(|size| **size % 4 == 0);
        valid.map(|&cache_line_size| Family::Naive(Naive { cache_line_size })).collect()
    }
}

proptest! {
    #[test]
    fn a_set_is_nested_loops_without_repetitions(lists in lists()) {
        let found = KernelSet::parse("c.json", lists.text()).unwrap().families();
        prop_assert_eq!(found.map_err(|_| ()), lists.expected());
    }
}
