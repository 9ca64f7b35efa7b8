//! The kernel that a config names, as its source says.

use std::fs;

use dietcode_syntax::{Errors, KernelDef, scan};

use super::Config;
use crate::{Error, Result};

impl Config {
    /// Reads the source that the config names and finds the annotated function in it.
    ///
    /// # Errors
    /// If the source cannot be read, is not Rust, has no such function with the attribute, or the nest cannot be taken;
    /// all that is wrong with the nest at once, a line each.
    pub fn kernel_def(&self) -> Result<KernelDef> {
        let source = self.kernel.source.display();
        let text = fs::read_to_string(&self.kernel.source)
            .map_err(|e| Error::input(format!("{}: {source} cannot be read", self.places.source)).caused_by(e))?;
        let placed = |problems: Errors| {
            let line = |(line, column, sentence)| format!("{source}:{line}:{column}: {sentence}");
            Error::input(problems.iter().map(line).collect::<Vec<_>>().join("\n"))
        };
        let annotated = scan(&text).map_err(placed)?;
        let function = &self.kernel.function;
        match annotated.iter().find(|kernel| kernel.item.sig.ident == function) {
            Some(kernel) => kernel.parse().map_err(placed),
            None => Err(Error::input(format!(
                "{}: {source} has no function `{function}` with #[dynamic_kernel]; there is {}",
                self.places.function,
                listed(annotated.iter().map(|kernel| format!("`{}`", kernel.item.sig.ident)))
            ))),
        }
    }

    /// The names of a kernel's shape variables, in declaration order.
    pub fn shape_vars(def: &KernelDef) -> Vec<String> {
        def.shape_vars.iter().map(|var| var.name.clone()).collect()
    }
}

fn listed(names: impl Iterator<Item = String>) -> String {
    let names: Vec<String> = names.collect();
    if names.is_empty() { "none at all".into() } else { names.join(", ") }
}
