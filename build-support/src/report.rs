//! What a build script says to cargo.

use std::collections::BTreeSet;
use std::path::Path;

use dietcode_core::message::printable;

use crate::environment::Environment;

/// Instructions to cargo, each once, in the order in which they came up.
#[derive(Debug, Default)]
pub(crate) struct Report {
    lines: Vec<String>,
    said: BTreeSet<String>,
    untuned: Vec<Untuned>,
}

/// A kernel with a config and without a tuned file.
#[derive(Debug)]
struct Untuned {
    kernel: String,
    config: String,
    why: String,
}

impl Report {
    /// A line that the user sees.
    pub(crate) fn warning(&mut self, text: &str) {
        self.say(&format!("cargo::warning={}", printable(text)));
    }

    /// A kernel runs a default micro-kernel, since there is no tuned file beside its config; `why` says what to do for it alone.
    pub(crate) fn untuned(&mut self, kernel: &str, config: &str, why: &str) {
        self.untuned.push(Untuned { kernel: kernel.to_owned(), config: config.to_owned(), why: why.to_owned() });
    }

    /// One warning for all kernels that are not tuned.
    pub(crate) fn tell_untuned(&mut self) {
        match &std::mem::take(&mut self.untuned)[..] {
            [] => {}
            [one] => self.warning(&format!("`{}` runs a default micro-kernel: {}", one.kernel, one.why)),
            several => {
                let kernels: Vec<String> = several.iter().map(|one| format!("`{}`", one.kernel)).collect();
                let configs: Vec<&str> = several.iter().map(|one| one.config.as_str()).collect();
                self.warning(&format!(
                    "{} run default micro-kernels: there are no tuned files yet; run `dietcode tune` with each of {}",
                    kernels.join(", "),
                    configs.join(", ")
                ));
            }
        }
    }

    /// Fails the build, with one line for each of the text's.
    pub(crate) fn error(&mut self, text: &str) {
        for line in printable(text).lines() {
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

    /// Links what code of the emulated device calls.
    pub(crate) fn link_cpp(&mut self, environment: &Environment) {
        let of_clang = ["apple", "freebsd", "openbsd"].iter().any(|part| environment.target.contains(part));
        self.link_system(if of_clang { "c++" } else { "stdc++" });
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
