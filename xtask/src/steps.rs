//! Everything that the project checks, in order: what fails fast and often stands first.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde::Deserialize;

/// One named check: commands that must all succeed.
pub(crate) struct Step {
    pub(crate) name: &'static str,
    pub(crate) about: &'static str,
    pub(crate) commands: Vec<Cargo>,
    /// Whether its commands run one after the other; else in any order.
    pub(crate) in_order: bool,
    /// Whether it runs beside its neighbours of which that is said, too.
    pub(crate) beside: bool,
}

/// One call of cargo.
pub(crate) struct Cargo {
    pub(crate) args: Vec<String>,
    pub(crate) env: Vec<(&'static str, String)>,
    pub(crate) folder: PathBuf,
    /// Whether it builds crates of users. These have one target folder, where some have the same name: one such command runs at a time.
    pub(crate) builds_users_crates: bool,
}

/// How many commands run at a time where steps run beside each other. Most compile or compute on as many threads as there are cores, but end on
/// one, or wait.
pub(crate) const AT_ONCE: usize = 2;

impl Step {
    /// One whose commands run one after the other, and nothing beside it.
    pub(crate) fn new(name: &'static str, about: &'static str, commands: Vec<Cargo>) -> Step {
        Step { name, about, commands, in_order: true, beside: false }
    }

    /// The same beside its neighbours.
    fn beside(self) -> Step {
        Step { beside: true, ..self }
    }

    /// The same with its commands in any order.
    fn in_any_order(self) -> Step {
        Step { in_order: false, ..self }
    }

    /// Whether it builds the project, for which the CUDA compiler has to stand ready.
    pub(crate) fn builds(&self) -> bool {
        self.commands.iter().any(|cargo| cargo.args.first().map(String::as_str) != Some("fmt"))
    }

    /// Whether it runs the example of ONNX Runtime.
    pub(crate) fn loads_onnx_runtime(&self) -> bool {
        self.name == "example"
    }

    /// Whether it runs the tests, of which one calls kernels from Python, and one opens a page in a browser.
    pub(crate) fn tests(&self) -> bool {
        self.name == "tests"
    }
}

/// The steps of `cargo xtask test`. `full`: all that tests otherwise try a part of, which changes from day to day.
///
/// # Errors
///
/// One sentence: why the programs of the tests are not known.
pub(crate) fn all(full: bool) -> Result<Vec<Step>, String> {
    // Those behind `clippy` need what it has compiled, and nothing of each other. The longest stands first.
    let steps = vec![
        Step::new(
            "format",
            "rustfmt changes nothing, in the workspace and in the examples",
            vec![
                cargo("fmt --all --check"),
                cargo("fmt --check").in_example("dense"),
                cargo("fmt --check").in_example("tunable"),
                cargo("fmt --check").in_example("candle"),
                cargo("fmt --check").in_example("ort"),
            ],
        ),
        Step::new(
            "clippy",
            "everything compiles, and neither rustc nor clippy warns",
            vec![workspace("test").also("--all-targets --no-run")],
        ),
        Step::new("tests", "unit, UI, property and integration tests", tests(full)?).in_any_order().beside(),
        Step::new(
            "features",
            "the library builds with each of its features alone, and the command with none",
            // `runtime`, `compiler`, `results` and `candle` alone are what programs and build scripts of the examples have.
            vec![
                cargo("check --package dietcode"),
                cargo("check --package dietcode-core --no-default-features"),
                cargo("check --package dietcode-core --no-default-features --features cuda"),
                // As clippy has it, to which no other step shows what is under `ort`.
                cargo("check --config xtask/lint.toml --package dietcode-core --no-default-features --features ort"),
            ],
        )
        .beside(),
        Step::new("doc-tests", "the examples in the documentation", vec![workspace("test").also("--doc")]).beside(),
        Step::new(
            "docs",
            "the documentation builds without a warning",
            // With `--examples`, of which there are none, cargo takes the features that tests take: what a build script needs is there.
            // All programs but the command, whose name is that of the library.
            vec![
                // Without what tests link, of which the crate `ort` would be a part. The next command writes these pages anew.
                cargo("doc --config xtask/lint.toml --package dietcode-core --no-default-features --features ort --no-deps")
                    .with("RUSTDOCFLAGS", "-D warnings"),
                workspace("doc")
                    .also("--no-deps --lib --examples --bin tune_all --bin tune_nn --bin tune_nt --bin tune_tn --bin tune_tt --bin xtask")
                    .with("RUSTDOCFLAGS", "-D warnings"),
            ],
        )
        .beside(),
        Step::new(
            "example",
            "crates of their own build their kernels and run them; and one checks without a C compiler",
            vec![
                // A copy that a test was changing when it was interrupted has the same name, and for cargo is the same package.
                cargo("clean --package dense").in_example("dense"),
                cargo("run").in_example("dense"),
                cargo("check").in_example("dense").with("DIETCODE_SKIP_NATIVE", "1"),
                // The second run fails unless it reads what the first has found.
                cargo("run").in_example("tunable"),
                cargo("run -- known").in_example("tunable"),
                cargo("run").in_example("candle"),
                cargo("run").in_example("ort"),
            ],
        )
        .beside(),
    ];
    Ok(steps)
}

/// All programs of tests: first those that take longest, then the unit tests.
fn tests(full: bool) -> Result<Vec<Cargo>, String> {
    // All that run together have more threads than there are cores: many tests wait, for a time limit, a build that another one has asked for,
    // or their turn to measure.
    let threads = std::thread::available_parallelism().map_or(1, usize::from) / AT_ONCE + 2;
    let tests = |which: &str| {
        let tests = workspace("test").also(which).with("RUST_TEST_THREADS", &threads.to_string());
        if full { tests.with("DIETCODE_ALL", "1") } else { tests }
    };
    // Both of the first command measure, for which processes of a machine take turns: one would wait for the other while its time runs.
    let long: [&[&str]; 2] = [&["benchmark_linked", "command"], &["compiler"]];
    let mut short = test_programs()?;
    short.retain(|name| !long.concat().contains(&name.as_str()));
    let programs = |names: &[&str]| Cargo {
        builds_users_crates: names.contains(&"command"),
        ..tests(&format!("--test {}", names.join(" --test ")))
    };
    let short = short.iter().map(|name| programs(&[name]));
    Ok(long.into_iter().map(programs).chain([tests("--lib --bins")]).chain(short).collect())
}

/// The names of the workspace's integration tests.
fn test_programs() -> Result<Vec<String>, String> {
    let failed = |why: String| format!("`cargo metadata`, which names the programs of the tests: {why}");
    let told = Command::new("cargo").args(["metadata", "--no-deps", "--format-version=1"]).current_dir(root()).output();
    let told = told.map_err(|e| failed(e.to_string()))?;
    if !told.status.success() {
        return Err(failed(String::from_utf8_lossy(&told.stderr).into_owned()));
    }
    let workspace: Metadata = serde_json::from_slice(&told.stdout).map_err(|e| failed(e.to_string()))?;
    let targets = workspace.packages.into_iter().flat_map(|package| package.targets);
    Ok(targets.filter(|target| target.kind == ["test"]).map(|target| target.name).collect())
}

/// What is read of `cargo metadata`.
#[derive(Deserialize)]
struct Metadata {
    packages: Vec<Package>,
}

#[derive(Deserialize)]
struct Package {
    targets: Vec<Target>,
}

#[derive(Deserialize)]
struct Target {
    kind: Vec<String>,
    name: String,
}

/// The steps that `cargo xtask test --all` has besides.
pub(crate) fn long() -> Vec<Step> {
    vec![
        Step::new(
            "mutants",
            "tests find each of the planted mistakes",
            vec![cargo("run --package xtask -- mutants")],
        ),
        Step::new(
            "candle",
            "candle's operations compile for CUDA devices, after candle's own kernels, which take nvcc minutes",
            vec![
                // A build asks the machine's GPU for its capability, unless it is told.
                cargo("check --config xtask/lint.toml --package dietcode-core --no-default-features --features candle-cuda")
                    .with("CUDA_COMPUTE_CAP", "80"),
            ],
        ),
    ]
}

pub(crate) fn cargo(args: &str) -> Cargo {
    Cargo { args: Vec::new(), env: Vec::new(), folder: root(), builds_users_crates: false }.also(args)
}

/// All packages and what is tested of them.
const FEATURES: &str = "--workspace --features ndarray,candle,results,benchmark";

/// A command for all packages, compiled as `lint.toml` says.
fn workspace(command: &str) -> Cargo {
    cargo(command).also("--config xtask/lint.toml").also(FEATURES)
}

impl Cargo {
    fn also(mut self, args: &str) -> Cargo {
        self.args.extend(args.split(' ').map(str::to_owned));
        self
    }

    /// An example is a workspace of its own, with profiles of its own. It is built where the tests build crates of users, so that
    /// what these depend on is compiled once.
    fn in_example(self, name: &str) -> Cargo {
        let folder = root().join("examples").join(name);
        Cargo { folder, builds_users_crates: true, ..self }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_program_of_tests_runs_once() {
        let args: Vec<String> = tests(false).unwrap().into_iter().flat_map(|command| command.args).collect();
        let mut named: Vec<&String> = args.windows(2).filter(|pair| pair[0] == "--test").map(|pair| &pair[1]).collect();
        named.sort();
        let mut programs = test_programs().unwrap();
        programs.sort();
        assert!(programs.len() > 5 && programs.iter().eq(named), "{args:?}");
        assert_eq!(["--lib", "--bins"].map(|kind| args.iter().filter(|arg| *arg == kind).count()), [1, 1]);
    }

    /// Also for build scripts and macros, which have features of their own.
    #[test]
    fn every_package_is_compiled_in_one_form() {
        let cargo = cargo("tree --duplicates --depth 0").also(FEATURES);
        let told = Command::new("cargo").args(&cargo.args).current_dir(&cargo.folder).output().unwrap();
        let text = String::from_utf8(told.stdout).unwrap();
        assert!(told.status.success(), "{}", String::from_utf8_lossy(&told.stderr));
        // Other versions of a package have lines of their own.
        let versions = text.lines().filter_map(|line| line.split_once(" v"));
        let mut packages: Vec<(&str, &str)> =
            versions.map(|(name, rest)| (name, rest.split(' ').next().unwrap_or(rest))).collect();
        let all = packages.len();
        packages.sort_unstable();
        packages.dedup();
        assert_eq!(packages.len(), all, "add what asks for these features to xtask/unified/Cargo.toml:\n{text}");
    }

    /// Names and versions of the packages in a `Cargo.lock` that come from a registry.
    fn locked(folder: &Path) -> Vec<String> {
        let lock = std::fs::read_to_string(folder.join("Cargo.lock")).unwrap();
        let packages = lock.split("[[package]]").filter(|package| package.contains("\nsource = "));
        packages.map(|package| package.lines().skip(1).take(2).collect::<Vec<_>>().join(" ")).collect()
    }

    /// Crates of users are built in one target folder: what has the same version is compiled once.
    #[test]
    fn examples_have_the_versions_of_the_workspace() {
        let workspace = locked(&root());
        let example = |cargo: &Cargo| cargo.folder.parent() == Some(&root().join("examples"));
        let steps = all(false).unwrap();
        let mut examples: Vec<&Path> = steps
            .iter()
            .flat_map(|step| &step.commands)
            .filter(|cargo| example(cargo))
            .map(|cargo| &*cargo.folder)
            .collect();
        examples.dedup();
        assert!(examples.len() >= 4, "{examples:?}");
        for folder in examples {
            let others: Vec<String> =
                locked(folder).into_iter().filter(|package| !workspace.contains(package)).collect();
            assert_eq!(others, [""; 0], "copy the workspace's Cargo.lock to {} and run cargo there", folder.display());
        }
    }
}
