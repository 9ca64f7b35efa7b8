//! `targets.cuda`: what is read, its generators, and what every error says.

use std::collections::HashSet;

use dietcode_core::config::{ChosenFrom, Config};
use dietcode_core::sketch::{Family, Stage, Value};

/// A config with all keys of a GPU's generator.
pub(crate) const CUDA: &str = r#"{
  "kernel": { "source": "ops.rs", "function": "f" }, "shape": { "N": 8 }, "wkl_insts": [{}],
  "targets": {
    "cuda": {
      "capabilities": ["sm_80", "sm_90"],
      "generators": [
        {
          "family": "blocked",
          "comment": "one",
          "thread": [{ "i": 16, "j": 16 }, { "i": 8 }, { "j": 16, "i": 16.0 }],
          "vthread": [{ "i": 2 }, {}],
          "inner": [{ "i": 4, "j": 4 }],
          "reduce": [{ "k": 32 }],
          "stage": [{ "x": { "vector": 8, "pad": 8 }, "w": { "reduce_outside": true } }, { "x": {} }],
          "matrix_unit": [null, "half", "tf32"],
          "stages": [2, 3],
          "async": [false, true],
          "split": [{}, { "k": 4 }],
          "atomic": [false, true],
          "persistent": [true],
          "min_blocks": [2],
          "store": [1, 4]
        },
        { "family": "blocked" }
      ]
    }
  }
}
"#;

fn config() -> Config {
    Config::parse("cuda.json", CUDA).unwrap()
}

/// The error after replacing a part of the config.
fn error(from: &str, to: &str) -> String {
    assert!(CUDA.contains(from), "{from}");
    Config::parse("c.json", CUDA.replacen(from, to, 1)).unwrap_err().to_string()
}

#[test]
fn all_keys() {
    let config = config();
    assert_eq!((config.cpu.march.as_str(), config.cpu.generators.len()), ("native", 0));
    let cuda = config.cuda.unwrap();
    assert_eq!(cuda.capabilities.iter().map(ToString::to_string).collect::<Vec<_>>(), ["sm_80", "sm_90"]);
    let generator = &cuda.generators[0];
    let first = generator.get(0).unwrap();
    let Family::Blocked(first) = first else { panic!("{first:?}") };
    assert_eq!((generator.values("thread").unwrap().len(), first.thread["j"]), (2, 16));
    assert_eq!(first.stage["x"], Stage { vector: 8, pad: 8, swizzle: 0, reduce_outside: false });
    assert_eq!(first.stage["w"], Stage { reduce_outside: true, ..Stage::default() });
    let units = ["half", "tf32"].map(|unit| Value::Word(unit.into()));
    assert_eq!(generator.values("matrix_unit").unwrap(), [&[Value::None], &units[..]].concat());
    assert_eq!(generator.count(), 2 * 2 * 2 * 3 * 2 * 2 * 2 * 2 * 2);
    assert_eq!(cuda.count(), generator.count() + 1);
    assert_eq!(cuda.candidates().count() as u128, cuda.count());
    assert_eq!(Config::parse("small.json", super::SMALL).unwrap().cuda, None);
}

#[test]
fn products_are_ordered() {
    let cuda = config().cuda.unwrap();
    let choices = cuda.candidates().take(6).map(|b| (b.split.contains_key("k"), b.atomic, b.store));
    let expected =
        [(false, false, 1), (false, false, 4), (false, true, 1), (false, true, 4), (true, false, 1), (true, false, 4)];
    assert_eq!(choices.collect::<Vec<_>>(), expected);
    let names: HashSet<String> = cuda.candidates().map(|blocked| blocked.name()).collect();
    assert_eq!(names.len() as u128, cuda.count());
}

#[test]
fn the_space_hash_is_of_the_generators_and_tf32_alone_and_that_of_the_cpu_is_another() {
    let hashes = |text: &str| {
        let config = Config::parse("c.json", text).unwrap();
        ["cpu", "cuda"].map(|kind| config.space_hash(kind, ChosenFrom::Generators)).into()
    };
    let (cpu, cuda) = hashes(CUDA);
    assert_eq!(
        (cuda.len(), &cpu),
        (64, &Config::parse("c.json", super::SMALL).unwrap().space_hash("cpu", ChosenFrom::Generators))
    );
    assert_eq!(hashes(&CUDA.replace("[\"sm_80\", \"sm_90\"]", "[\"sm_86\"]")), (cpu.clone(), cuda.clone()));
    assert_eq!(hashes(&CUDA.replace("\"one\"", "\"two\"")), (cpu.clone(), cuda.clone()));
    let tf32 = ["true", "\"x3\""].map(|how| format!("\"search\": {{ \"tf32\": {how} }}, \"wkl_insts\""));
    let mut seen = HashSet::from([cuda]);
    for (from, to) in [
        ("\"pad\": 8", "\"pad\": 4"),
        ("\"tf32\"", "null"),
        ("\"async\": [false", "\"async\": [true"),
        ("\"wkl_insts\"", &tf32[0]),
        ("\"wkl_insts\"", &tf32[1]),
    ] {
        let (other_cpu, other) = hashes(&CUDA.replace(from, to));
        assert!(other_cpu == cpu && seen.insert(other), "{from}");
    }
}

#[test]
fn errors() {
    assert_eq!(
        error("\"sm_90\"", "\"sm_91\""),
        "c.json:5:33: key `targets.cuda.capabilities[1]`: found the string \"sm_91\", expected one of sm_75, sm_80, sm_86, \
         sm_89, sm_90, sm_100, sm_110, sm_120"
    );
    assert_eq!(
        error("\"sm_90\"", "\"sm_80\""),
        "c.json:5:33: key `targets.cuda.capabilities[1]`: found sm_80 a second time, expected each device once"
    );
    assert_eq!(
        error("\"capabilities\": [\"sm_80\", \"sm_90\"],", ""),
        "c.json:4:13: key `targets.cuda`: the key `capabilities` is missing, expected an array of at least one device, \
         such as [\"sm_80\"]"
    );
    let at = |rest: &str| format!("key `targets.cuda.generators[0].{rest}");
    for (from, to, expected) in [
        ("[\"sm_80\", \"sm_90\"]", "[]", "found an empty array, expected an array of at least one device".to_string()),
        ("\"sm_90\"", "90", "found 90, expected one of sm_75".to_string()),
        ("\"blocked\"", "\"tiled\"", at("family`: found the string \"tiled\", expected \"blocked\"")),
        (
            "\"persistent\"",
            "\"persist\"",
            at("persist`: found an unknown key, expected one of family, comment, thread,"),
        ),
        ("\"min_blocks\"", "\"min_block\"", "did you mean `min_blocks`?".to_string()),
        ("\"i\": 8", "\"i\": 65537", at("thread[1].i`: found 65537, expected a whole number from 1 to 65536")),
        (
            "\"i\": 8",
            "\"i j\": 8",
            at("thread[1].i j`: found a key that is no identifier, expected the name of a loop"),
        ),
        (
            "\"x\": {}",
            "\"x;\": {}",
            at("stage[1].x;`: found a key that is no identifier, expected the name of an input"),
        ),
        ("\"x\": {}", "\"x\": 4", at("stage[1].x`: found 4, expected an object")),
        ("\"vector\": 8", "\"vector\": 17", at("stage[0].x.vector`: found 17, expected a whole number from 1 to 16")),
        ("\"pad\": 8", "\"pad\": -1", at("stage[0].x.pad`: found -1, expected a whole number from 0 to 65536")),
        ("\"pad\": 8", "\"pads\": 8", at("stage[0].x.pads`: found an unknown key, expected one of vector, pad,")),
        ("outside\": true", "outside\": 1", at("stage[0].w.reduce_outside`: found 1, expected true or false")),
        (
            "\"tf32\"",
            "\"tf19\"",
            at("matrix_unit[2]`: found the string \"tf19\", expected \"half\", \"tf32\", \"tf32x3\", or null"),
        ),
        ("[2, 3]", "[2, 9]", at("stages[1]`: found 9, expected a whole number from 1 to 8")),
        (
            "\"async\": [false, true]",
            "\"async\": true",
            at("async`: found true, expected an array of at least one value"),
        ),
        ("\"atomic\": [false", "\"atomic\": [null", at("atomic[0]`: found null, expected true or false")),
        ("[{}, { \"k\": 4 }]", "[]", at("split`: found an empty array, expected an array of at least one value")),
        (
            "\"min_blocks\": [2]",
            "\"min_blocks\": [33]",
            at("min_blocks[0]`: found 33, expected a whole number from 1 to 32"),
        ),
        ("\"store\": [1", "\"store\": [0", at("store[0]`: found 0, expected a whole number from 1 to 16")),
    ] {
        let message = error(from, to);
        assert!(message.starts_with("c.json:") && message.contains(&expected), "{message}\n{expected}");
    }
}
