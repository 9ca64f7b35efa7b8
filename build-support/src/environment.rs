//! What cargo tells a build script.

use std::collections::BTreeMap;
use std::path::PathBuf;

use dietcode_core::{Error, Result};

/// The setting in which kernels are built, read once.
#[derive(Clone, Debug)]
pub(crate) struct Environment {
    /// The package's folder; sources and configs are named relative to it.
    pub(crate) manifest_dir: PathBuf,
    /// Where generated files go.
    pub(crate) out_dir: PathBuf,
    /// The package's name.
    pub(crate) package: String,
    /// The target triple.
    pub(crate) target: String,
    /// The triple of the machine that builds.
    pub(crate) host: String,
    /// How many compilers may run at once.
    pub(crate) jobs: usize,
    /// Whether to leave out all native code, as a code checker wants it.
    pub(crate) skip_native: bool,
    /// `CARGO_CFG_*` and `CARGO_FEATURE_*`.
    pub(crate) vars: BTreeMap<String, String>,
}

/// Set to anything but `0`, this leaves out the native code.
pub(crate) const SKIP_NATIVE: &str = "DIETCODE_SKIP_NATIVE";

impl Environment {
    /// # Errors
    /// If a variable that cargo sets is not there.
    pub(crate) fn of_build_script() -> Result<Environment> {
        Ok(Environment {
            // Cargo starts a build script in the package's folder; names relative to it make short messages.
            manifest_dir: PathBuf::new(),
            out_dir: var("OUT_DIR")?.into(),
            package: var("CARGO_PKG_NAME")?,
            target: var("TARGET")?,
            host: var("HOST")?,
            jobs: var("NUM_JOBS")?.parse().unwrap_or(1),
            skip_native: std::env::var_os(SKIP_NATIVE).is_some_and(|value| !value.is_empty() && value != "0"),
            vars: std::env::vars_os()
                .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
                .filter(|(name, _)| name.starts_with("CARGO_CFG_") || name.starts_with("CARGO_FEATURE_"))
                .collect(),
        })
    }

    /// Where a kernel's generated files go.
    pub(crate) fn folder(&self, kernel: &str) -> PathBuf {
        self.out_dir.join("dietcode").join(kernel)
    }

    /// The variables from which the crate `cc` takes the compiler and its flags.
    pub(crate) fn compiler_vars(&self) -> Vec<String> {
        let target = self.target.replace('-', "_");
        let of = |name: &str| {
            let per_target = [format!("{name}_{}", self.target), format!("{name}_{target}")];
            per_target.into_iter().chain([format!("TARGET_{name}"), format!("HOST_{name}"), name.to_owned()])
        };
        ["CC", "CFLAGS", "AR"].into_iter().flat_map(of).collect()
    }
}

fn var(name: &str) -> Result<String> {
    std::env::var(name).map_err(|error| {
        Error::input(format!("{name} is not set: kernels are built from a build script")).caused_by(error)
    })
}
