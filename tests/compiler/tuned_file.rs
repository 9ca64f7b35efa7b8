//! The file of winners: written readable, read back, and never trusted.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use dietcode_core::ErrorKind;
use dietcode_core::config::{Cache, Config, RegretBudget};
use dietcode_core::dispatch::{
    Asked, Expected, FORMAT, HeldOut, Instance, Judgement, Measurement, Miss, Provenance, Region, Regret, Selected,
    Tree, Tuned,
};
use dietcode_core::schedule::{Instruction, Trace};
use dietcode_core::sketch::{MicroKernel, Origin, Tiled};
use proptest::prelude::*;
use tempfile::TempDir;

fn small() -> Tiled {
    let tile = BTreeMap::from([("i".to_string(), 80), ("j".to_string(), 5)]);
    Tiled { vector: Some("i".to_string()), register_tile: tile, ..Tiled::default() }
}

fn large() -> Tiled {
    Tiled { pack: vec!["w".to_string()], ..small() }
}

/// A schedule, whichever: whether it holds on a nest, a loader of the file asks.
fn named(tiled: &Tiled) -> MicroKernel {
    let parameters = serde_json::to_value(tiled).unwrap();
    // Two traces, whose names files of this format have to say.
    let (name, length) = if tiled.pack.is_empty() { (SMALL, 1) } else { (LARGE, 2) };
    let origin = Origin { name: name.to_string(), family: "tiled".to_string(), parameters };
    MicroKernel { origin, trace: Trace::new(vec![Instruction::DecomposeReduction; length]), cover: None }
}

const SMALL: &str = "nest_0ff8bd6e";
const LARGE: &str = "nest_a990a073";

fn tuned() -> Tuned {
    let measurement = Measurement::of(1, 101.5, 99.25, 0.5);
    Tuned {
        format: FORMAT,
        kernel: "dense".to_string(),
        target: "cpu".to_string(),
        provenance: Provenance {
            source_hash: "00000000000000ab".to_string(),
            space_hash: "ffff".to_string(),
            cpu: "AMD EPYC, family 26".to_string(),
            device: String::new(),
            features: vec!["avx2".to_string(), "fma".to_string()],
            compiler: "gcc 12.2.0".to_string(),
            estimated: false,
            cache: Cache::Warm,
            date: "2026-11-21".to_string(),
        },
        micro_kernels: vec![
            named(&small()),
            named(&large()),
            MicroKernel::cover(&named(&small()), &named(&large()), "M", 16),
        ],
        reports: BTreeMap::new(),
        tree: Tree::split("M", 488, Tree::Leaf(SMALL.to_string()), Tree::Leaf(LARGE.to_string())),
        instances: vec![Instance {
            wkl: BTreeMap::from([("T".to_string(), 5)]),
            shape: BTreeMap::from([("M".to_string(), 80)]),
            micro_kernel: SMALL.to_string(),
            measurements: vec![measurement],
        }],
        asked: None,
        regret: Some(Regret {
            range: BTreeMap::from([("T".to_string(), [1, 512])]),
            shapes: 40,
            predicted: 3,
            mean: 1.02,
            worst: 1.25,
            selected: vec![Selected { micro_kernel: SMALL.to_string(), mean: 1.02 }],
            regions: vec![Region {
                shape: "M <= 488".to_string(),
                micro_kernel: SMALL.to_string(),
                shapes: 30,
                mean: 1.01,
                worst: 1.125,
            }],
            held_out: Some(HeldOut {
                budget: RegretBudget { mean: Some(1.02), worst: None },
                shapes: 32,
                decided: false,
                mean: 1.01,
                worst: 1.5,
                judgement: Judgement::Kept,
            }),
        }),
    }
}

fn load(path: &Path) -> Result<Tuned, Miss> {
    let expected = Expected {
        kernel: "dense",
        target: "cpu",
        shape_vars: &["M".to_string(), "K".to_string()],
        source_hash: 0xab,
        space_hashes: &["eeee".to_string(), "ffff".to_string()],
        cpu: "AMD EPYC, family 26",
        features: &["avx2", "fma"],
        compiler: Some("gcc 12.2.0"),
    };
    Tuned::load(path, &expected)
}

fn saved() -> (TempDir, PathBuf, String) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("dense.cpu.tuned.json");
    tuned().save(&path).unwrap();
    let text = fs::read_to_string(&path).unwrap();
    (folder, path, text)
}

/// The message of a miss, which is one line and says what to do.
fn message(path: &Path) -> String {
    let message = load(path).unwrap_err().to_string();
    assert!(!message.contains(char::is_control), "{message}");
    let config = path.with_file_name("dense.json");
    let rest = message.strip_prefix(&format!("{}: ", path.display())).unwrap();
    let why = rest.strip_suffix(&format!("; run `dietcode tune {}`", config.display()));
    why.unwrap_or_else(|| panic!("{message}")).to_string()
}

/// Or what a search has written in its place.
#[test]
fn the_one_beside_the_shipped_config_can_be_read() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../configs/bert_dense.cpu.tuned.json");
    let tuned: Tuned = serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap();
    assert_eq!((tuned.format, &*tuned.kernel, &*tuned.target), (FORMAT, "dense", "cpu"));
}

#[test]
fn what_is_saved_is_loaded() {
    let (folder, path, text) = saved();
    assert_eq!(load(&path).unwrap(), tuned());
    assert!(text.ends_with("}\n"));
    let words = text.split_whitespace().collect::<Vec<&str>>().join(" ");
    let tree = format!(r#""if": "M <= 488", "then": "{SMALL}", "else": "{LARGE}""#);
    assert!(words.contains(&tree) && words.contains(r#""vector": "i""#), "{text}");
    // Only the file is left, and it can be replaced.
    tuned().save(&path).unwrap();
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[cfg(unix)]
#[test]
fn a_saved_file_may_be_read_by_all() {
    use std::os::unix::fs::PermissionsExt;
    let (folder, path, _) = saved();
    let plain = folder.path().join("plain");
    fs::write(&plain, "").unwrap();
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode();
    assert_eq!(mode(&path), mode(&plain));
}

#[test]
fn no_file_is_a_miss_of_its_own() {
    let (folder, path, _) = saved();
    let missing = folder.path().join("other.cpu.tuned.json");
    let miss = load(&missing).unwrap_err();
    assert!(miss.is_absent());
    assert!(miss.to_string().ends_with("other.json`"), "{miss}");
    fs::write(&path, "").unwrap();
    assert!(!load(&path).unwrap_err().is_absent());
}

/// A file of the first format, whose schedules were parameters, is a miss with one line.
#[test]
fn an_old_format_is_a_miss() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("dense.cpu.tuned.json");
    fs::write(&path, include_str!("tuned_file/format_1.json")).unwrap();
    assert_eq!(message(&path), "its format version is 1, expected 3");
}

/// The name of a trace follows from it.
#[test]
fn a_trace_under_another_name_is_a_miss() {
    let (_folder, path, text) = saved();
    fs::write(&path, text.replacen(SMALL, "8x48_3f9a12c4", 1)).unwrap();
    let expected = format!("a micro-kernel is called \"8x48_3f9a12c4\", but its schedule is \"{SMALL}\"");
    assert_eq!(message(&path), expected);
}

#[test]
fn every_mismatch_is_a_miss() {
    let (_folder, path, text) = saved();
    let cases = [
        ("\"format\": 3", "\"format\": 4", "its format version is 4, expected 3"),
        ("\"dense\"", "\"conv\"", "its kernel is \"conv\", expected \"dense\""),
        ("\"cpu\",", "\"cuda\",", "its target is \"cuda\", expected \"cpu\""),
        ("00ab", "00ac", "its hash of the nest is \"00000000000000ac\", expected \"00000000000000ab\""),
        (
            "ffff",
            "fff",
            "its hash of what it was chosen from (the config's rules or generators, march, tf32) is \"fff\", expected eeee or ffff",
        ),
        ("family 26", "family 25", "its CPU is \"AMD EPYC, family 25\", expected \"AMD EPYC, family 26\""),
        ("\"fma\"", "\"avx512f\"", "its list of CPU features is \"avx2 avx512f\", expected \"avx2 fma\""),
        ("gcc 12.2.0", "gcc 13\\n", "its compiler is \"gcc 13\\n\", expected \"gcc 12.2.0\""),
        (
            &format!("\"name\": \"{SMALL}\""),
            "\"name\": \"x; int y\"",
            &format!("a micro-kernel is called \"x; int y\", but its schedule is \"{SMALL}\""),
        ),
        ("M <= 488", "Q <= 488", "its tree asks for \"Q\", which is no shape variable"),
        (
            &format!("\"then\": \"{SMALL}\""),
            "\"then\": \"y\"",
            "its tree leads to \"y\", which is not among its micro-kernels",
        ),
        ("\"instances\":", "\"asked\": { \"weights\": [] }, \"instances\":", "its number of weights is 0, expected 1"),
    ];
    for (from, to, expected) in cases {
        assert!(text.contains(from), "{from}");
        fs::write(&path, text.replacen(from, to, 1)).unwrap();
        assert_eq!(message(&path), expected, "{from} -> {to}");
    }
}

#[test]
fn what_cannot_be_read_is_a_miss() {
    let (folder, path, text) = saved();
    let cases = [
        (
            "M <= 488",
            "M < 488",
            "it cannot be read: found the condition \"M < 488\", expected one such as \"M <= 488\"",
        ),
        ("M <= 488", "M <= 9999999999999999999", "it cannot be read: found the condition"),
        ("\"if\"", "\"if\\n\"", "it cannot be read: unknown field `if\\n`, expected one of `if`, `then`, `else`"),
        (
            &format!("\"then\": \"{SMALL}\""),
            "\"then\": 1",
            "it cannot be read: invalid type: integer `1`, expected a micro-kernel's name",
        ),
        ("\"decompose_reduction\"", "\"decompose\"", "it cannot be read: unknown variant `decompose`"),
        ("\"threads\"", "\"thread\"", "it cannot be read: unknown field `thread`"),
        ("\"multiple\"", "\"multiples\"", "it cannot be read: unknown field `multiples`"),
        ("\"multiple\": 16", "\"multiple\": 1e9", "it cannot be read: invalid type: floating point"),
        ("\"multiple\": 16", "\"multiple\": 32", "a micro-kernel is called \"nest_and_nest_"),
        ("\"along\": \"M\"", "\"along\": \"K\"", "a micro-kernel is called \"nest_and_nest_"),
        ("99.25", "null", "it cannot be read: invalid type: null, expected f64"),
    ];
    for (from, to, expected) in cases {
        assert!(text.contains(from), "{from}");
        fs::write(&path, text.replacen(from, to, 1)).unwrap();
        assert!(message(&path).starts_with(expected), "{}", message(&path));
    }
    fs::write(&path, [0xff, 0xfe]).unwrap();
    assert!(message(&path).starts_with("it cannot be read: "));
    fs::write(&path, vec![b' '; (16 << 20) + 1]).unwrap();
    assert_eq!(message(&path), "it is larger than 16 MiB");
    let directory = folder.path().join("d");
    fs::create_dir(&directory).unwrap();
    assert!(load(&directory).unwrap_err().to_string().contains("it is not a file"));
}

/// Opening a pipe would wait for somebody who writes.
#[cfg(unix)]
#[test]
fn a_pipe_is_not_waited_for() {
    let folder = tempfile::tempdir().unwrap();
    let pipe = folder.path().join("pipe");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    assert!(load(&pipe).unwrap_err().to_string().contains("it is not a file"));
}

#[test]
fn micro_kernels_must_be_there_once() {
    let (_folder, path, text) = saved();
    let twice = format!("the micro-kernel \"{SMALL}\" is there twice");
    for (micro_kernels, why) in
        [(vec![named(&small()), named(&small())], &*twice), (Vec::new(), "it has no micro-kernels")]
    {
        let wrong = Tuned { micro_kernels, ..tuned() };
        let error = wrong.save(&path).unwrap_err().to_string();
        assert!(error.ends_with(why), "{error}");
        assert_eq!(fs::read_to_string(&path).unwrap(), text, "nothing is written");
        fs::write(&path, serde_json::to_string(&wrong).unwrap()).unwrap();
        assert_eq!(message(&path), why);
        fs::write(&path, &text).unwrap();
    }
}

#[test]
fn depth_is_limited() {
    let (_folder, path, text) = saved();
    let deep = |depth: usize| {
        (0..depth).fold(Tree::Leaf(SMALL.to_string()), |tree, at| {
            Tree::split("M", at as i64, tree, Tree::Leaf(LARGE.to_string()))
        })
    };
    let with = |tree: Tree| Tuned { tree, ..tuned() };
    assert_eq!(deep(3).depth(), 3);
    with(deep(48)).save(&path).unwrap();
    assert_eq!(load(&path).unwrap().tree, deep(48));
    assert_eq!(with(deep(49)).save(&path).unwrap_err().kind(), ErrorKind::Failed);
    // What was saved before is still there.
    load(&path).unwrap();
    for depth in [49, 100, 10_000] {
        let open = "{\"if\": \"M <= 1\", \"then\": ".repeat(depth);
        let close = format!(", \"else\": \"{SMALL}\"}}").repeat(depth);
        let nested = format!("\"then\": {open}\"{SMALL}\"{close}");
        fs::write(&path, text.replacen(&format!("\"then\": \"{SMALL}\""), &nested, 1)).unwrap();
        let message = message(&path);
        assert!(message == "its tree is more than 48 deep" || message.contains("recursion limit"), "{message}");
    }
}

#[test]
fn what_could_not_be_read_back_is_not_saved() {
    let (_folder, path, _) = saved();
    let mut odd = tuned();
    odd.instances[0].measurements[0].gflops_measured = f64::NAN;
    assert_eq!(odd.save(&path).unwrap_err().kind(), ErrorKind::Failed);
    assert_eq!(load(&path).unwrap(), tuned());
    assert!(tuned().save(&path.join("no/folder")).is_err());
}

#[test]
fn trees_pick() {
    let leaf = |name: &str| Tree::Leaf(name.to_string());
    let tree = Tree::split("M", 488, Tree::split("K", -1, leaf("a"), leaf("b")), leaf("c"));
    let vars = ["M".to_string(), "K".to_string()];
    assert_eq!(tree.pick(&vars, &[488, -1]), "a");
    assert_eq!(tree.pick(&vars, &[0, 0]), "b");
    assert_eq!(tree.pick(&vars, &[489, 0]), "c");
    assert_eq!(tree.pick(&[], &[]), "c");
    assert_eq!(tree.leaves().collect::<Vec<_>>(), ["a", "b", "c"]);
}

proptest! {
    #[test]
    fn truncated_and_changed_files_never_panic(
        cut in any::<prop::sample::Index>(),
        at in any::<prop::sample::Index>(),
        byte in any::<u8>(),
    ) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("dense.cpu.tuned.json");
        let mut bytes = serde_json::to_vec(&tuned()).unwrap();
        let whole = bytes.len();
        fs::write(&path, &bytes[..cut.index(whole)]).unwrap();
        prop_assert!(!load(&path).unwrap_err().is_absent());
        bytes[at.index(whole)] = byte;
        fs::write(&path, &bytes).unwrap();
        if let Err(miss) = load(&path) {
            prop_assert!(!miss.to_string().contains(char::is_control));
        }
    }
}

/// A config of the tuned file's kernel.
fn config(shape: &str, instances: &str) -> Config {
    let text = format!(
        r#"{{ "kernel": {{ "source": "ops.rs", "function": "dense" }}, "shape": {{ {shape} }}, "wkl_insts": [{instances}] }}"#
    );
    Config::parse("configs/dense.json", text).unwrap()
}

#[test]
fn what_a_file_was_not_tuned_for_is_said_in_one_line() {
    let vars = ["M".to_string(), "K".to_string()];
    let mut tuned = tuned();
    tuned.instances[0].shape.insert("K".to_string(), 768);
    let gap = |tuned: &Tuned, shape: &str, instances: &str| {
        let gap = tuned.gap(&config(shape, instances), &vars).unwrap();
        gap.map(|gap| (gap.to_string(), gap.instances))
    };
    let said = |line: &str| {
        line.strip_prefix("`dense` was tuned for 1 instance; ")
            .and_then(|line| line.strip_suffix("; run `dietcode tune configs/dense.json`"))
            .unwrap_or_else(|| panic!("{line}"))
            .to_owned()
    };
    let (plain, wider) = (r#""M": "16*T", "K": 768"#, r#""M": "32*T", "K": 1024"#);
    assert_eq!(gap(&tuned, plain, r#"{ "T": 5 }"#), None);
    // Shapes count, not what they are called.
    assert_eq!(gap(&tuned, r#""M": "8*B", "K": 768"#, r#"{ "B": 10 }"#), None);
    assert_eq!(gap(&tuned, r#""M": 80, "K": 768"#, "{}"), None);

    let (line, new) = gap(&tuned, plain, r#"{ "T": 200 }, { "T": 5 }"#).unwrap();
    assert_eq!((said(&line).as_str(), new), ("T=200 of configs/dense.json is not among them", vec![0]));
    let (line, new) = gap(&tuned, plain, r#"{ "T": 5 }, { "T": 6 }, { "T": 7 }, { "T": 8 }"#).unwrap();
    let three = "T=6 and 2 more of configs/dense.json are not among them";
    assert_eq!((said(&line).as_str(), new), (three, vec![1, 2, 3]));
    let (line, _) = gap(&tuned, wider, r#"{ "T": 5 }, { "T": 6 }"#).unwrap();
    assert_eq!(said(&line), "T=5 with K=1024,M=160 and 1 more of configs/dense.json are not among them");
    let (line, _) = gap(&tuned, r#""M": 80, "K": 769"#, "{}").unwrap();
    let both = "K=769,M=80 of configs/dense.json is not among them; T=5 of them is not in configs/dense.json any more";
    assert_eq!(said(&line), both);

    let of_device = Tuned { target: "sm_80".to_string(), instances: Vec::new(), ..tuned };
    let (line, _) = gap(&of_device, plain, r#"{ "T": 5 }"#).unwrap();
    assert_eq!(line, "`dense` was tuned for 0 instances on sm_80; T=5 of configs/dense.json is not among them");
}

/// What a config asked for beside its instances when it was tuned, and asks for now.
#[test]
fn what_a_file_was_tuned_towards_is_said_where_that_is_other_now() {
    let vars = ["M".to_string(), "K".to_string()];
    let config = |more: &str, cache: &str| {
        let text = format!(
            r#"{{ "kernel": {{ "source": "ops.rs", "function": "dense" }}, "shape": {{ "M": "16*T", "K": 768 }},
                "wkl_insts": [{{ "T": 5 }}, {{ "T": 6 }}], {more} "search": {{ "cache": "{cache}" }} }}"#
        );
        Config::parse("configs/dense.json", text).unwrap()
    };
    let range = r#""range": { "T": [1, 512] }, "#;
    let asked = Asked {
        weights: vec![1.0, 3.0, 1.0],
        range: [("T".to_owned(), [1, 512])].into(),
        regret: Some(RegretBudget { mean: None, worst: Some(1.1) }),
    };
    let mut tuned = Tuned { asked: Some(asked), ..tuned() };
    for t in [5, 6, 7] {
        let shape = [("M".to_owned(), 16 * t), ("K".to_owned(), 768)].into();
        tuned.instances.push(Instance { wkl: [("T".to_owned(), t)].into(), shape, ..tuned.instances[0].clone() });
    }
    tuned.instances.remove(0);
    let told = |tuned: &Tuned, more: &str, cache: &str| {
        let line = tuned.gap(&config(more, cache), &vars).unwrap().map(|gap| gap.to_string())?;
        let line =
            line.strip_prefix("`dense` was tuned for 3 instances; T=7 of them is not in configs/dense.json any more")?;
        Some(line.strip_suffix("; run `dietcode tune configs/dense.json`")?.to_owned())
    };
    let same = format!(r#"{range}"regret": {{ "worst": 1.1 }}, "wkl_inst_weights": [1, 3], "#);
    let of = |from: &str, to: &str| told(&tuned, &same.replace(from, to), "warm").unwrap();
    assert_eq!(of("", ""), "");
    assert_eq!(of("[1, 3]", "[2, 3]"), "; its weights changed, of T=5 from 1 to 2");
    assert_eq!(of("[1, 3]", "[3, 1]"), "; its weights changed, of T=5 from 1 to 3 and 1 more");
    assert_eq!(of("512", "128"), r#"; its `range` was {"T":[1,512]} and is {"T":[1,128]}"#);
    assert_eq!(of(range, ""), r#"; its `range` was {"T":[1,512]} and is nothing"#);
    assert_eq!(of("1.1", "1.2"), r#"; its `regret` was {"worst":1.1} and is {"worst":1.2}"#);
    assert_eq!(told(&tuned, &same, "cold").unwrap(), r#"; its `cache` was "warm" and is "cold""#);
    // An older file says of caches alone what they were.
    let older = Tuned { asked: None, ..tuned.clone() };
    assert_eq!(told(&older, "", "warm").unwrap(), "");
    assert_eq!(told(&older, "", "cold").unwrap(), r#"; its `cache` was "warm" and is "cold""#);
}
