//! `dietcode tune --kernel`: a config is made, and tuned by.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Output};

use serde_json::{Value, json};

const DENSE: &str = include_str!("../../nests/dense.rs");
const SCALE: &str = include_str!("../../nests/scale.rs");

/// A crate as a user has it: a manifest, and a source with two kernels, without a config.
struct Crate(tempfile::TempDir);

impl Crate {
    fn new() -> Crate {
        let place = Crate(tempfile::tempdir().unwrap());
        fs::create_dir(place.path("src")).unwrap();
        fs::write(place.path("Cargo.toml"), "[package]\nname = \"mine\"\n").unwrap();
        fs::write(place.path("src/dense.rs"), DENSE).unwrap();
        fs::write(place.path("src/ops.rs"), format!("{DENSE}{SCALE}")).unwrap();
        place
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// `dietcode tune` in a folder of the crate, with no more work than a tuned file takes.
    fn tune(&self, folder: &str, kernel: &str, more: &[&str]) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_dietcode"));
        command.args(["tune", "--kernel", kernel]).args(more).current_dir(self.path(folder));
        command.args(["--seconds", "2", "--trials", "1", "--threads", "1", "--blas", "none"]).output().unwrap()
    }

    fn refuse(&self, kernel: &str, more: &[&str], why: &str) {
        let output = self.tune("", kernel, more);
        assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
        assert!(stderr(&output).contains(why), "{}", stderr(&output));
    }

    fn json(&self, name: &str) -> Value {
        serde_json::from_str(&fs::read_to_string(self.path(name)).unwrap()).unwrap()
    }
}

fn stdout(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

const SMALL: [&str; 2] = ["--wkl", "M=1..40,N=16,K=8"];

#[test]
fn a_config_is_made_and_tuned_by() {
    let place = Crate::new();
    let output = place.tune("", "src/ops.rs:dense", &SMALL);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let config = place.json("configs/dense.json");
    assert_eq!(config["$schema"], "schema.json");
    assert_eq!(config["kernel"], json!({ "source": "../src/ops.rs", "function": "dense" }));
    assert_eq!(config["shape"], json!({ "M": "M", "K": "K", "N": "N" }));
    let rows: Vec<i64> = config["wkl_insts"].as_array().unwrap().iter().map(|wkl| wkl["M"].as_i64().unwrap()).collect();
    assert_eq!(rows, [1, 3, 7, 13, 23, 40], "both ends, and odd ones between them");
    assert!(place.json("configs/schema.json")["$defs"]["config"].is_object());
    let tuned = place.json("configs/dense.cpu.tuned.json");
    assert_eq!(tuned["instances"].as_array().unwrap().len(), 6);
    let said = stdout(&output);
    assert!(said.starts_with("Written: configs/dense.json: 6 instances of `dense`, K=8,M=1,N=16 "), "{said}");
    let line = "Written: configs/dense.cpu.tuned.json\n\
        For builds to use it: #[dynamic_kernel(config = \"configs/dense.json\")] at `dense` in src/ops.rs\n";
    assert!(said.ends_with(line), "{said}");

    // The same again is no other config; other shapes are, and nothing is overwritten.
    let output = place.tune("", "src/ops.rs:dense", &SMALL);
    assert!(stdout(&output).starts_with("As it stands in configs/dense.json: 6 instances"), "{}", stderr(&output));
    let before = fs::read_to_string(place.path("configs/dense.json")).unwrap();
    let why = "configs/dense.json is there already, with other words than would be written: `dietcode tune configs/dense.json`";
    place.refuse("src/ops.rs:dense", &["--wkl", "M=5,N=16,K=8"], why);
    assert_eq!(fs::read_to_string(place.path("configs/dense.json")).unwrap(), before);
    // Other commands take the same words.
    // Done as it was said, the file holds.
    let source = fs::read_to_string(place.path("src/ops.rs")).unwrap();
    let attribute = "#[dynamic_kernel(config = \"configs/dense.json\")]";
    fs::write(place.path("src/ops.rs"), source.replacen("#[dynamic_kernel]", attribute, 1)).unwrap();
    let mut explain = Command::new(env!("CARGO_BIN_EXE_dietcode"));
    explain.args(["explain", "configs/dense.json", "--wkl", "M=17,N=16,K=8"]).current_dir(place.path(""));
    let explained = explain.output().unwrap();
    assert!(explained.status.success() && !stdout(&explained).contains("default"), "{}", stdout(&explained));
}

/// From another folder, of the only kernel of a file, whose attribute names a config that nobody has written yet.
#[test]
fn a_config_lies_where_the_attribute_says() {
    let place = Crate::new();
    let named = DENSE.replace("#[dynamic_kernel]", "#[dynamic_kernel(config = \"tuning/cpu/own.json\")]");
    fs::write(place.path("src/dense.rs"), &named).unwrap();
    let wkl = ["--wkl", "M=3,N=8,K=8", "--wkl", "M=2,3,N=8,K=8", "--json", "-"];
    let output = place.tune("src", "dense.rs", &wkl);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let config = place.json("tuning/cpu/own.json");
    assert_eq!(config["kernel"]["source"], "../../src/dense.rs");
    assert_eq!(config["wkl_insts"], json!([{ "M": 3, "K": 8, "N": 8 }, { "M": 2, "K": 8, "N": 8 }]));
    assert!(serde_json::from_str::<Value>(&stdout(&output)).unwrap()["rows"].is_array(), "{}", stdout(&output));
    assert!(
        stderr(&output).contains("own.cpu.tuned.json") && !stderr(&output).contains("For builds"),
        "{}",
        stderr(&output)
    );
    // One that is there is for other shapes; this kernel's own is made beside it.
    let output = place.tune("src", "dense.rs", &["--wkl", "M=5,N=8,K=8"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert!(
        stdout(&output)
            .contains("config = \"configs/dense.json\")] at `dense` in dense.rs, in place of tuning/cpu/own.json")
    );
}

#[test]
fn what_no_config_can_be_made_of_is_told() {
    let place = Crate::new();
    fs::write(place.path("src/none.rs"), "fn dense() {}").unwrap();
    fs::write(place.path("src/broken.rs"), DENSE.replace("acc += x[i][k]", "acc += x[k]")).unwrap();
    fs::write(place.path("src/no_rust.rs"), "fn (").unwrap();
    let refuse = |kernel: &str, why: &str| place.refuse(kernel, &SMALL, why);
    refuse("src/missing.rs:dense", "--kernel: src/missing.rs cannot be read: No such file");
    refuse(
        "src/dense.rs:sparse",
        "--kernel: src/dense.rs has no function `sparse` with #[dynamic_kernel]; there is `dense`",
    );
    refuse(
        "src/ops.rs",
        "expected the name of one function with #[dynamic_kernel]; in src/ops.rs there is `dense`, `scale`",
    );
    refuse("src/none.rs", "in src/none.rs there is none at all");
    refuse("src/none.rs:dense", "has no function `dense` with #[dynamic_kernel]; there is none at all");
    refuse("src/broken.rs:dense", "dietcode: src/broken.rs:7:24: ");
    refuse("src/no_rust.rs", "dietcode: src/no_rust.rs:1:4: ");
    refuse("src", "such as src/ops.rs:dense");
    refuse("src/dense.rs:", "such as src/ops.rs:dense");

    let refuse = |more: &[&str], why: &str| place.refuse("src/dense.rs", more, why);
    refuse(&[], "expected --wkl with the shape variables of `dense`, such as --wkl M=16..2048,K=16..2048,N=16..2048");
    refuse(&["--wkl", "M=1,K=8"], "--wkl M=1,K=8: the shape variable `N` is missing; `dense` has M, K, N");
    refuse(&["--wkl", "T=1"], "--wkl T=1: found the unknown shape variable `T`; `dense` has M, K, N");
    refuse(&["--wkl", "M=0..4,K=8,N=8"], "the loop over `i` of `dense` has 0 iterations at M=0: a call takes it");
    refuse(&["--wkl", "M=1..9999:1,K=8,N=8"], "found more than 1000 shapes");
    refuse(&["--wkl", "M=9..1,K=8,N=8"], "both ends included");
    refuse(&[SMALL[0], SMALL[1], "c.json"], "cannot be used with");
    assert!(!place.path("configs").exists(), "nothing was written");
    fs::write(place.path("configs"), "").unwrap();
    let output = place.tune("", "src/dense.rs", &SMALL);
    assert_eq!(output.status.code(), Some(3), "{}", stderr(&output));
    assert!(stderr(&output).contains("configs/dense.json: cannot be written"), "{}", stderr(&output));
}
