//! What is read from good files, and the shapes of workload instances.

use std::path::{Path, PathBuf};

use dietcode_core::config::{Cache, Config, Evolution, Model, Range, Scheduling, Search, Shapes, Strategy, WklInst};
use dietcode_core::sketch::rules::Tf32;
use dietcode_core::sketch::{Mutator, Mutators};

use super::{FULL, SMALL};

fn wkl(text: &str) -> WklInst {
    let instances = text.parse::<Shapes>().unwrap().instances().unwrap();
    instances.into_iter().next().unwrap()
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
    assert_eq!(config.range, Range::from([("T".to_owned(), [1, 512])]));
    assert_eq!((config.cpu.march.as_str(), config.cpu.generators.len()), ("x86-64-v3", 2));
    let mut mutators = Mutators::default();
    mutators.set(Mutator::SplitK, 0.5);
    mutators.set(Mutator::Unroll, 0.0);
    let search = Search {
        seconds: 1.5,
        trials: Some(20),
        seed: 7,
        threads: vec![1, 2, 0],
        tolerance: 0.0,
        micro_kernels: 3,
        strategy: Strategy::Random,
        model: Model::Random,
        evolution: Evolution { population: 128, mutation: 0.5, mutators, ..Evolution::default() },
        scheduler: Scheduling { beta: 1.5, window: 5, ..Scheduling::default() },
        weight: 2.5,
        rules: config.search.rules.clone(),
        tf32: Tf32::Once,
        structure: config.search.structure.clone(),
        cache: Cache::Cold,
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
fn a_range_that_is_not_declared_is_what_the_instances_span_and_a_factor_of_two_around() {
    let config = Config::parse("full.json", FULL).unwrap();
    let range = |instances: &[&str]| {
        let of = config.range_of(&instances.iter().map(|text| wkl(text)).collect::<Vec<_>>());
        of.iter().map(|(var, [least, most])| format!("{var}={least}..{most}")).collect::<Vec<_>>().join(",")
    };
    assert_eq!(range(&["T=5,B=1", "T=24,B=2"]), "B=1..4,T=1..512");
    assert_eq!(range(&["T=5,B=7", "T=24,B=12"]), "B=3..24,T=1..512");
    assert_eq!(range(&["T=5,B=0", "T=24,B=3"]), "B=0..6,T=1..512");
    assert_eq!(range(&["T=5,B=7"]), "B=7..7,T=1..512", "one value stays");
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
    error("M K N", "", "full.json: the workload variables `B`, `T` are missing");
    // What is unknown comes first, whatever is missing.
    error("M K N", "Q=3", "full.json: found the unknown workload variable `Q`, expected one of `B`, `T`");
    error(
        "M K N",
        "T=3,B=1,t=1",
        "full.json: found the unknown workload variable `t`, expected one of `B`, `T`; did you mean `T`?",
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
    assert_eq!((wkl(""), wkl("T=0")), (WklInst::new(), WklInst::from([("T".to_string(), 0)])));
    let wrong =
        "T|T=|=3|T=-1|T=1.5|T=1,,B=2|T=99999999999|T=1,|T\n=1=2|9=1|7|7,T=1|T=2..1|T=1..|T=..1|T=1..=2|T=1..9:0|T=1:2";
    for text in wrong.split('|') {
        let message = text.parse::<Shapes>().unwrap_err().to_string();
        assert!(message.contains("expected `name=number` with a number from 0 to 2147483648"), "{message}");
    }
    assert_eq!("T=1,T=2".parse::<Shapes>().unwrap_err().to_string(), "found `T` a second time in `T=1,T=2`");
}

#[test]
fn ranges_on_the_command_line() {
    let all = |text: &str| text.parse::<Shapes>().unwrap().instances().unwrap();
    let of = |name: &str, text: &str| all(text).iter().map(|wkl| wkl[name]).collect::<Vec<_>>();
    assert_eq!(of("T", "T=16..2048"), [16, 37, 81, 181, 407, 913, 2048]);
    assert_eq!(of("T", "T=16..64:20,64,7"), [16, 36, 56, 64, 7]);
    assert_eq!((of("T", "T=3..5"), of("T", "T=8..8"), of("T", "T=5,5")), (vec![3, 4, 5], vec![8], vec![5]));
    assert_eq!(of("T", "T=0..100"), [0, 3, 5, 11, 23, 47, 100]);
    assert_eq!(of("T", "T=1..8"), [1, 3, 5, 7, 8]);
    assert_eq!(
        all("B=1,2,T=5,9").iter().map(|wkl| (wkl["B"], wkl["T"])).collect::<Vec<_>>(),
        [(1, 5), (1, 9), (2, 5), (2, 9)]
    );
    // Several ranges have fewer values each, their ends always.
    assert_eq!((all("M=1..999,N=1..999").len(), all("M=1..999,N=1..999,K=1..999").len()), (25, 27));
    assert_eq!(all("A=1..9,B=1..9,C=1..9,D=1..9,E=1..9,F=1..9").len(), 64);
    let many = "T=0..2147483648:1".parse::<Shapes>().unwrap();
    assert!(
        many.instances().unwrap_err().to_string().starts_with("found more than 1000 shapes in `T=0..2147483648:1`")
    );
    // Where they pick, a range has all that lies in it.
    let picks = |text: &str, at: &str| text.parse::<Shapes>().unwrap().contains(&wkl(at));
    assert!(
        picks("T=16..2048", "T=17,B=2") && picks("T=16..64:16", "T=48") && picks("", "T=1") && picks("T=1,7", "T=7")
    );
    assert!(!picks("T=16..2048", "T=15") && !picks("T=16..64:16", "T=47") && !picks("B=1", "T=1"));
}

/// That of generators for what an enumeration chose, that of rules for what others found, and of a set for what was merged.
#[test]
fn the_space_hash_is_of_what_was_chosen_from_alone() {
    let hashes = |text: &str| Config::parse("c.json", text).unwrap().space_hashes("cpu");
    let differ = |from: &str, to: &str| {
        assert!(FULL.contains(from), "{from}");
        let (one, other) = (hashes(FULL), hashes(&FULL.replace(from, to)));
        std::array::from_fn::<bool, 3, _>(|at| one[at] != other[at])
    };
    assert!(hashes(FULL).iter().all(|hash| hash.len() == 64));
    assert_eq!(differ("all keys", "other"), [false; 3]);
    assert_eq!(differ("\"seed\": 7", "\"seed\": 8"), [false; 3]);
    assert_eq!(differ("[1, 2.5]", "[1, 3]"), [false; 3]);
    assert_eq!(differ("x86-64-v3", "native"), [true; 3]);
    let [sketches, generators] = [[true, false, false], [false, true, false]];
    assert_eq!(differ("\"k\": 384", "\"k\": 385"), generators, "an evolution never read it");
    assert_eq!(differ("\"structure\": \"SSRRS\"", "\"structure\": \"SSRSRS\""), sketches);
    assert_eq!(differ("\"by_hand\"", "\"None\""), sketches);
    assert_eq!(differ("\"by_hand\"", "\"by_hand\", \"cuda\": { \"dense\": \"None\" }"), [false; 3]);
    for (strategy, from) in [("random", 0), ("evolution", 0), ("enumerate", 1)] {
        let config =
            Config::parse("c.json", FULL.replace("\"strategy\": \"random\"", &format!("\"strategy\": \"{strategy}\"")))
                .unwrap();
        assert_eq!(config.space_hash("cpu", config.search.strategy.into()), hashes(FULL)[from], "{strategy}");
    }
}
