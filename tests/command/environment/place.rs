//! A folder with a config of a small kernel, a temporary folder and compilers of its own.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

const OPS: &str = include_str!("../../nests/dense.rs");

pub(crate) const CONFIG: &str = r#"{
  "kernel": { "source": "ops.rs", "function": "dense" },
  "shape": { "M": "8*T", "K": 32, "N": 48 },
  "wkl_insts": [{ "T": 1 }],
  "search": { "threads": [1], "seed": 7, "evolution": { "population": 12, "generations": 1, "retries": 3, "per_round": 3 } }
}"#;

/// What measures one instance and compiles next to nothing.
pub(crate) const BENCH: &[&str] = &["bench", "dense.json", "--threads", "1", "--blas", "none", "--only", "dietcode"];

pub(crate) struct Place(tempfile::TempDir);

impl Place {
    pub(crate) fn new() -> Place {
        let place = Place(tempfile::tempdir().unwrap());
        fs::write(place.path("ops.rs"), OPS).unwrap();
        fs::write(place.path("dense.json"), CONFIG).unwrap();
        fs::create_dir(place.temporary()).unwrap();
        place
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// The folder that TMPDIR names.
    pub(crate) fn temporary(&self) -> PathBuf {
        self.path("tmp")
    }

    /// What is in it, but for the files whose locks let processes take turns at measuring: were they removed, two could measure at once.
    pub(crate) fn left(&self) -> Vec<PathBuf> {
        let is_lock = |path: &PathBuf| path.to_string_lossy().contains("/.dietcode-measuring-");
        let all = fs::read_dir(self.temporary()).unwrap().map(|entry| entry.unwrap().path());
        all.filter(|path| !is_lock(path)).collect()
    }

    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_dietcode"));
        command.args(arguments).current_dir(self.0.path()).env("TMPDIR", self.temporary());
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    pub(crate) fn run(&self, arguments: &[&str]) -> Output {
        self.command(arguments).output().unwrap()
    }

    /// A script around the C compiler, which is `$CC` there.
    pub(crate) fn script(&self, name: &str, lines: &str) -> PathBuf {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, format!("#!/bin/sh\nCC='{}'\n{lines}\n", program("cc").display())).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        path
    }

    /// A link to a program of this system.
    pub(crate) fn link(&self, name: &str, to: &str) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        symlink(program(to), path).unwrap();
    }
}

/// Where a program is.
fn program(name: &str) -> PathBuf {
    let path = std::env::var_os("PATH").unwrap();
    let found = std::env::split_paths(&path).map(|folder| folder.join(name)).find(|path| path.is_file());
    found.unwrap_or_else(|| panic!("there is no {name}"))
}

pub(crate) fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

pub(crate) fn status(output: &Output) -> Option<i32> {
    output.status.code()
}

/// Whether a file with this extension is somewhere below a folder.
pub(crate) fn has(folder: &Path, extension: &str) -> bool {
    fs::read_dir(folder).into_iter().flatten().flatten().any(|entry| {
        let path = entry.path();
        path.extension().is_some_and(|found| found == extension) || has(&path, extension)
    })
}
