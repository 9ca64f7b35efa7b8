//! Sets of micro-kernels for a device.

use std::path::Path;

use dietcode_core::config::{KernelSet, WklInst};
use dietcode_core::sketch::{Blocked, Stage};

/// A set with all keys.
pub(crate) const SET: &str = r#"{
  "$schema": "schema.json",
  "comment": "all keys",
  "kernels": [
    { "source": "../../src/ops.rs", "function": "dense" },
    { "source": "../../src/ops/matmul.rs", "function": "matmul_nn" }
  ],
  "wkl_insts": [{ "M": 3, "N": 4, "K": 5 }, { "K": 7, "M": 6, "N": 8 }, { "B": 1, "M": 2, "N": 3, "K": 4 }],
  "targets": {
    "cuda": {
      "capabilities": ["sm_75", "sm_80"],
      "generators": [
        {
          "family": "blocked",
          "kernels": ["dense"],
          "thread": [{ "i": 16, "j": 16 }, { "i": 64, "j": 64 }],
          "reduce": [{ "k": 8 }],
          "stage": [{ "x": { "vector": 4 }, "w": {} }],
          "stages": [2],
          "async": [false, true]
        },
        { "family": "blocked", "thread": [{ "j": 32 }, { "i": 16, "j": 16 }, { "j": 32 }] }
      ]
    }
  }
}
"#;

/// A set as if it stood in the folder of the tests.
fn parse(text: &str) -> Result<KernelSet, String> {
    KernelSet::parse(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/c.json"), text).map_err(|e| e.to_string())
}

/// The error after replacing a part of the set.
fn error(from: &str, to: &str) -> String {
    assert!(SET.contains(from), "{from}");
    KernelSet::parse("c.json", SET.replacen(from, to, 1)).unwrap_err().to_string()
}

#[test]
fn micro_kernels_are_those_that_are_valid_on_every_device_each_once() {
    let set = parse(SET).unwrap();
    let nests = set.nests().unwrap();
    let found = set.micro_kernels(&nests).unwrap();
    let found: Vec<(&str, Blocked)> = found.into_iter().map(|((def, _), blocked)| (&*def.name, blocked)).collect();
    let threads = |sizes: &[(&str, i64)]| Blocked {
        thread: sizes.iter().map(|(name, size)| (name.to_string(), *size)).collect(),
        ..Blocked::default()
    };
    let (row, square) = (threads(&[("j", 32)]), threads(&[("i", 16), ("j", 16)]));
    let staged = Blocked {
        reduce: [("k".to_string(), 8)].into(),
        stage: [("w".to_string(), Stage::default()), ("x".to_string(), Stage { vector: 4, ..Stage::default() })].into(),
        stages: 2,
        ..square.clone()
    };
    // 64 x 64 threads are too many, and sm_75 has no asynchronous copies.
    let expected = [
        ("dense", staged),
        ("dense", row.clone()),
        ("dense", square.clone()),
        ("matmul_nn", row),
        ("matmul_nn", square),
    ];
    assert_eq!(found, expected);
    let newer = parse(&SET.replace("\"sm_75\", ", "")).unwrap();
    assert_eq!(newer.micro_kernels(&nests).unwrap().len(), 6);
}

#[test]
fn shapes_are_those_with_the_variables_of_the_kernel() {
    let set = parse(SET).unwrap();
    let def = &set.kernel_defs().unwrap()[0];
    assert_eq!(set.shapes(def).len(), 2);
    let of = |shape: &[i64]| -> WklInst { def.shape_vars.iter().map(|v| v.name.clone()).zip(shape.to_vec()).collect() };
    assert!(set.shapes(def).iter().zip(&set.wkl_insts).all(|(shape, wkl)| of(shape) == *wkl));
}

#[test]
fn the_kernels_of_sets_of_this_repository_are_good() {
    for name in ["sm_80", "sm_90"] {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../configs/{name}.json"));
        let set = KernelSet::read(path).unwrap();
        assert_eq!(set.capabilities.iter().map(ToString::to_string).collect::<Vec<_>>(), [name]);
        assert!(set.kernel_defs().unwrap().iter().all(|def| !set.shapes(def).is_empty()));
    }
}

/// All of a set is compiled, so one that would take days is refused, at once.
#[test]
fn a_set_is_no_space_for_a_search() {
    let tiles: Vec<String> = (1..=1100).map(|k| format!("{{ \"k\": {k} }}")).collect();
    let message = error("[{ \"k\": 8 }]", &format!("[{}]", tiles.join(", ")));
    assert!(message.starts_with("c.json:12:21: key `targets.cuda.generators`: found 4402 schedules"), "{message}");
}

#[test]
fn errors() {
    assert_eq!(
        error("[\"dense\"]", "[\"dens\"]"),
        "c.json:15:23: key `targets.cuda.generators[0].kernels[0]`: found the string \"dens\", expected one of the set's \
         kernels: dense, matmul_nn"
    );
    assert_eq!(
        error("\"function\": \"matmul_nn\"", "\"function\": \"dense\""),
        "c.json:6:5: key `kernels[1]`: found `dense` a second time, expected each function once"
    );
    for (from, to, expected) in [
        ("[\"dense\"]", "[]", "kernels`: found an empty array, expected an array of at least one of the set's kernels"),
        ("[\"dense\"]", "[\"dense\", \"dense\"]", "kernels[1]`: found `dense` a second time, expected each name once"),
        ("\"kernels\": [\n", "\"kernel\": [\n", "key `kernel`: found an unknown key"),
        ("\"M\": 3", "\"M\": 0", "wkl_insts[0].M`: found 0, expected a whole number from 1 to 2147483648"),
        ("\"M\": 6", "\"M\": -6", "wkl_insts[1].M`: found -6"),
        ("{ \"K\": 7, \"M\": 6, \"N\": 8 }", "{ \"M\": 3, \"N\": 4, \"K\": 5 }", "found the same shape a second time"),
        (
            "\"cuda\"",
            "\"gpu\"",
            "key `targets.gpu`: found an unknown key, expected one of cpu, cuda; did you mean `cpu`?",
        ),
        ("\"cuda\"", "\"cpu\"", "key `targets.cpu.capabilities`: found an unknown key, expected one of march"),
        ("ops.rs", "ops.c", "kernels[0].source`: found the string"),
        ("\"sm_75\"", "\"sm_7\"", "capabilities[0]`: found the string \"sm_7\", expected one of sm_75"),
    ] {
        let message = error(from, to);
        assert!(message.starts_with("c.json:") && message.contains(expected), "{message}\n{expected}");
    }
    let message = parse(&SET.replace("matmul_nn", "matmul_xx")).unwrap().kernel_defs().unwrap_err().to_string();
    assert!(
        message.contains(":6:56: key `kernels[1].function`: ") && message.contains("no function `matmul_xx`"),
        "{message}"
    );
}
