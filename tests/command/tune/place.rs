//! A folder with a config that is searched in a few seconds.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

use serde_json::Value;

const OPS: &str = concat!(include_str!("../../nests/dense.rs"), include_str!("../../nests/scale.rs"));

const DENSE: &str = r#"{
  "kernel": { "source": "ops.rs", "function": "dense" },
  "shape": { "M": "8*T", "K": 32, "N": 48 },
  "wkl_insts": [{ "T": 1 }, { "T": 3 }],
  "search": {
    "threads": [1], "seed": 7, "strategy": "enumerate",
    "evolution": { "population": 12, "generations": 1, "retries": 3, "per_round": 3 }
  },
  "targets": { "cpu": { "march": "x86-64-v3", "generators": [
    { "family": "tiled", "vector": ["j"], "register_tile": [{ "i": 4, "j": 16 }, { "i": 2, "j": 32 }, { "i": 1, "j": 16 }],
      "block_tile": [{ "k": 32 }, { "k": 16 }], "pack": [["w"]] }
  ] } }
}"#;

const SCALE: &str = r#"{
  "kernel": { "source": "ops.rs", "function": "scale" },
  "shape": { "M": "8*T", "N": 64 },
  "wkl_insts": [{ "T": 2 }],
  "search": { "threads": [1], "strategy": "enumerate" },
  "targets": { "cpu": { "march": "x86-64-v3", "generators": [
    { "family": "tiled", "vector": ["j"], "register_tile": [{ "i": 1, "j": 16 }, { "i": 2, "j": 16 }] }
  ] } }
}"#;

/// A folder with two configs and their source.
pub(crate) struct Place(tempfile::TempDir);

impl Place {
    pub(crate) fn new() -> Place {
        let place = Place(tempfile::tempdir().unwrap());
        for (name, text) in [("ops.rs", OPS), ("dense.json", DENSE), ("scale.json", SCALE)] {
            fs::write(place.path(name), text).unwrap();
        }
        place
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// Replaces a part of a file.
    pub(crate) fn set(&self, name: &str, from: &str, to: &str) {
        let text = fs::read_to_string(self.path(name)).unwrap();
        assert!(text.contains(from), "{text}");
        fs::write(self.path(name), text.replacen(from, to, 1)).unwrap();
    }

    /// `dietcode tune` with what every test wants, and more.
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_dietcode"));
        command.arg("tune").args(arguments).args(["--blas", "none"]).current_dir(self.0.path());
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    /// Runs it; gives what was said.
    pub(crate) fn tune(&self, arguments: &[&str]) -> String {
        let output = self.command(arguments).output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{}", said(&output));
        said(&output)
    }

    pub(crate) fn json(&self, name: &str) -> Value {
        serde_json::from_str(&fs::read_to_string(self.path(name)).unwrap()).unwrap()
    }

    /// The lines of the records, the last one only if it is whole.
    pub(crate) fn lines(&self) -> Vec<String> {
        self.lines_of("dense")
    }

    pub(crate) fn records(&self) -> Vec<Value> {
        self.records_of("dense")
    }

    /// The records of a config.
    pub(crate) fn records_of(&self, config: &str) -> Vec<Value> {
        self.lines_of(config).iter().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    fn lines_of(&self, config: &str) -> Vec<String> {
        let text = fs::read_to_string(self.path(&format!("{config}.cpu.records.jsonl"))).unwrap_or_default();
        text.split_inclusive('\n').filter(|line| line.ends_with('\n')).map(str::to_owned).collect()
    }
}

pub(crate) fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}
