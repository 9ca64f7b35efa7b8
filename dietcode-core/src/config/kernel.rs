//! The kernel that a config names, as its source says.

use std::fs;
use std::path::{Path, PathBuf};

use dietcode_syntax::{Annotated, Errors, KernelDef, scan};

use super::reader::Node;
use super::{Config, is_identifier};
use crate::ir::Program;
use crate::{Error, Result};

/// Where the annotated function is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KernelSource {
    /// The Rust file; the config names it relative to its own folder.
    pub source: PathBuf,
    /// The function's name.
    pub function: String,
}

/// Where a config says so.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct KernelPlaces {
    source: String,
    function: String,
}

impl Config {
    /// Reads the source that the config names and finds the annotated function in it.
    ///
    /// # Errors
    /// If the source cannot be read, is not Rust, has no such function with the attribute, or two of that name, or the nest cannot be
    /// taken; all that is wrong with the nest at once, a line each.
    pub fn kernel_def(&self) -> Result<KernelDef> {
        let def = self.kernel.find(&self.places.kernel)?;
        self.check_targets(&def)?;
        Ok(def)
    }

    /// Whether the generators name loops and operands of the kernel.
    ///
    /// # Errors
    /// Those of a target that do not, where what else they list would be left out without a word.
    pub fn check_names(&self, program: &Program) -> Result<()> {
        let cuda = self.cuda.iter().flat_map(|cuda| &cuda.generators).map(|generator| ("cuda", generator));
        let all = self.cpu.generators.iter().map(|generator| ("cpu", generator)).chain(cuda);
        for (target, generator) in all {
            if let Some(unknown) = generator.unknown(&program.blocks[0]).first() {
                let path = self.path.display();
                return Err(Error::input(format!("{path}: targets.{target}.generators: {unknown}")));
            }
        }
        Ok(())
    }

    /// Whether the targets are possible ones of a kernel.
    ///
    /// # Errors
    /// `targets.cuda`, where the kernel's attribute lists operands as prepared.
    pub fn check_targets(&self, def: &KernelDef) -> Result<()> {
        if def.prepared.is_empty() || self.cuda.is_none() {
            return Ok(());
        }
        let (path, name) = (self.path.display(), &def.name);
        Err(Error::input(format!(
            "{path}: found `targets.cuda`, but `{name}` lists operands as prepared, which are laid out for CPUs; remove one of both"
        )))
    }

    /// The annotated function as it is written.
    ///
    /// # Errors
    /// As for [`Config::kernel_def`], but for what is wrong with the nest.
    pub fn kernel_source(&self) -> Result<Annotated> {
        let KernelPlaces { source, function } = &self.places.kernel;
        annotated(&self.kernel.source, Some(&self.kernel.function), [source, function])
    }

    /// The names of a kernel's shape variables, in declaration order.
    pub fn shape_vars(def: &KernelDef) -> Vec<String> {
        def.shape_vars.iter().map(|var| var.name.clone()).collect()
    }
}

impl KernelSource {
    /// Reads where a kernel is, from a config at `path`.
    pub(super) fn read(path: &Path, node: &Node<'_>) -> Result<(KernelSource, KernelPlaces)> {
        const SOURCE: &str = "a path to a Rust file (*.rs), relative to the folder of this config";
        const FUNCTION: &str = "the name of a function";
        let object = node.object(&["source", "function"])?;
        let source = object.require("source", SOURCE)?;
        let file = source.string(SOURCE)?;
        if !file.ends_with(".rs") || file.contains(char::is_control) {
            return Err(source.expected(SOURCE));
        }
        let function = object.require("function", FUNCTION)?;
        let name = function.string(FUNCTION)?;
        if !is_identifier(name) {
            return Err(function.expected(FUNCTION));
        }
        let folder = path.parent().unwrap_or(Path::new(""));
        let kernel = KernelSource { source: folder.join(file), function: name.to_string() };
        Ok((kernel, KernelPlaces { source: source.place(), function: function.place() }))
    }

    /// The annotated function.
    pub(super) fn find(&self, KernelPlaces { source, function }: &KernelPlaces) -> Result<KernelDef> {
        read_kernel(&self.source, Some(&self.function), [source, function])
    }
}

/// The annotated function of a source, also one without a name where it is the only one. Errors begin with the place that
/// names what is wrong: the source or the function.
///
/// # Errors
/// As for [`Config::kernel_def`].
pub fn read_kernel(source: &Path, function: Option<&str>, places: [&str; 2]) -> Result<KernelDef> {
    annotated(source, function, places)?.parse().map_err(|problems| placed(source, &problems))
}

fn annotated(source: &Path, function: Option<&str>, [of_source, of_function]: [&str; 2]) -> Result<Annotated> {
    let shown = source.display();
    let unreadable = |e| Error::input(format!("{of_source}: {shown} cannot be read")).caused_by(e);
    // Nobody waits for the other end of a pipe, or for the end of a device.
    if !fs::metadata(source).map_err(unreadable)?.is_file() {
        return Err(Error::input(format!("{of_source}: {shown} is not a file")));
    }
    let text = fs::read_to_string(source).map_err(unreadable)?;
    let annotated = scan(&text).map_err(|problems| placed(source, &problems))?;
    let place = |kernel: &Annotated| format!("{shown}:{}:{}", kernel.line, kernel.column);
    let there = || listed(annotated.iter().map(|kernel| format!("`{}`", kernel.item.sig.ident)));
    let found = match (function, &*annotated) {
        (None, [only]) => only,
        (None, _) => {
            let what = "expected the name of one function with #[dynamic_kernel]";
            return Err(Error::input(format!("{of_function}: {what}; in {shown} there is {}", there())));
        }
        (Some(name), all) => {
            let mut named = all.iter().filter(|kernel| kernel.item.sig.ident == name);
            let found = named.next().ok_or_else(|| {
                let what = format!("{shown} has no function `{name}` with #[dynamic_kernel]; there is {}", there());
                Error::input(format!("{of_function}: {what}"))
            })?;
            // Of two of which a build has one, the first is taken.
            let both_hold = |other: &&Annotated, set: bool| [found, *other].iter().all(|of| of.cfg.holds(&|_, _| set));
            if let Some(other) = named.find(|other| [false, true].iter().any(|set| both_hold(other, *set))) {
                let [first, second] = [found, other].map(place);
                let what = format!("found `{name}` with #[dynamic_kernel] at {first} and at {second}");
                return Err(Error::input(format!("{of_function}: {what}, expected one function of that name")));
            }
            found
        }
    };
    Ok(found.clone())
}

fn placed(source: &Path, problems: &Errors) -> Error {
    let line = |(line, column, sentence)| format!("{}:{line}:{column}: {sentence}", source.display());
    Error::input(problems.iter().map(line).collect::<Vec<_>>().join("\n"))
}

fn listed(names: impl Iterator<Item = String>) -> String {
    let names: Vec<String> = names.collect();
    if names.is_empty() { "none at all".into() } else { names.join(", ") }
}
