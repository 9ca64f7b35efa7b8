//! What a build script calls to turn the loop nests of a package into native code.
//!
//! ```no_run
//! // build.rs
//! dietcode_build::kernels(["src/ops.rs"]).compile();
//! ```
//!
//! Each function of the listed sources, and of the modules in other files that they declare, that carries `#[dynamic_kernel]` becomes a folder `$OUT_DIR/dietcode/<kernel>` with one
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
mod cargo;
mod cfg;
mod choice;
mod cuda;
mod emit;
mod environment;
mod gather;
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

use environment::Environment;
use report::Report;

/// The kernels in these sources, named relative to the package's Cargo.toml.
pub fn kernels<P: Into<PathBuf>>(sources: impl IntoIterator<Item = P>) -> Kernels {
    Kernels { sources: sources.into_iter().map(Into::into).collect(), ..Kernels::default() }
}

/// Kernels to build, and how.
#[derive(Clone, Debug, Default)]
#[must_use = "nothing is built before `compile`"]
pub struct Kernels {
    sources: Vec<PathBuf>,
    march: Option<String>,
    cuda: Vec<String>,
    cuda_host: bool,
    allow_untuned: bool,
    set: Option<PathBuf>,
    others: Vec<Kernels>,
}

impl Kernels {
    /// The architecture to compile for, as the compiler's `-march` names it, whatever the configs say. Without it, the
    /// config decides, and if it says nothing, it is `native`: whatever the machine that builds can do.
    pub fn march(mut self, march: impl Into<String>) -> Kernels {
        self.march = Some(march.into());
        self
    }

    /// The compute capabilities to compile for, such as `["sm_80", "sm_90"]`, whatever the configs say. Without it, a kernel
    /// runs on those that its config's `targets.cuda` names, and without that on none.
    pub fn cuda<C: Into<String>>(mut self, capabilities: impl IntoIterator<Item = C>) -> Kernels {
        self.cuda = capabilities.into_iter().map(Into::into).collect();
        self
    }

    /// Compiles the CUDA micro-kernels for the emulated device too (`Device::cuda_host` of the runtime), so that they are
    /// tested on machines without a GPU. Kernels that no real device was asked for get a default micro-kernel for it.
    pub fn cuda_host(mut self) -> Kernels {
        self.cuda_host = true;
        self
    }

    /// Says nothing of kernels that run default micro-kernels because nothing was tuned for them yet, whether they have a config
    /// or not. For crates with many kernels that are not tuned, such as tests; without it, one warning names them all, and
    /// the command that tunes them. A tuned file that does not fit gets a warning in any case.
    pub fn allow_untuned(mut self) -> Kernels {
        self.allow_untuned = true;
        self
    }

    /// Compiles a set of configurations for these kernels too, from which a program chooses by measuring
    /// ([`Set`](../dietcode_core/runtime/set/struct.Set.html)). The user says which one; the shipped ones stand in `folder`,
    /// named relative to the package's Cargo.toml:
    ///
    /// * the file that `DIETCODE_CONFIG` names, or else
    /// * `<folder>/<feature>.json` of an enabled feature, if there is such a file, or else
    /// * `<folder>/cpu_avx512.json` or `<folder>/cpu_avx2.json` if the machine that builds has such vectors, and
    ///   `<folder>/default.json` if not.
    ///
    /// A program has one set. It includes it, as a module of its own, by
    /// `include!(concat!(env!("OUT_DIR"), "/dietcode-set/registry.rs"))`.
    pub fn with_set(mut self, folder: impl Into<PathBuf>) -> Kernels {
        self.set = Some(folder.into());
        self
    }

    /// More kernels, which are built in another way.
    ///
    /// ```no_run
    /// let tested = dietcode_build::kernels(["src/ops.rs"]).cuda(["sm_80"]).cuda_host();
    /// tested.and(dietcode_build::kernels(["src/more.rs"])).compile();
    /// ```
    pub fn and(mut self, others: Kernels) -> Kernels {
        self.others.push(others);
        self
    }

    /// This and all others, each without others.
    fn groups(self) -> Vec<Kernels> {
        let Kernels { others, .. } = self;
        let own = Kernels { others: Vec::new(), ..self };
        std::iter::once(own).chain(others.into_iter().flat_map(Kernels::groups)).collect()
    }

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
