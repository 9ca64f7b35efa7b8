//! What a build script says to cargo.

use std::collections::BTreeSet;
use std::path::Path;

/// Instructions to cargo, each once, in the order in which they came up.
#[derive(Debug, Default)]
pub(crate) struct Report {
    lines: Vec<String>,
    said: BTreeSet<String>,
}

impl Report {
    /// A line that the user sees.
    pub(crate) fn warning(&mut self, text: &str) {
        self.say(&format!("cargo::warning={text}"));
    }

    /// Fails the build, with one line for each of the text's.
    pub(crate) fn error(&mut self, text: &str) {
        for line in text.lines() {
            self.lines.push(format!("cargo::error={line}"));
        }
    }

    /// The build script is run again when this file changes, or anything in this folder.
    pub(crate) fn rerun_if_changed(&mut self, path: &Path) {
        self.say(&format!("cargo::rerun-if-changed={}", path.display()));
    }

    /// The build script is run again when this variable changes.
    pub(crate) fn rerun_if_env_changed(&mut self, name: &str) {
        self.say(&format!("cargo::rerun-if-env-changed={name}"));
    }

    /// A variable that `env!` finds while the package is compiled.
    pub(crate) fn set_env(&mut self, name: &str, value: &str) {
        self.say(&format!("cargo::rustc-env={name}={value}"));
    }

    /// Links a static library from a folder.
    pub(crate) fn link_static(&mut self, folder: &Path, name: &str) {
        self.say(&format!("cargo::rustc-link-search=native={}", folder.display()));
        self.say(&format!("cargo::rustc-link-lib=static={name}"));
    }

    /// Links a library of the system.
    pub(crate) fn link_system(&mut self, name: &str) {
        self.say(&format!("cargo::rustc-link-lib={name}"));
    }

    /// The instructions.
    pub(crate) fn lines(&self) -> &[String] {
        &self.lines
    }

    fn say(&mut self, line: &str) {
        // A name with a line break in it must not become an instruction of its own.
        let line = line.replace(['\n', '\r'], " ");
        if self.said.insert(line.clone()) {
            self.lines.push(line);
        }
    }
}
