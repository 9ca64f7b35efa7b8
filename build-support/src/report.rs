//! What a build script says to cargo.

use std::collections::BTreeSet;
use std::path::Path;

use dietcode_core::message::printable;

/// Instructions to cargo, each once, in the order in which they came up.
#[derive(Debug, Default)]
pub(crate) struct Report {
    lines: Vec<String>,
    said: BTreeSet<String>,
    untuned: Vec<Untuned>,
}

/// A kernel without a tuned file.
#[derive(Debug)]
struct Untuned {
    kernel: String,
    /// What tunes it: the arguments of `dietcode tune`.
    tuned_by: Tuning,
}

/// What is to be tuned, as `dietcode tune` takes it.
#[derive(Debug)]
pub(crate) enum Tuning {
    /// The kernel of this config.
    Config(String),
    /// A kernel for which there is none yet, as `file:name`, and its shape variables.
    Kernel(String, Vec<String>),
}

/// How many kernels one line names.
const NAMED: usize = 4;

impl Report {
    /// A line that the user sees.
    pub(crate) fn warning(&mut self, text: &str) {
        self.say(&format!("cargo::warning={}", printable(text)));
    }

    /// A kernel runs a default micro-kernel, since there is no tuned file for it yet.
    pub(crate) fn untuned(&mut self, kernel: &str, tuned_by: Tuning) {
        self.untuned.push(Untuned { kernel: kernel.to_owned(), tuned_by });
    }

    /// One warning for all kernels that are not tuned.
    pub(crate) fn tell_untuned(&mut self) {
        let untuned = std::mem::take(&mut self.untuned);
        if untuned.is_empty() {
            return;
        }
        let mut named: Vec<String> = untuned.iter().take(NAMED).map(|one| format!("`{}`", one.kernel)).collect();
        named.extend(Some(untuned.len() - named.len()).filter(|more| *more > 0).map(|more| format!("{more} more")));
        let run = if untuned.len() == 1 { "runs a default micro-kernel" } else { "run default micro-kernels" };
        let remedies: Vec<String> = [of_configs(&untuned), of_a_kernel(&untuned)].into_iter().flatten().collect();
        self.warning(&format!(
            "{} {run}, as nothing is tuned yet: {} (`.allow_untuned()` in build.rs silences this)",
            named.join(", "),
            remedies.join(", and ")
        ));
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

    /// Static libraries that a `registry.rs` names are looked for in this folder.
    pub(crate) fn search_in(&mut self, folder: &Path) {
        self.say(&format!("cargo::rustc-link-search=native={}", folder.display()));
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

/// The command that tunes all kernels with a config.
fn of_configs(untuned: &[Untuned]) -> Option<String> {
    let config = |one: &Untuned| match &one.tuned_by {
        Tuning::Config(config) => Some(config.clone()),
        Tuning::Kernel(..) => None,
    };
    let mut configs: Vec<String> = untuned.iter().filter_map(config).take(NAMED + 1).collect();
    if configs.len() > NAMED {
        configs[NAMED] = "…".to_owned();
    }
    (!configs.is_empty()).then(|| format!("run `dietcode tune {}`", configs.join(" ")))
}

/// The command that makes a config of the first kernel without one.
fn of_a_kernel(untuned: &[Untuned]) -> Option<String> {
    untuned.iter().find_map(|one| match &one.tuned_by {
        Tuning::Config(_) => None,
        Tuning::Kernel(kernel, shape_vars) => {
            let sizes: Vec<String> = shape_vars.iter().map(|var| format!("{var}=…")).collect();
            let wkl = if sizes.is_empty() { String::new() } else { format!(" --wkl {}", sizes.join(",")) };
            Some(format!("`dietcode tune --kernel {kernel}{wkl}` makes a config of `{}` and tunes it", one.kernel))
        }
    })
}
