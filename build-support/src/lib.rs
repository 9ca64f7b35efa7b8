//! What a build script calls to turn the loop nests of a package into native code.
//!
//! ```no_run
//! // build.rs
//! dietcode_build::kernels(["src/ops.rs"]).compile();
//! ```
//!
//! Each function of the listed sources that carries `#[dynamic_kernel]` becomes a folder `$OUT_DIR/dietcode/<kernel>` with one
//! C file per micro-kernel, a registry (see [`dietcode_core::codegen::registry`]) and a static library. Which
//! micro-kernels there are, and which of them serves which shape, stands in the tuned file beside the kernel's config; if
//! there is none, or it was made for something else, a default micro-kernel serves all shapes, and one warning says so.
//!
//! Nothing is searched, nothing is fetched, and the generated files are the same each time. Only what changed is written,
//! and only what was written is compiled.
//!
//! | variable               | meaning                                                                           |
//! |------------------------|-----------------------------------------------------------------------------------|
//! | `DIETCODE_SKIP_NATIVE` | `1`: compile nothing; kernels then fail with a sentence. For code checkers.       |
//! | `CC`, `CFLAGS`, `AR`   | the C compiler, more flags for it, and the archiver, as the crate `cc` takes them |
mod archive;
mod cfg;
mod choice;
mod emit;
mod environment;
mod objects;
mod pipeline;
mod report;
mod sources;
#[cfg(test)]
mod tests;

use std::path::PathBuf;

use environment::Environment;
use report::Report;

/// The kernels in these sources, named relative to the package's Cargo.toml.
pub fn kernels<P: Into<PathBuf>>(sources: impl IntoIterator<Item = P>) -> Kernels {
    Kernels { sources: sources.into_iter().map(Into::into).collect(), march: None }
}

/// Kernels to build, and how.
#[derive(Clone, Debug)]
#[must_use = "nothing is built before `compile`"]
pub struct Kernels {
    sources: Vec<PathBuf>,
    march: Option<String>,
}

impl Kernels {
    /// The architecture to compile for, as the compiler's `-march` names it, whatever the configs say. Without it, the
    /// config decides, and if it says nothing, it is `native`: whatever the machine that builds can do.
    pub fn march(mut self, march: impl Into<String>) -> Kernels {
        self.march = Some(march.into());
        self
    }

    /// Generates, compiles and links, and tells cargo when to do it again.
    ///
    /// What is wrong with a nest, a config or the compiler is printed for cargo, with file, line and column, and ends the
    /// process with status 1.
    pub fn compile(self) {
        let mut report = Report::default();
        let outcome = Environment::of_build_script()
            .map_err(|error| vec![error])
            .and_then(|environment| pipeline::run(&self, &environment, &mut report));
        for error in outcome.as_ref().err().into_iter().flatten() {
            report.error(&error.to_string());
        }
        for line in report.lines() {
            println!("{line}");
        }
        if outcome.is_err() {
            std::process::exit(1);
        }
    }
}
