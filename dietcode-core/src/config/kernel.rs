//! The kernel that a config names, as its source says.

use std::fs;
use std::path::{Path, PathBuf};

use dietcode_syntax::{Errors, KernelDef, scan};

use super::reader::Node;
use super::{Config, is_identifier};
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
    /// If the source cannot be read, is not Rust, has no such function with the attribute, or the nest cannot be taken;
    /// all that is wrong with the nest at once, a line each.
    pub fn kernel_def(&self) -> Result<KernelDef> {
        self.kernel.find(&self.places.kernel)
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
    pub(super) fn find(&self, places: &KernelPlaces) -> Result<KernelDef> {
        let source = self.source.display();
        let unreadable = |e| Error::input(format!("{}: {source} cannot be read", places.source)).caused_by(e);
        // Nobody waits for the other end of a pipe, or for the end of a device.
        if !fs::metadata(&self.source).map_err(unreadable)?.is_file() {
            return Err(Error::input(format!("{}: {source} is not a file", places.source)));
        }
        let text = fs::read_to_string(&self.source).map_err(unreadable)?;
        let placed = |problems: Errors| {
            let line = |(line, column, sentence)| format!("{source}:{line}:{column}: {sentence}");
            Error::input(problems.iter().map(line).collect::<Vec<_>>().join("\n"))
        };
        let annotated = scan(&text).map_err(placed)?;
        let function = &self.function;
        match annotated.iter().find(|kernel| kernel.item.sig.ident == function) {
            Some(kernel) => kernel.parse().map_err(placed),
            None => Err(Error::input(format!(
                "{}: {source} has no function `{function}` with #[dynamic_kernel]; there is {}",
                places.function,
                listed(annotated.iter().map(|kernel| format!("`{}`", kernel.item.sig.ident)))
            ))),
        }
    }
}

fn listed(names: impl Iterator<Item = String>) -> String {
    let names: Vec<String> = names.collect();
    if names.is_empty() { "none at all".into() } else { names.join(", ") }
}
