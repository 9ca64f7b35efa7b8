//! The published schema and the reader give the same verdict, as far as a schema can say it.

use std::path::Path;

use dietcode_core::config::{Config, KernelSet};
use jsonschema::Validator;
use serde_json::Value;

use super::cuda::CUDA;
use super::families::{FAMILIES, portblas};
use super::sets::SET;
use super::{FULL, SMALL};
use crate::common::shipped::configs;

fn validator() -> Validator {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../configs/schema.json");
    let schema: Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    jsonschema::draft202012::new(&schema).unwrap()
}

fn verdicts(validator: &Validator, text: &str) -> (bool, bool) {
    let value: Value = serde_json::from_str(text).unwrap();
    let read = match ["kernel", "shape", "search"].iter().any(|key| value.get(key).is_some()) {
        true => Config::parse("c.json", text).is_ok(),
        false => KernelSet::parse("c.json", text).is_ok(),
    };
    (validator.is_valid(&value), read)
}

#[test]
fn good_configs() {
    let validator = validator();
    for path in configs().into_iter().chain(["default.json", "intel_gpu.json"].map(portblas)) {
        assert_eq!(verdicts(&validator, &std::fs::read_to_string(&path).unwrap()), (true, true), "{}", path.display());
    }
    let naive = "{ \"family\": \"naive\", \"comment\": \"\", \"cache_line_size\": [64] }";
    let (cpu, cuda) = ("{ \"family\": \"tiled\" }", "{ \"family\": \"blocked\" }");
    for (text, own) in [(FULL, cpu), (CUDA, cuda)] {
        assert_eq!(verdicts(&validator, &text.replace(own, naive)), (true, true));
    }
    let of_one = FULL.replace("\"mean\": 1.02, ", "");
    for text in
        [FULL, &of_one, SMALL, CUDA, SET, FAMILIES, &FULL.replace("768", "768.0"), &FULL.replace("768", "2147483648")]
    {
        assert_eq!(verdicts(&validator, text), (true, true), "{text}");
    }
}

/// A key that the one has and the other has not is found in no config that nobody wrote.
#[test]
fn families_have_the_same_keys() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../configs/schema.json");
    let schema: Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    for family in ["local", "non_local", "non_local_interleaved", "naive", "tiled", "blocked"] {
        let properties = schema["$defs"][format!("{family}_lists")]["properties"].as_object().unwrap();
        let text = format!("{{ \"{family}\": [{{ \"no such key\": [1] }}] }}");
        let error = KernelSet::parse("c.json", text).unwrap_err().to_string();
        let (_, keys) = error.split_once("an unknown key, expected one of ").unwrap_or_else(|| panic!("{error}"));
        let keys = keys.split(';').next().unwrap();
        let (mut of_reader, mut of_schema): (Vec<&str>, Vec<&str>) =
            (keys.split(", ").collect(), properties.keys().map(String::as_str).collect());
        of_reader.sort_unstable();
        of_schema.sort_unstable();
        assert_eq!(of_reader, of_schema, "{family}");
    }
}

#[test]
fn bad_configs() {
    let replacements = [
        ("\"schema.json\"", "1"),
        ("\"all keys\"", "[]"),
        ("\"all keys\"", "\"\", \"extra\": 1"),
        ("\"kernel\": { \"source\": \"../src/ops.rs\", \"function\": \"dense\" },", ""),
        ("\"dense\"", "\"1dense\""),
        ("\"dense\"", "\"dense\\n\""),
        ("\"dense\"", "\"dense\", \"config\": 1"),
        (", \"function\": \"dense\"", ""),
        ("../src/ops.rs", "ops.c"),
        ("../src/ops.rs", "a\\n.rs"),
        ("768", "0"),
        ("768", "7.5"),
        ("768", "2147483649"),
        ("768", "null"),
        ("\"K\"", "\"a b\""),
        ("16*T", "16/T"),
        ("16*T", ""),
        ("\"T\": 5", "\"T\": -5"),
        ("\"T\": 5", "\"T\": \"5\""),
        ("{ \"T\": 5, \"B\": 1 }", "[5, 1]"),
        ("[{ \"T\": 5, \"B\": 1 }, { \"B\": 2, \"T\": 24 }]", "[]"),
        ("2.5", "0"),
        ("2.5", "\"2\""),
        ("\"cpu\"", "\"gpu\""),
        ("x86-64-v3", "a b"),
        ("x86-64-v3", ""),
        ("\"march\"", "\"mtune\""),
        ("\"tiled\"", "\"local\""),
        ("\"tiled\"", "\"blocked\""),
        ("{ \"family\": \"tiled\" }", "{ \"family\": \"naive\" }"),
        ("{ \"family\": \"tiled\" }", "{ \"cache_line_size\": [64] }"),
        ("{ \"family\": \"tiled\" }", "{ \"family\": \"naive\", \"cache_line_size\": [64], \"vector\": [null] }"),
        ("\"family\": \"tiled\",", ""),
        ("\"one\"", "1"),
        ("[\"j\", null, \"j\"]", "[]"),
        ("[\"j\", null, \"j\"]", "\"j\""),
        ("[\"j\", null, \"j\"]", "[1]"),
        ("\"i\": 8", "\"i\": 0"),
        ("\"i\": 8", "\"i\": \"8\""),
        ("\"i\": 8", "\"i j\": 8"),
        ("[{ \"i\": 512, \"j\": 96, \"k\": 384 }, {}]", "[[]]"),
        ("[\"x\", \"w\"]", "[\"x\", \"x\"]"),
        ("[\"x\", \"w\"]", "\"x\""),
        ("[[\"i\", \"j\"]]", "[\"i\"]"),
        ("\"order\"", "\"orders\""),
        ("1.5", "0"),
        ("1.5", "2592001"),
        ("\"trials\": 20", "\"trials\": 0"),
        ("\"seed\": 7", "\"seed\": -1"),
        ("\"seed\": 7", "\"sede\": 1"),
        ("[1, 2, 0]", "[]"),
        ("[1, 2, 0]", "[1025]"),
        ("\"tolerance\": 0", "\"tolerance\": 1"),
        ("{ \"dense\": \"by_hand\" }", "\"by_hand\""),
        ("\"by_hand\"", "1"),
        ("\"by_hand\"", "\"by hand\""),
        ("\"dense\": \"by_hand\"", "\"a b\": \"by_hand\""),
        ("\"random\"", "\"greedy\""),
        ("\"weight\": 2.5", "\"weight\": -1"),
        ("\"tf32\": true", "\"tf32\": 3"),
        ("\"tf32\": true", "\"tf32\": \"x2\""),
        ("\"weight\": 2.5", "\"weight\": \"2\""),
        ("\"model\": \"random\"", "\"model\": \"evolution\""),
        ("\"population\": 128", "\"population\": 0"),
        ("\"population\": 128", "\"populations\": 1"),
        ("\"mutation\": 0.5", "\"mutation\": 1.5"),
        ("\"split_k\": 0.5", "\"split_k\": 2"),
        ("\"split_k\"", "\"split\""),
        (
            "\"split_k\": 0.5",
            r#""tile_size": 0, "compute_location": 0, "thread_binding": 0, "choice": 0, "parallel": 0, "split_k": 0"#,
        ),
        ("{ \"T\": [1, 512] }", "[1, 512]"),
        ("\"T\": [1, 512]", "\"T\": [512]"),
        ("\"T\": [1, 512]", "\"T\": [1, 5, 512]"),
        ("\"T\": [1, 512]", "\"T\": [1.5, 512]"),
        ("\"T\": [1, 512]", "\"T\": [-1, 512]"),
        ("{ \"mean\": 1.02, \"worst\": 1.1 }", "{}"),
        ("{ \"mean\": 1.02, \"worst\": 1.1 }", "1.02"),
        ("\"mean\": 1.02", "\"mean\": 1"),
        ("\"worst\": 1.1", "\"worst\": \"1.1\""),
        ("\"worst\": 1.1", "\"worst\": 101"),
        ("\"worst\": 1.1", "\"most\": 1.1"),
        ("\"micro_kernels\": 3", "\"micro_kernels\": 65"),
        ("\"beta\": 1.5", "\"beta\": 0"),
        ("\"window\": 5", "\"window\": 0.5"),
        ("\"SSRRS\"", "\"SRSRS\""),
        ("\"SSRRS\"", "7"),
        ("\"SSRRS\"", "{ \"cpu\": \"SSSRRSRS\" }"),
    ];
    let validator = validator();
    for (from, to) in replacements {
        assert!(FULL.contains(from), "{from}");
        assert_eq!(verdicts(&validator, &FULL.replacen(from, to, 1)), (false, false), "{from} -> {to}");
    }
}

#[test]
fn bad_generators_of_gpus_and_bad_sets() {
    let in_config = [
        ("\"sm_90\"", "\"sm_91\""),
        ("\"sm_90\"", "\"sm_80\""),
        ("[\"sm_80\", \"sm_90\"]", "[]"),
        ("\"capabilities\"", "\"capability\""),
        ("\"blocked\"", "\"tiled\""),
        ("\"persistent\"", "\"persist\""),
        ("\"comment\": \"one\"", "\"kernels\": [\"f\"]"),
        ("\"i\": 8", "\"i\": 65537"),
        ("\"i\": 8", "\"i j\": 8"),
        ("\"x\": {}", "\"x\": 4"),
        ("\"x\": {}", "\"x;\": {}"),
        ("\"vector\": 8", "\"vector\": 17"),
        ("\"pad\": 8", "\"pad\": -1"),
        ("outside\": true", "outside\": 1"),
        ("\"tf32\"", "\"tf19\""),
        ("[2, 3]", "[2, 9]"),
        ("[2, 3]", "[]"),
        ("\"async\": [false, true]", "\"async\": true"),
        ("\"min_blocks\": [2]", "\"min_blocks\": [33]"),
        ("\"store\": [1", "\"store\": [0"),
    ];
    let in_set = [
        ("\"kernels\": [\"dense\"]", "\"kernels\": []"),
        ("\"kernels\": [\"dense\"]", "\"kernels\": [\"dense\", \"dense\"]"),
        ("\"kernels\": [\"dense\"]", "\"kernel\": \"dense\""),
        ("\"M\": 3", "\"M\": 0"),
        ("{ \"K\": 7, \"M\": 6, \"N\": 8 }", "{ \"M\": 3, \"N\": 4, \"K\": 5 }"),
        ("\"cuda\"", "\"cpu\""),
        ("ops.rs", "ops.c"),
        ("\"all keys\"", "1"),
        ("\"capabilities\": [\"sm_75\", \"sm_80\"],", ""),
        ("\"stages\": [2]", "\"stages\": 2"),
    ];
    let validator = validator();
    let texts = in_config.into_iter().map(|edit| (CUDA, edit)).chain(in_set.into_iter().map(|edit| (SET, edit)));
    for (text, (from, to)) in texts {
        assert!(text.contains(from), "{from}");
        assert_eq!(verdicts(&validator, &text.replacen(from, to, 1)), (false, false), "{from} -> {to}");
    }
}

#[test]
fn bad_families() {
    let replacements = [
        ("\"all families\"", "1"),
        ("\"naive\"", "\"native\""),
        ("{ \"cache_line_size\": [64, 6] }", "{}"),
        ("[{ \"cache_line_size\": [64, 6] }]", "[]"),
        ("[64, 6]", "[64, \"6\"]"),
        ("[64, 6]", "[0]"),
        ("[64, 6]", "[16385]"),
        ("[64, 6]", "[]"),
        ("[64, 6]", "64"),
        ("[[4, 8], [8, 4]]", "[4, 8]"),
        ("[[4, 8], [8, 4]]", "[[4, 8, 1]]"),
        ("[[4, 8], [8, 4]]", "[[4]]"),
        ("[[4, 8], [8, 4]]", "[]"),
        ("[true, false]", "[0]"),
        ("\"double_buffer\"", "\"double_buffers\""),
        ("\"block_level_tiles\": [[1, 1]],", ""),
        ("\"batch_level_tiles\": [[4, 4]],", ""),
        ("\"cache_line_size\": [64], \"work", "\"vectorization\": [\"none\"], \"work"),
        ("\"cache_line_size\": [64], \"work", "\"cache_line_size\": [], \"work"),
        ("\"vector\": [\"j\"]", "\"family\": \"tiled\""),
        ("\"thread\": [{ \"i\": 16 }]", "\"family\": \"blocked\""),
        ("[null, 8]", "[6]"),
        ("[null, 8]", "[1]"),
        ("{ \"a\": 16 }", "{ \"a\": 0 }"),
        ("[[\"b\"]]", "[\"b\"]"),
        ("{ \"a\": 4 }", "{ \"a\": 17 }"),
        ("[{ \"i\": 2, \"j\": 2 }]", "[2, 2]"),
        ("x86-64-v3", "a b"),
        ("\"march\"", "\"arch\""),
        ("sm_80", "sm_8"),
        ("{ \"capabilities\": [\"sm_80\"] }", "{}"),
        ("[\"sm_80\"]", "[\"sm_80\"], \"generators\": [{ \"family\": \"blocked\" }]"),
        ("\"local\"", "\"kernels\": [{ \"source\": \"a.rs\", \"function\": \"f\" }], \"local\""),
    ];
    let validator = validator();
    for (from, to) in replacements {
        assert!(FAMILIES.contains(from), "{from}");
        assert_eq!(verdicts(&validator, &FAMILIES.replacen(from, to, 1)), (false, false), "{from} -> {to}");
    }
    for text in ["{}", "{\"comment\": \"nothing\"}"] {
        assert_eq!(verdicts(&validator, text), (false, false), "{text}");
    }
}

#[test]
fn what_a_schema_cannot_say() {
    let validator = validator();
    for (from, to) in [
        ("[1, 512]", "[512, 1]"),
        ("[1, 512]", "[6, 512]"),
        ("\"T\": [1", "\"t\": [1"),
        ("16*T", "T*T"),
        ("16*T", "16*X"),
        ("[1, 2.5]", "[1]"),
        (", \"B\": 1", ""),
        ("\"T\": 5", "\"T\": 0"),
    ] {
        assert_eq!(verdicts(&validator, &FULL.replacen(from, to, 1)), (true, false), "{from} -> {to}");
    }
    for (from, to) in [("[\"dense\"]", "[\"dens\"]"), ("\"function\": \"matmul_nn\"", "\"function\": \"dense\"")] {
        assert_eq!(verdicts(&validator, &SET.replacen(from, to, 1)), (true, false), "{from} -> {to}");
    }
}
