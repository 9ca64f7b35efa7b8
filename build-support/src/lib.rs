//! What a build script calls to turn the loop nests of a package into native code.
//!
//! ```no_run
//! // build.rs
//! dietcode_build::kernels(["src/ops.rs"]).compile();
//! ```
//!
//! Each function of the listed sources, and of the modules in other files that they declare, that carries `#[dynamic_kernel]` becomes a
//! folder `$OUT_DIR/dietcode/<kernel>` with one C file per micro-kernel, a registry (see [`dietcode_core::codegen::registry`]) and a static
//! library. Which micro-kernels there are, and which of them serves which shape, stands in the tuned file beside the kernel's config; if
//! there is none, or it was made for something else, a default micro-kernel serves all shapes, and one warning says so.
//!
//! Nothing is searched, nothing is fetched, and the generated files are the same each time. Only what changed is written,
//! and only what was written is compiled.
//!
//! | variable               | meaning                                                                           |
//! |------------------------|-----------------------------------------------------------------------------------|
//! | `DIETCODE_SKIP_NATIVE` | `1`: compile nothing; kernels then fail with a sentence. For code checkers.       |
//! | `CC`, `CFLAGS`, `AR`   | the C compiler, more flags for it, and the archiver, as the crate `cc` takes them |
//! | `DIETCODE_CUDA`        | `0`: leave out what kernels have for CUDA devices                                 |
//! | `NVCC`, `CUDA_HOME`    | the CUDA compiler, or the folder it is in                                         |
//! | `CXX`                  | the C++ compiler behind it, and that of the emulated device                       |
//! | `DIETCODE_CONFIG`      | the set of configurations ([`Kernels::with_set`]), as a path in the package       |
//! | `DIETCODE_TARGETS`     | for what that set is compiled: some of `cpu,cuda,cuda-host`; else it says so      |
//!
//! A kernel runs on CUDA devices too if its config has `targets.cuda` or the build script says so: there is a `.cu` per
//! micro-kernel beside the C files, compiled by nvcc and embedded in the program. Without nvcc the build passes with one
//! warning, and a call on a device says what is missing.
//!
//! Cargo shows nothing of a build script before it ends. `cargo build -vv` shows which files are compiled as they are, and
//! `$OUT_DIR/dietcode-progress` holds the last such line.
mod archive;
mod builder;
mod cargo;
mod cfg;
mod choice;
mod cuda;
mod emit;
mod environment;
mod gather;
mod generated;
mod modules;
mod objects;
mod pipeline;
mod progress;
mod report;
mod set;
mod sources;
#[cfg(test)]
mod tests;

use std::path::PathBuf;

pub use builder::Kernels;
use environment::Environment;
use report::Report;

/// The kernels in these sources, named relative to the package's Cargo.toml.
pub fn kernels<P: Into<PathBuf>>(sources: impl IntoIterator<Item = P>) -> Kernels {
    Kernels { sources: sources.into_iter().map(Into::into).collect(), ..Kernels::default() }
}

impl Kernels {
    /// Generates, compiles and links, and tells cargo when to do it again.
    ///
    /// What is wrong with a nest, a config or the compiler is printed for cargo, with file, line and column, and ends the
    /// process with status 1.
    pub fn compile(self) {
        let mut report = Report::default();
        let outcome = Environment::of_build_script()
            .map_err(|error| vec![error])
            .and_then(|environment| pipeline::run(self.groups(), &environment, &mut report));
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
