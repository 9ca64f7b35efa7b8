//! What is read from good files, and the shapes of workload instances.

use std::path::{Path, PathBuf};

use dietcode_core::config::{Config, Evolution, Model, Scheduling, Search, Strategy, WklInst};

use crate::{FULL, SMALL};

fn wkl(text: &str) -> WklInst {
    Config::parse_wkl(text).unwrap()
}

fn names(text: &str) -> Vec<String> {
    text.split(' ').map(str::to_string).collect()
}

#[test]
fn all_keys() {
    let config = Config::parse("configs/full.json", FULL).unwrap();
    assert_eq!(config.kernel.source, Path::new("configs/../src/ops.rs"));
    assert_eq!(config.kernel.function, "dense");
    let shape: Vec<String> = config.shape.iter().map(|(name, affine)| format!("{name} = {affine}")).collect();
    assert_eq!(shape, ["M = 16*T", "K = 768", "N = -B + 2*T + 2"]);
    assert_eq!(config.wkl_insts, [wkl("T=5,B=1"), wkl("T=24,B=2")]);
    assert_eq!(config.weights, [1.0, 2.5]);
    assert_eq!((config.cpu.march.as_str(), config.cpu.generators.len()), ("x86-64-v3", 2));
    let search = Search {
        seconds: 1.5,
        trials: Some(20),
        seed: 7,
        threads: vec![1, 2, 0],
        tolerance: 0.0,
        strategy: Strategy::Random,
        model: Model::Random,
        evolution: Evolution { population: 256, mutation: 0.5, ..Evolution::default() },
        scheduler: Scheduling { beta: 1.5, window: 5, ..Scheduling::default() },
        weight: 2.5,
        rules: config.search.rules.clone(),
        tf32: true,
    };
    assert_eq!(config.search, search);
    assert_eq!(config.tuned_path("cpu"), PathBuf::from("configs/full.cpu.tuned.json"));
}

#[test]
fn defaults() {
    let config = Config::parse("small.json", SMALL).unwrap();
    assert_eq!(config.kernel.source, Path::new("ops.rs"));
    assert_eq!((config.weights.as_slice(), config.cpu.march.as_str()), (&[1.0][..], "native"));
    assert_eq!(config.search, Search::default());
    assert_eq!(config.shape_of(&names("N"), &WklInst::new()).unwrap(), [8]);
}

#[test]
fn the_configs_of_this_repository_are_good() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../configs");
    let config = Config::read(folder.join("bert_dense.json")).unwrap();
    let shapes = config.wkl_insts.iter().map(|wkl| config.shape_of(&names("M K N"), wkl).unwrap());
    assert_eq!(shapes.map(|shape| shape[0] / 16).collect::<Vec<_>>(), [5, 24, 43, 62, 81, 100, 119, 128]);
    assert!(config.cpu.count() > 0);
}

#[test]
fn shapes_are_checked_against_the_kernel_and_the_instance() {
    let config = Config::parse("full.json", FULL).unwrap();
    let shape = |vars: &str, at: &str| config.shape_of(&names(vars), &wkl(at)).map_err(|e| e.to_string());
    assert_eq!(shape("M K N", "T=3,B=1").unwrap(), [48, 768, 7]);
    assert_eq!(shape("M K N", "T=0,B=2").unwrap(), [0, 768, 0]);
    let error = |vars: &str, at: &str, expected: &str| assert_eq!(shape(vars, at).unwrap_err(), expected);
    error(
        "M K",
        "T=3,B=1",
        "full.json:5:12: key `shape`: found `N`, but `dense` has the shape variables M, K; an extent that is a number, or a \
         constant that the kernel declares by `consts(…)`, is none",
    );
    error("M K N Q", "T=3,B=1", "full.json:5:12: key `shape`: the shape variable `Q` is missing");
    error("M K N", "T=3", "full.json: the workload variable `B` is missing, expected it beside `T`");
    error(
        "M K N",
        "T=3,B=1,t=1",
        "full.json: found the unknown workload variable `t`, expected one of `B`, `T`; did you mean `B`?",
    );
    error("M K N", "T=0,B=3", "full.json: `N` = -B + 2*T + 2 is -1 at B=3,T=0, expected from 0 to 2147483648");
    error(
        "M K N",
        "T=2147483648,B=3",
        "full.json: `M` = 16*T is 34359738368 at B=3,T=2147483648, expected from 0 to 2147483648",
    );
}

#[test]
fn instances_on_the_command_line() {
    assert_eq!(wkl(" T = 37 , B=2"), WklInst::from([("T".to_string(), 37), ("B".to_string(), 2)]));
    assert_eq!(wkl(""), WklInst::new());
    for text in ["T", "T=", "=3", "T=-1", "T=1.5", "T=1,,B=2", "T=99999999999", "T=1,", "T\n=1=2", "9=1"] {
        let message = Config::parse_wkl(text).unwrap_err().to_string();
        assert!(message.contains("expected `name=number` with a number from 0 to 2147483648"), "{message}");
    }
    assert_eq!(Config::parse_wkl("T=1,T=2").unwrap_err().to_string(), "found `T` a second time in `T=1,T=2`");
}

#[test]
fn the_space_hash_is_of_march_and_generators_alone() {
    let hash = |text: &str| Config::parse("c.json", text).unwrap().space_hash();
    let full = hash(FULL);
    assert_eq!(full.len(), 64);
    assert_eq!(full, hash(&FULL.replace("all keys", "other").replace("\"seed\": 7", "\"seed\": 8")));
    assert_ne!(full, hash(&FULL.replace("x86-64-v3", "native")));
    assert_ne!(full, hash(&FULL.replace("\"k\": 384", "\"k\": 385")));
}
