//! The crate that is added to, as cargo sees it; and cargo, which makes a new one.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Output;

use dietcode::{Error, Result};
use serde::Deserialize;

use crate::cli::{cargo, tell};

/// A package of cargo.
#[derive(Debug)]
pub(super) struct Package {
    /// The folder of its Cargo.toml.
    pub(super) folder: PathBuf,
    /// What `dietcode-core` is called in its code, if it depends on it already.
    pub(super) core: Option<String>,
    /// Whether its build script has `dietcode-build` already.
    pub(super) has_build: bool,
    /// Its build script, relative to the folder, if it has one.
    pub(super) script: Option<PathBuf>,
    /// The source that declares its modules, relative to the folder: that of the library if it has one, which is what native code is
    /// linked to.
    pub(super) root: PathBuf,
    /// Whether that is a library's.
    pub(super) is_library: bool,
}

/// What `cargo metadata` prints, as far as it matters.
#[derive(Deserialize)]
struct Metadata {
    packages: Vec<Described>,
}

#[derive(Deserialize)]
struct Described {
    name: String,
    manifest_path: PathBuf,
    edition: String,
    targets: Vec<Target>,
    dependencies: Vec<Dependency>,
}

#[derive(Deserialize)]
struct Target {
    kind: Vec<String>,
    src_path: PathBuf,
}

#[derive(Deserialize)]
struct Dependency {
    name: String,
    rename: Option<String>,
    kind: Option<String>,
    target: Option<String>,
    optional: bool,
}

impl Package {
    /// The package of a folder that has a Cargo.toml.
    ///
    /// # Errors
    /// What cargo says is wrong with it, in cargo's words; that it is no package, or one that kernels cannot be added to.
    pub(super) fn of(folder: &Path) -> Result<Package> {
        let folder = fs::canonicalize(folder).map_err(|e| Error::of_file(folder, "cannot be read", e))?;
        let manifest = folder.join("Cargo.toml");
        let arguments = ["metadata", "--no-deps", "--offline", "--format-version", "1", "--manifest-path"];
        let output = cargo(arguments.map(OsStr::new).into_iter().chain([manifest.as_os_str()]))?;
        let metadata: Metadata = serde_json::from_slice(&output.stdout)
            .map_err(|e| Error::unavailable("`cargo metadata` printed what cannot be read").caused_by(e))?;
        match metadata.packages.into_iter().find(|package| package.manifest_path == manifest) {
            Some(described) => described.check(folder),
            None => Err(Error::input(format!(
                "{}: found a workspace without a package of its own; run `dietcode init` in the folder of a member, or name a new \
                 one: `dietcode init my-crate`",
                manifest.display()
            ))),
        }
    }

    /// The module of the kernels beside the root source.
    pub(super) fn ops(&self) -> PathBuf {
        self.root.with_file_name("ops.rs")
    }
}

/// What is said of a package whose name is [`taken`].
const TAKEN: &str = "the package has the name of one that it would depend on; give it another";

fn taken(name: &str) -> bool {
    ["dietcode-core", "dietcode-build"].contains(&name)
}

impl Described {
    fn check(self, folder: PathBuf) -> Result<Package> {
        let refuse = |why: &str| Err(Error::input(format!("{}: {why}", self.manifest_path.display())));
        if self.edition == "2015" {
            return refuse("found edition 2015, expected 2018 or newer; say `edition = \"2024\"` under [package]");
        }
        if taken(&self.name) {
            return refuse(TAKEN);
        }
        let of_kind = |kinds: &[&str]| {
            let target = self.targets.iter().find(|target| target.kind.iter().any(|kind| kinds.contains(&&**kind)));
            target.map(|target| target.src_path.strip_prefix(&folder).map(Path::to_owned))
        };
        let library = of_kind(&["lib", "rlib", "dylib", "cdylib", "staticlib"]);
        let is_library = library.is_some();
        let (root, script) = match (library.or_else(|| of_kind(&["bin"])), of_kind(&["custom-build"]).transpose()) {
            (Some(Ok(root)), Ok(script)) => (root, script),
            (None, _) => return refuse("found neither a library nor a program, expected src/lib.rs or src/main.rs"),
            _ => return refuse("its sources stand outside of its folder, expected src/lib.rs or src/main.rs"),
        };
        let depends = |name: &str, kind: Option<&str>| {
            let always = |d: &&Dependency| d.name == name && d.kind.as_deref() == kind && d.target.is_none();
            self.dependencies.iter().filter(|d| !d.optional).find(always)
        };
        let in_code = |found: &Dependency| found.rename.as_ref().unwrap_or(&found.name).replace('-', "_");
        Ok(Package {
            core: depends("dietcode-core", None).map(in_code),
            has_build: depends("dietcode-build", Some("build")).is_some(),
            folder,
            script,
            root,
            is_library,
        })
    }
}

/// A new package of a program, as `cargo new` makes it: cargo checks the name, and knows the workspace around it. Without a name it
/// has that of the folder. What cargo says of it, such as to which workspace it was added, is told.
///
/// # Errors
/// What cargo says, in its words.
pub(super) fn create(folder: &Path, name: Option<&str>) -> Result<()> {
    if folder.file_name().and_then(OsStr::to_str).is_some_and(|own| taken(name.unwrap_or(own))) {
        return Err(Error::input(format!("{}: {TAKEN}", folder.display())));
    }
    let name = name.into_iter().flat_map(|name| ["--name", name]);
    let arguments = ["init", "--bin"].into_iter().chain(name).chain(["--"]).map(OsStr::new);
    let output = cargo(arguments.chain([folder.as_os_str()]))?;
    tell(String::from_utf8_lossy(&output.stderr).trim_end());
    Ok(())
}

fn cargo<'a>(arguments: impl Iterator<Item = &'a OsStr>) -> Result<Output> {
    let output = cargo::command().args(arguments).output().map_err(cargo::not_started)?;
    if output.status.success() { Ok(output) } else { Err(Error::input(cargo::error_of(&output.stderr))) }
}
