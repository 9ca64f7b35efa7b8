//! Everything that the project checks, in order: what fails fast and often stands first.

use std::path::{Path, PathBuf};

/// One named check: commands that must all succeed.
pub(crate) struct Step {
    pub(crate) name: &'static str,
    pub(crate) about: &'static str,
    pub(crate) commands: Vec<Cargo>,
}

/// One call of cargo.
pub(crate) struct Cargo {
    pub(crate) args: Vec<&'static str>,
    pub(crate) env: Vec<(&'static str, String)>,
    pub(crate) folder: PathBuf,
}

impl Step {
    /// Whether it builds the project, for which the CUDA compiler has to stand ready.
    pub(crate) fn builds(&self) -> bool {
        self.commands.iter().any(|cargo| cargo.args.first() != Some(&"fmt"))
    }

    /// Whether it runs the tests, of which one calls kernels from Python, and one opens a page in a browser.
    pub(crate) fn tests(&self) -> bool {
        self.name == "tests"
    }
}

/// The steps of `cargo xtask test`. `full`: all that tests otherwise try a part of, which changes from day to day.
pub(crate) fn all(full: bool) -> Vec<Step> {
    let step = |name, about, commands| Step { name, about, commands };
    // One more than there are cores: some tests wait, for a time limit or for a build that another one has asked for.
    let threads = std::thread::available_parallelism().map_or(2, |cores| cores.get() + 1);
    let tests = workspace("test").also("--lib --bins --tests").with("RUST_TEST_THREADS", &threads.to_string());
    vec![
        step(
            "format",
            "rustfmt changes nothing, in the workspace and in the examples",
            vec![
                cargo("fmt --all --check"),
                cargo("fmt --check").in_example("dense"),
                cargo("fmt --check").in_example("tunable"),
            ],
        ),
        step(
            "clippy",
            "everything compiles, and neither rustc nor clippy warns",
            vec![workspace("test").also("--all-targets --no-run")],
        ),
        step(
            "features",
            "the library builds with each of its features alone, and the command with none",
            // `runtime` alone and `compiler` alone are what the first example's program and its build script have.
            vec![
                cargo("check --package dietcode"),
                cargo("check --package dietcode-core --no-default-features"),
                cargo("check --package dietcode-core --no-default-features --features cuda"),
                cargo("check --package dietcode-core --no-default-features --features results"),
            ],
        ),
        step(
            "tests",
            "unit, UI, property and integration tests",
            vec![if full { tests.with("DIETCODE_ALL", "1") } else { tests }],
        ),
        step("doc-tests", "the examples in the documentation", vec![workspace("test").also("--doc")]),
        step(
            "docs",
            "the documentation builds without a warning",
            // With `--examples`, of which there are none, cargo takes the features that tests take: what a build script needs is there.
            // All programs but the command, whose name is that of the library.
            vec![
                workspace("doc")
                    .also("--no-deps --lib --examples --bin tune_all --bin tune_nn --bin tune_nt --bin tune_tn --bin tune_tt --bin xtask")
                    .with("RUSTDOCFLAGS", "-D warnings"),
            ],
        ),
        step(
            "example",
            "crates of their own build their kernels and run them; and one checks without a C compiler",
            vec![
                cargo("run").in_example("dense"),
                cargo("check").in_example("dense").with("DIETCODE_SKIP_NATIVE", "1"),
                // The second run fails unless it reads what the first has found.
                cargo("run").in_example("tunable"),
                cargo("run -- known").in_example("tunable"),
            ],
        ),
    ]
}

/// The steps that `cargo xtask test --all` has besides.
pub(crate) fn long() -> Vec<Step> {
    vec![Step {
        name: "mutants",
        about: "tests find each of the planted mistakes",
        commands: vec![cargo("run --package xtask -- mutants")],
    }]
}

fn cargo(args: &'static str) -> Cargo {
    Cargo { args: args.split(' ').collect(), env: Vec::new(), folder: root() }
}

/// A command for all packages, compiled as `lint.toml` says.
fn workspace(command: &'static str) -> Cargo {
    let settings = "--config xtask/lint.toml --workspace --features dietcode-core/ndarray,dietcode-core/results,dietcode/benchmark";
    cargo(command).also(settings)
}

impl Cargo {
    fn also(mut self, args: &'static str) -> Cargo {
        self.args.extend(args.split(' '));
        self
    }

    /// An example is a workspace of its own, with profiles of its own. It is built where the tests build crates of users, so that
    /// what these depend on is compiled once.
    fn in_example(self, name: &str) -> Cargo {
        let folder = root().join("examples").join(name);
        Cargo { folder, ..self }
            .with("CARGO_TARGET_DIR", &target_folder().join("tmp/build_support/target").to_string_lossy())
            .with("CARGO_PROFILE_DEV_DEBUG", "0")
            .with("CARGO_INCREMENTAL", "0")
    }

    fn with(mut self, name: &'static str, value: &str) -> Cargo {
        self.env.push((name, value.to_owned()));
        self
    }
}

/// The repository's root: cargo says where this package is, and it stands directly below.
pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask stands in a folder of the workspace").to_owned()
}

/// Where cargo builds.
pub(crate) fn target_folder() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), |folder| root().join(folder))
}
