//! The package that makes a library, and cargo, which builds it.

use std::env;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::Duration;

use dietcode::core::codegen::library::Library;
use dietcode::core::doing::doing;
use dietcode::core::hash::hash_of;
use dietcode::core::machine::output_limited;
use dietcode::heartbeat::Heartbeat;
use dietcode::{Error, Result};
use serde::Deserialize;
use toml_edit::{Array, Value};

use super::Arguments;
use crate::cli::cargo;
use crate::cli::origin::{BUILD, CORE, Origin};
use crate::cli::tell;

/// Longer than any build takes that ends.
const LIMIT: Duration = Duration::from_secs(3600);

/// A package in a folder of its own, the same for each build of a library, which no other build uses meanwhile.
pub(super) struct Package {
    /// Also that of the files that cargo makes, which stand in one folder for all packages.
    name: String,
    folder: PathBuf,
    /// Where cargo builds.
    target: PathBuf,
    _lock: File,
}

/// Where cargo has put the libraries.
pub(super) struct Built {
    pub(super) shared: PathBuf,
    pub(super) archive: PathBuf,
}

impl Package {
    /// The package of a library's name and folder, which is there.
    ///
    /// # Errors
    /// [`ErrorKind::Unavailable`](dietcode::ErrorKind::Unavailable) if there is no place for it.
    pub(super) fn new(arguments: &Arguments) -> Result<Package> {
        let absolute = |path: &Path| std::path::absolute(path).map_err(|e| Error::of_file(path, "has no place", e));
        let cache = absolute(&arguments.cache.clone().map_or_else(usual_cache, Ok)?)?;
        let output =
            fs::canonicalize(&arguments.output).map_err(|e| Error::of_file(&arguments.output, "has no place", e))?;
        let key = hash_of([output.as_os_str().as_encoded_bytes(), arguments.name.as_bytes()]);
        let name = format!("dietcode_library_{}", &key[..16]);
        let folder = cache.join("libraries").join(&name);
        fs::create_dir_all(folder.join("src")).map_err(|e| Error::of_file(&folder, "cannot be made", e))?;
        let target = match filled("CARGO_TARGET_DIR") {
            Some(target) => absolute(&target)?,
            None => cache.join("target"),
        };
        let lock = lock(&folder.join("lock"))?;
        Ok(Package { name, folder, target, _lock: lock })
    }

    /// Brings its files up to date.
    pub(super) fn write(&self, library: &Library, shared: &str, origin: &Origin) -> Result<()> {
        let mut core = origin.of(CORE.1);
        if library.cuda.is_some() {
            core.insert("features", Value::from(Array::from_iter(["cuda"])));
        }
        let manifest = format!(
            "# Written by `dietcode build-lib`.
[workspace]

[package]
name = \"{}\"
version = \"0.1.0\"
edition = \"2024\"

[lib]
crate-type = [\"cdylib\", \"staticlib\"]

[dependencies]
dietcode-core = {}

[build-dependencies]
dietcode-build = {}

# One of the candidates is the nest as plain Rust.
[profile.dev.package.{0}]
opt-level = 3
",
            self.name,
            core,
            origin.of(BUILD.1)
        );
        self.bring("Cargo.toml", &manifest)?;
        for (name, text) in library.sources(shared) {
            self.bring(name, &text)?;
        }
        // The versions that the clone was built with are on the machine already.
        if let Origin::Clone(clone) = origin {
            let (from, to) = (Path::new(clone).join("Cargo.lock"), self.folder.join("Cargo.lock"));
            let lock = fs::read(&from).map_err(|e| Error::of_file(&from, "cannot be read", e))?;
            fs::write(&to, lock).map_err(|e| Error::of_file(&to, "cannot be written", e))?;
        }
        Ok(())
    }

    /// A file that is as it should be keeps its time stamp.
    fn bring(&self, name: &str, text: &str) -> Result<()> {
        let path = self.folder.join(name);
        if fs::read_to_string(&path).is_ok_and(|found| found == text) {
            return Ok(());
        }
        fs::write(&path, text).map_err(|e| Error::of_file(&path, "cannot be written", e))
    }

    /// Has cargo build it.
    ///
    /// # Errors
    /// [`ErrorKind::Unavailable`](dietcode::ErrorKind::Unavailable) without cargo, and with what it says if it fails.
    pub(super) fn build(&self, profile: &str, is_for_cuda: bool) -> Result<Built> {
        let _heartbeat = Heartbeat::start();
        let _doing = doing("building the library by cargo");
        let mut command = cargo::command();
        command.args(["build", "--profile", profile, "--message-format", "json-render-diagnostics", "--target-dir"]);
        // Kernels are called where the library has functions for, and there they are called.
        let cuda = if is_for_cuda { "1" } else { "0" };
        command.arg(&self.target).env("DIETCODE_CUDA", cuda).env_remove("DIETCODE_SKIP_NATIVE");
        let output = output_limited(command.current_dir(&self.folder), LIMIT).map_err(cargo::not_started)?;
        let output = output
            .ok_or_else(|| Error::unavailable(format!("cargo has not built the library in {} s", LIMIT.as_secs())))?;
        if !output.status.success() {
            return Err(Error::unavailable(format!(
                "the library cannot be built; {}",
                cargo::error_of(&output.stderr)
            )));
        }
        let messages = String::from_utf8_lossy(&output.stdout);
        built(&messages, &self.name)
            .ok_or_else(|| Error::unavailable("cargo does not say where it has put the library"))
    }
}

/// A line that cargo prints, as far as it matters.
#[derive(Deserialize)]
struct Message {
    target: Target,
    filenames: Vec<PathBuf>,
}

#[derive(Deserialize)]
struct Target {
    name: String,
    kind: Vec<String>,
}

fn built(messages: &str, name: &str) -> Option<Built> {
    let mut lines = messages.lines().filter_map(|line| serde_json::from_str::<Message>(line).ok());
    let is_it =
        |message: &Message| message.target.name == name && message.target.kind.iter().any(|kind| kind == "cdylib");
    let files = lines.find(is_it)?.filenames;
    let of =
        |extension: &str| files.iter().find(|file| file.extension().is_some_and(|found| found == extension)).cloned();
    Some(Built { shared: of(env::consts::DLL_EXTENSION)?, archive: of("a")? })
}

fn usual_cache() -> Result<PathBuf> {
    let cache = filled("XDG_CACHE_HOME").or_else(|| filled("HOME").map(|home| home.join(".cache")));
    cache.map(|folder| folder.join("dietcode")).ok_or_else(|| {
        Error::unavailable("neither XDG_CACHE_HOME nor HOME names a folder to build in: name one by --cache DIR")
    })
}

fn filled(variable: &str) -> Option<PathBuf> {
    env::var_os(variable).filter(|value| !value.is_empty()).map(PathBuf::from)
}

/// Waits until no other build has the package.
fn lock(path: &Path) -> Result<File> {
    let file = File::create(path).map_err(|e| Error::of_file(path, "cannot be written", e))?;
    let locked = match file.try_lock() {
        Err(fs::TryLockError::WouldBlock) => {
            tell("another build of this library is under way, which this one waits for");
            file.lock()
        }
        Err(fs::TryLockError::Error(e)) => Err(e),
        Ok(()) => Ok(()),
    };
    locked.map_err(|e| Error::of_file(path, "cannot be locked", e))?;
    Ok(file)
}
