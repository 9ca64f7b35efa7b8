//! `dietcode expand` of sets, and what the other commands say when they are given one.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::{Value, json};

fn root(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

fn dietcode(arguments: &[&str], folder: &Path) -> Output {
    Command::new(env!("CARGO_BIN_EXE_dietcode")).args(arguments).current_dir(folder).output().expect("it starts")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn stdout(arguments: &[&str]) -> String {
    let output = dietcode(arguments, Path::new(env!("CARGO_MANIFEST_DIR")));
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    text(&output.stdout)
}

#[test]
fn the_number_alone() {
    assert_eq!(stdout(&["expand", "tests/portblas/default.json", "--count"]), "299\n");
    assert_eq!(stdout(&["expand", "tests/portblas/intel_gpu.json", "--count"]), "1312\n");
}

#[test]
fn names_lines_of_json_and_a_summary() {
    let file = "tests/portblas/default.json";
    let (list, lines) = (stdout(&["expand", file, "--list"]), stdout(&["expand", file, "--json", "-"]));
    assert!(list.starts_with("non_local_i4x4_w4x4_v1_partial\nnon_local_i4x4_w4x4_v2_partial\n"), "{list}");
    assert_eq!((list.lines().count(), lines.lines().count()), (299, 299));
    for (name, line) in list.lines().zip(lines.lines()) {
        let line: Value = serde_json::from_str(line).expect("a line of JSON");
        assert_eq!(line["name"], name);
        assert!(name.starts_with(line["configuration"]["family"].as_str().expect("a family")), "{line}");
    }
    let summary = stdout(&["expand", "tests/portblas/intel_gpu.json"]);
    assert!(
        summary.starts_with("1312 configurations, of 1792 combinations\n  1312  local\n  256  local without "),
        "{summary}"
    );
    let own = stdout(&["expand", "configs/sm_80.json"]);
    assert!(own.ends_with(" schedules for the set's own 28 kernels\n"), "{own}");
}

/// A file's contents, and how the error about it begins.
fn hostile() -> Vec<(Vec<u8>, String)> {
    let wide: Vec<u32> = (1..=10_000).collect();
    let pairs: Vec<[u32; 2]> = wide.iter().map(|size| [*size; 2]).collect();
    let huge = json!({"non_local": [{
        "work_item_sizes": pairs, "work_group_sizes": pairs, "vectorization_size": wide
    }]});
    let naive = |size: &str| format!("{{\"naive\": [\n  {{\"cache_line_size\": [{size}]}}]}}");
    let at = |rest: &str| format!("h.json:2:{rest}");
    let size = "expected a whole number from 1 to 16384";
    vec![
        (
            naive("\"64\"").into(),
            at(&format!("24: key `naive[0].cache_line_size[0]`: found the string \"64\", {size}")),
        ),
        (naive("0").into(), at(&format!("24: key `naive[0].cache_line_size[0]`: found 0, {size}"))),
        (naive("-64").into(), at(&format!("24: key `naive[0].cache_line_size[0]`: found -64, {size}"))),
        (naive("1000000000000").into(), at("24: key `naive[0].cache_line_size[0]`: found 1000000000000")),
        (naive("").into(), at("23: key `naive[0].cache_line_size`: found an empty array")),
        (naive("6").into(), at("3: key `naive[0]`: found no valid configuration among 1: cache_line_of_elements")),
        (naive("64, ]").into(), at("28: ")),
        (naive("64").replace("size", "sizes").into(), at("4: key `naive[0].cache_line_sizes`: found an unknown key")),
        (
            naive("64").replace("\"cache_line_size\": [64]", "").into(),
            at("3: key `naive[0]`: the key `cache_line_size` is missing"),
        ),
        (naive("64").replace("naive", "local").into(), at("3: key `local[0]`: the key `work_item_sizes` is missing")),
        (
            naive("64").into_bytes().into_iter().map(|c| if c == b'6' { 0xff } else { c }).collect(),
            at("24: found a byte"),
        ),
        (
            huge.to_string().into(),
            "h.json:1:15: key `non_local[0]`: found a generator with which the family has 2000000000000 combinations"
                .into(),
        ),
        (b"not JSON".into(), "h.json:1:2: ".into()),
        (Vec::new(), "h.json:1:1: EOF".into()),
        (b"[]".into(), "h.json:1:1: found an array, expected an object".into()),
        (vec![b' '; 200 << 20], "h.json: is larger than 16 MiB".into()),
    ]
}

#[test]
fn what_is_wrong_is_status_2_with_its_place_and_nothing_else() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    for (contents, expected) in hostile() {
        fs::write(folder.path().join("h.json"), &contents).expect("the folder can be written");
        for form in [&["expand", "h.json"][..], &["expand", "h.json", "--count"], &["expand", "h.json", "--json", "-"]]
        {
            let output = dietcode(form, folder.path());
            let message = text(&output.stderr);
            assert_eq!((output.status.code(), output.stdout.len()), (Some(2), 0), "{message}");
            assert!(message.starts_with(&format!("dietcode: {expected}")), "{message}\n{expected}");
            assert_eq!(message.lines().count(), 1, "{message}");
        }
    }
    let output = dietcode(&["expand", "."], folder.path());
    assert_eq!((output.status.code(), text(&output.stderr)), (Some(2), "dietcode: .: is not a file\n".to_owned()));
    assert_eq!(fs::read_dir(folder.path()).expect("it is there").count(), 1, "nothing was written");
}

#[test]
fn commands_for_one_kernel_say_what_a_set_is() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    fs::copy(root("configs/cpu_avx2.json"), folder.path().join("set.json")).expect("it can be copied");
    for command in [&["tune"][..], &["bench"], &["explain", "--wkl", "T=1"]] {
        let output = dietcode(&[command, &["set.json"]].concat(), folder.path());
        let message = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{message}");
        assert!(
            message.starts_with("dietcode: set.json:1:1: found a set, which stands for configurations of any kernel")
        );
        assert!(message.contains("`dietcode expand` shows a set, DIETCODE_CONFIG builds one"), "{message}");
    }
    assert_eq!(fs::read_dir(folder.path()).expect("it is there").count(), 1, "nothing was written");
}

/// A kernel's config with no more than it must have stands for all that rules make of the nest.
#[test]
fn a_config_without_generators_stands_for_the_whole_space() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let config = |more: &str| {
        let must = r#""kernel": { "source": "ops.rs", "function": "dense" }, "shape": { "M": "T", "K": 8, "N": 16 },
            "wkl_insts": [{ "T": 5 }]"#;
        fs::write(folder.path().join("c.json"), format!("{{ {must}{more} }}")).expect("the folder can be written");
    };
    fs::write(folder.path().join("ops.rs"), include_str!("../nests/dense.rs")).expect("the folder can be written");
    let expand = |form: &[&str]| {
        let output = dietcode(&[&["expand", "c.json"], form].concat(), folder.path());
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
        text(&output.stdout)
    };
    config("");
    let sketches = text(&dietcode(&["explain", "c.json", "--sketches"], folder.path()).stdout);
    let count = sketches.lines().filter(|line| line.starts_with("sketch ")).count();
    assert!(count > 1, "{sketches}");
    let whole = format!(
        "`dietcode tune c.json` searches all schedules of `dense` that rules make of its nest, by the strategy evolution: \
         {count} sketches, whose sizes are drawn, as `dietcode explain c.json --sketches` shows them\n"
    );
    let said = format!("no generators for a CPU\n{whole}");
    assert_eq!([expand(&[]), expand(&["--list"])], [said.clone(), said]);
    assert_eq!(expand(&["--count"]), "0\n");
    let objects = |form: &[&str]| {
        let printed = expand(&[form, &["--json", "-"]].concat());
        expand(&[form, &["--json", "out.json"]].concat());
        assert_eq!(printed, fs::read_to_string(folder.path().join("out.json")).expect("it was written"));
        serde_json::from_str::<Value>(&printed).expect("one object")
    };
    let object = objects(&[]);
    assert_eq!([&object, &object], [&objects(&["--list"]), &objects(&["--count"])]);
    let sketches_of = |object: &Value| object["sketches"].as_array().expect("an array").clone();
    assert_eq!(sketches_of(&object).len(), count);
    assert!(sketches_of(&object).iter().all(|sketch| sketch["rules"].is_array()), "{object}");
    let expected = json!({ "kernel": "dense", "schedules": 0, "cuda": null, "strategy": "evolution" });
    for (key, value) in expected.as_object().expect("an object") {
        assert_eq!(&object[key], value, "{key}");
    }

    config(r#", "search": { "strategy": "enumerate" }"#);
    assert!(expand(&[]).ends_with("tries those of the generators, by the strategy enumerate, and the default\n"));
    assert_eq!(objects(&[])["sketches"], Value::Null);
    let cuda = r#", "targets": { "cuda": { "capabilities": ["sm_80", "sm_90"], "generators": [
        { "family": "blocked", "thread": [{ "i": 8, "j": 16 }], "inner": [{ "i": 2, "j": 2 }, {}] }] } }"#;
    config(cuda);
    let of = |device: &str| format!("2 schedules for {device}, of which a build takes a few: 2 valid, 0 not\n");
    let said = format!("no generators for a CPU\n{}{}{whole}", of("sm_80"), of("sm_90"));
    assert_eq!(expand(&[]), said);
    assert_eq!(objects(&[])["cuda"], json!({ "capabilities": ["sm_80", "sm_90"], "schedules": 2 }));
    config(&cuda.replace(r#""i": 8, "j": 16"#, r#""i": 512, "j": 32"#));
    let reason = "  2  schedule of `dense`: bind: a block has up to n threads, `thread` has n\n";
    let of = |device: &str| format!("2 schedules for {device}, of which a build takes a few: 0 valid, 2 not\n{reason}");
    assert_eq!(expand(&[]), format!("no generators for a CPU\n{}{}{whole}", of("sm_80"), of("sm_90")));
}
