//! The libraries, from the registries of Python and Rust: a virtual environment, a crate and the loops around their calls, all of it below
//! `target/peers`.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::library::{FAER, LIBRARIES, OPENBLAS};
use crate::command::{output, succeed_in_silence};
use crate::steps::{root, target_folder};

/// What every worker has.
const NUMPY: &str = "numpy==2.4.6";
/// What runs the tests of a wheel.
const PYTEST: &str = "pytest==9.2.0";

/// Prints where the library is.
const WHERE_OPENBLAS: &str = "\
import glob, sysconfig
print(*glob.glob(sysconfig.get_path('purelib') + '/scipy_openblas32/lib/libscipy_openblas*.so')[:1])";

const NO_VENV: &str = "\
python3 cannot make a virtual environment, into which numpy and other libraries go: install python3 with its module venv (on Debian and Ubuntu: apt-get \
install python3-venv)";

/// What there is.
pub(super) struct Provided {
    pub(super) python: PathBuf,
    /// The shared libraries that were built.
    pub(super) built: PathBuf,
    /// The libraries that are there, by name.
    pub(super) there: Vec<String>,
    /// The others, and why.
    pub(super) missing: BTreeMap<String, String>,
}

/// Where everything is.
pub(super) fn folder() -> PathBuf {
    target_folder().join("peers")
}

/// Installs and builds what is not there yet, for libraries of these names.
///
/// # Errors
///
/// One sentence: what is missing that all of them need, and how to get it; or a name that no library has.
pub(super) fn ensure(names: &[String]) -> Result<Provided, String> {
    if let Some(unknown) = names.iter().find(|name| LIBRARIES.iter().all(|library| library.name != **name)) {
        let known: Vec<&str> = LIBRARIES.iter().map(|library| library.name).collect();
        return Err(format!("there is no library `{unknown}`; there are: {}", known.join(", ")));
    }
    let (python, built) = (python()?, folder().join("built"));
    fs::create_dir_all(&built).map_err(|e| format!("{}: {e}", built.display()))?;
    loops(&built)?;
    let mut provided = Provided { python, built, there: Vec::new(), missing: BTreeMap::new() };
    for library in LIBRARIES.iter().filter(|library| names.iter().any(|name| name == library.name)) {
        let installed = match library.name {
            FAER => crate_of_products(&provided.built),
            _ => install(&provided.python, library.wheels),
        };
        match installed {
            Ok(()) => provided.there.push(library.name.to_owned()),
            Err(why) => {
                eprintln!(
                    "{} is left out: {why}; mend that, or name those that are wanted with --libraries",
                    library.shown
                );
                provided.missing.insert(library.name.to_owned(), why);
            }
        }
    }
    Ok(provided)
}

/// A Python that has numpy and pytest: that of the virtual environment, which is made if it is not there.
///
/// # Errors
///
/// One sentence: what is missing, and how to get it.
pub(crate) fn python() -> Result<PathBuf, String> {
    let environment = folder().join("venv");
    let python = environment.join("bin/python");
    if !python.exists() {
        succeed_in_silence(Command::new("python3").args(["-m", "venv", "--clear"]).arg(&environment))
            .map_err(|why| format!("{NO_VENV}: {why}"))?;
    }
    install(&python, &[NUMPY, PYTEST]).map_err(|why| {
        format!("{NUMPY}, without which no library can be called, and {PYTEST}, which runs a wheel's tests: {why}")
    })?;
    Ok(python)
}

/// The shared library of OpenBLAS, from its wheel.
///
/// # Errors
///
/// One sentence: what is missing, and how to get it.
pub(crate) fn openblas() -> Result<PathBuf, String> {
    let python = python()?;
    let wheels = LIBRARIES.iter().find(|library| library.name == OPENBLAS).map_or(&[][..], |library| library.wheels);
    install(&python, wheels)?;
    let output = output(Command::new(python).args(["-c", WHERE_OPENBLAS]))?;
    let path = PathBuf::from(String::from_utf8_lossy(&output.stdout).trim());
    if path.is_file() { Ok(path) } else { Err(format!("{} has no shared library", wheels.join(" and "))) }
}

/// Does nothing, and asks nobody, where a wheel is there in this version.
fn install(python: &Path, wheels: &[&str]) -> Result<(), String> {
    let mut pip = Command::new(python);
    pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--only-binary", ":all:"]).args(wheels);
    succeed_in_silence(&mut pip).map_err(|why| format!("pip cannot install {}: {why}", wheels.join(" and ")))
}

fn loops(built: &Path) -> Result<(), String> {
    let compiler = std::env::var("CC").unwrap_or_else(|_| "cc".to_owned());
    let mut words = compiler.split_whitespace();
    let mut command = Command::new(words.next().unwrap_or("cc"));
    command.args(words).args(["-O2", "-fPIC", "-shared", "-fopenmp", "-o"]).arg(built.join("libloops.so"));
    succeed_in_silence(command.arg(root().join("xtask/peers/loops.c")))
        .map_err(|why| format!("{compiler} cannot compile xtask/peers/loops.c, and needs OpenMP for it: {why}"))
}

fn crate_of_products(built: &Path) -> Result<(), String> {
    let target = folder().join("crates");
    let mut cargo = Command::new("cargo");
    cargo
        .args(["build", "--quiet", "--release", "--locked", "--manifest-path"])
        .arg(root().join("xtask/peers/faer/Cargo.toml"));
    succeed_in_silence(cargo.arg("--target-dir").arg(&target))?;
    let [from, to] = [target.join("release"), built.to_owned()].map(|folder| folder.join("libpeer_faer.so"));
    fs::copy(&from, to).map(drop).map_err(|e| format!("{}: {e}", from.display()))
}
