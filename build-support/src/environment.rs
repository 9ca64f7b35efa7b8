//! What cargo tells a build script.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;

use dietcode_core::machine::cuda::Nvcc;
use dietcode_core::{Error, Result};

use crate::cargo::Manifest;

/// The setting in which kernels are built, read once.
#[derive(Clone, Debug)]
pub(crate) struct Environment {
    /// The package's folder; sources and configs are named relative to it.
    pub(crate) manifest_dir: PathBuf,
    /// Where generated files go.
    pub(crate) out_dir: PathBuf,
    /// The package's name.
    pub(crate) package: String,
    /// What its manifest says.
    pub(crate) manifest: Manifest,
    /// The target triple.
    pub(crate) target: String,
    /// The triple of the machine that builds.
    pub(crate) host: String,
    /// How many compilers may run at once.
    pub(crate) jobs: usize,
    /// Whether to leave out all native code, as a code checker wants it.
    pub(crate) skip_native: bool,
    /// Whether kernels get the CUDA halves that were asked for.
    pub(crate) cuda: bool,
    /// The CUDA compiler that was named; else it is looked for.
    pub(crate) nvcc: Option<PathBuf>,
    /// The set of configurations that was named; else a feature chooses it.
    pub(crate) config: Option<PathBuf>,
    /// For what that set is compiled, if it is not what the set says.
    pub(crate) targets: Option<String>,
    /// `CARGO_CFG_*` and `CARGO_FEATURE_*`.
    pub(crate) vars: BTreeMap<String, String>,
}

/// Set to anything but `0`, this leaves out the native code.
pub(crate) const SKIP_NATIVE: &str = "DIETCODE_SKIP_NATIVE";

/// Set to `0`, this leaves out the CUDA halves.
const CUDA: &str = "DIETCODE_CUDA";

/// The set of configurations to compile, relative to the package's folder.
pub(crate) const CONFIG: &str = "DIETCODE_CONFIG";

/// For what it is compiled: `cpu`, `cuda`, `cuda-host`, with commas between them.
pub(crate) const TARGETS: &str = "DIETCODE_TARGETS";

impl Environment {
    /// # Errors
    /// If a variable that cargo sets is not there.
    pub(crate) fn of_build_script() -> Result<Environment> {
        Ok(Environment {
            // Cargo starts a build script in the package's folder; names relative to it make short messages.
            manifest_dir: PathBuf::new(),
            out_dir: var("OUT_DIR")?.into(),
            package: var("CARGO_PKG_NAME")?,
            manifest: Manifest::ask(),
            target: var("TARGET")?,
            host: var("HOST")?,
            jobs: var("NUM_JOBS")?.parse().unwrap_or(1),
            skip_native: std::env::var_os(SKIP_NATIVE).is_some_and(|value| !value.is_empty() && value != "0"),
            cuda: std::env::var_os(CUDA).is_none_or(|value| value != "0"),
            nvcc: filled("NVCC").map(PathBuf::from),
            config: filled(CONFIG).map(PathBuf::from),
            targets: filled(TARGETS).map(|list| list.to_string_lossy().into_owned()),
            vars: std::env::vars_os()
                .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
                .filter(|(name, _)| name.starts_with("CARGO_CFG_") || name.starts_with("CARGO_FEATURE_"))
                .collect(),
        })
    }

    /// The CUDA compiler.
    pub(crate) fn nvcc(&self) -> Result<Nvcc> {
        self.nvcc.as_deref().map_or_else(Nvcc::find, Nvcc::named)
    }

    /// Where a kernel's generated files go.
    pub(crate) fn folder(&self, kernel: &str) -> PathBuf {
        self.out_dir.join("dietcode").join(kernel)
    }

    /// The variables from which the crate `cc` takes the compiler and its flags.
    pub(crate) fn compiler_vars(&self) -> Vec<String> {
        self.vars_of_cc(&["CC", "CFLAGS", "AR"])
    }

    /// Those that say where nvcc is and which C++ compiler there is. A search path that changes is not among them: cargo would
    /// build everything anew in each shell.
    pub(crate) fn cuda_vars(&self) -> Vec<String> {
        let own = [CUDA, "NVCC", "NVCC_CCBIN", "CUDA_HOME", "CUDA_PATH", "DIETCODE_TOOLKIT"].map(str::to_owned);
        own.into_iter().chain(self.vars_of_cc(&["CXX", "CXXFLAGS"])).collect()
    }

    fn vars_of_cc(&self, names: &[&str]) -> Vec<String> {
        let target = self.target.replace('-', "_");
        let of = |name: &str| {
            let per_target = [format!("{name}_{}", self.target), format!("{name}_{target}")];
            per_target.into_iter().chain([format!("TARGET_{name}"), format!("HOST_{name}"), name.to_owned()])
        };
        names.iter().copied().flat_map(of).collect()
    }
}

/// A variable that is set to something.
fn filled(name: &str) -> Option<OsString> {
    std::env::var_os(name).filter(|value| !value.is_empty())
}

fn var(name: &str) -> Result<String> {
    std::env::var(name).map_err(|error| {
        Error::input(format!("{name} is not set: kernels are built from a build script")).caused_by(error)
    })
}
