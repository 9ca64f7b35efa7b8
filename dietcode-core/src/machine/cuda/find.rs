//! Where nvcc and the programs beside it may be, in the order in which people say what they want: a program, a toolkit, the search
//! path, the wheels of this project's checks, the wheels of Python.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use super::super::process::output_limited;
use super::Nvcc;
use crate::{Error, Result};

/// The first release whose nvcc knows C++17 on devices of every generation it names, and prints what is parsed here.
const OLDEST: (u32, u32) = (12, 0);

/// A program that only says its version is given no longer than this.
const PATIENCE: Duration = Duration::from_secs(20);

/// A driver that was found, and what it says of itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Driver {
    pub(super) path: PathBuf,
    /// Such as `(13, 0)`.
    pub(super) release: (u32, u32),
    /// Such as `13.0.88`.
    pub(super) version: String,
}

/// The first driver that works and is new enough. The environment is asked through `variable`.
pub(super) fn find(variable: impl Fn(&str) -> Option<OsString>) -> Result<Driver> {
    let variable = |name: &str| variable(name).filter(|value| !value.is_empty());
    if let Some(named) = variable("NVCC") {
        return driver(Path::new(&named)).map_err(|why| none_found(&format!("NVCC names {}", named.display()), &why));
    }
    let mut unfit = Vec::new();
    for place in places("nvcc", variable) {
        if !place.is_file() {
            continue;
        }
        match driver(&place) {
            Ok(driver) => return Ok(driver),
            Err(why) => unfit.push(format!("{} {why}", place.display())),
        }
    }
    let why = if unfit.is_empty() { "none is there".to_owned() } else { unfit.join("; ") };
    Err(none_found("CUDA_HOME, CUDA_PATH, PATH and the wheels of python3 were searched", &why))
}

/// Where a program of the toolkit may be, in that order.
fn places(program: &str, variable: impl Fn(&str) -> Option<OsString>) -> impl Iterator<Item = PathBuf> {
    let of_variable = |name: &str| variable(name).map(|home| Path::new(&home).join("bin"));
    let homes = ["CUDA_HOME", "CUDA_PATH"].map(of_variable).into_iter().flatten();
    let path = variable("PATH").unwrap_or_default();
    let on_path: Vec<PathBuf> = std::env::split_paths(&path).collect();
    let installed = of_variable("DIETCODE_TOOLKIT");
    // Python is asked last, since it takes longer to start than all the rest.
    let wheels = std::iter::once_with(move || wheels(&path)).flatten();
    homes.chain(on_path).chain(installed).chain(wheels).map(move |folder| folder.join(program))
}

/// A program of the toolkit that nvcc is part of, or else of another one that is not older: an older one may not read what nvcc writes.
pub(super) fn beside(nvcc: &Nvcc, program: &str, variable: impl Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
    let own = nvcc.toolkit().map(|toolkit| toolkit.join("bin").join(program));
    let variable = |name: &str| variable(name).filter(|value| !value.is_empty());
    let is_new_enough = |place: &PathBuf| release(place).is_ok_and(|(release, _)| release >= nvcc.release());
    own.filter(|own| own.is_file())
        .or_else(|| places(program, variable).find(|place| place.is_file() && is_new_enough(place)))
}

fn none_found(where_: &str, why: &str) -> Error {
    Error::unavailable(format!(
        "no CUDA compiler was found ({where_}: {why}): install CUDA {}.{} or newer, or its wheels (python3 -m pip install \
             nvidia-cuda-nvcc nvidia-cuda-crt nvidia-nvvm nvidia-cuda-runtime nvidia-cuda-cccl), or name an nvcc in the \
             environment variable NVCC",
        OLDEST.0, OLDEST.1
    ))
}

/// The programs' folders of the toolkits that NVIDIA's wheels make in the folders from which `python3` imports.
fn wheels(path: &OsString) -> Vec<PathBuf> {
    imports(path).iter().map(|folder| folder.join("nvidia/cu13/bin")).collect()
}

/// The folders from which the `python3` of this program's environment imports; wheels put NVIDIA's libraries there.
#[cfg(feature = "tuner")]
pub(crate) fn python_folders() -> Vec<PathBuf> {
    imports(&std::env::var_os("PATH").unwrap_or_default())
}

fn imports(path: &OsString) -> Vec<PathBuf> {
    let mut python = Command::new("python3");
    // The first entry is the working directory, from which nothing is to be taken.
    python.args(["-c", "import sys; print(*sys.path[1:], sep='\\n')"]).env("PATH", path);
    let output = output_limited(&mut python, PATIENCE).ok().flatten();
    let folders = output.map(|output| String::from_utf8_lossy(&output.stdout).into_owned()).unwrap_or_default();
    folders.lines().filter(|line| !line.is_empty()).map(PathBuf::from).collect()
}

/// Asks a program of a toolkit for its release and version; else why it cannot be used.
fn release(path: &Path) -> Result<((u32, u32), String), String> {
    let output = output_limited(Command::new(path).arg("--version").env("LC_ALL", "C"), PATIENCE);
    let output = output.map_err(|error| format!("does not start: {error}"))?.ok_or("does not answer --version")?;
    parse_version(&String::from_utf8_lossy(&output.stdout))
        .filter(|_| output.status.success())
        .ok_or_else(|| "does not say of which release of CUDA it is".to_owned())
}

/// A driver that is new enough; else why it cannot be used.
fn driver(path: &Path) -> Result<Driver, String> {
    let (release, version) = release(path)?;
    if release < OLDEST {
        return Err(format!("is of release {version}, which is too old"));
    }
    // It will be started from other folders; a mere name is looked up in PATH from each.
    let path = if path.components().count() == 1 { Ok(path.to_owned()) } else { std::path::absolute(path) };
    Ok(Driver { path: path.map_err(|error| format!("stands nowhere: {error}"))?, release, version })
}

/// Reads `Cuda compilation tools, release 13.0, V13.0.88`.
fn parse_version(text: &str) -> Option<((u32, u32), String)> {
    let line = text.lines().find_map(|line| line.split_once("release ").map(|(_, rest)| rest))?;
    let (release, version) = line.split_once(", V")?;
    let (major, minor) = release.split_once('.')?;
    Some(((major.parse().ok()?, minor.parse().ok()?), version.trim().to_owned()))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;
    use crate::ErrorKind;

    /// Looks where only these variables point.
    fn find_with(variables: &[(&str, &Path)]) -> Result<Driver> {
        find(|name| variables.iter().find(|(key, _)| *key == name).map(|(_, value)| value.into()))
    }

    fn nvcc_of(toolkit: &Path) -> PathBuf {
        toolkit.join("bin/nvcc")
    }

    /// A folder laid out as a toolkit whose driver is the real one.
    fn toolkit(folder: &Path) -> PathBuf {
        let real = super::super::Nvcc::find().expect("`cargo xtask toolkit` installs nvcc");
        fs::create_dir_all(folder.join("bin")).unwrap();
        symlink(real.path(), nvcc_of(folder)).unwrap();
        folder.to_owned()
    }

    /// A program that answers every question with one line.
    fn program(path: &Path, answer: &str) {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, format!("#!/bin/sh\necho '{answer}'\n")).unwrap();
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
    }

    #[test]
    fn each_place_is_searched_and_the_first_wins() {
        let folder = tempfile::tempdir().unwrap();
        let [home, path, installed] = ["home", "path", "installed"].map(|name| toolkit(&folder.path().join(name)));
        let bin = path.join("bin");
        let places: [(&str, &Path, PathBuf); 5] = [
            ("NVCC", &nvcc_of(&home), nvcc_of(&home)),
            ("CUDA_HOME", &home, nvcc_of(&home)),
            ("CUDA_PATH", &home, nvcc_of(&home)),
            ("PATH", &bin, nvcc_of(&path)),
            ("DIETCODE_TOOLKIT", &installed, nvcc_of(&installed)),
        ];
        for (at, (name, _, expected)) in places.iter().enumerate() {
            let variables: Vec<(&str, &Path)> = places[at..].iter().map(|(name, value, _)| (*name, *value)).collect();
            assert_eq!(&find_with(&variables).unwrap().path, expected, "{name}");
        }
    }

    #[test]
    fn the_wheels_of_python_are_a_toolkit() {
        let folder = tempfile::tempdir().unwrap();
        let wheels = toolkit(&folder.path().join("site-packages/nvidia/cu13"));
        program(&folder.path().join("bin/python3"), &folder.path().join("site-packages").display().to_string());
        let found = find_with(&[("PATH", &folder.path().join("bin"))]).unwrap();
        assert_eq!(found.path, nvcc_of(&wheels));
    }

    #[test]
    fn a_missing_driver_is_said_with_what_to_install() {
        let folder = tempfile::tempdir().unwrap();
        let old = folder.path().join("old/nvcc");
        program(&old, "Cuda compilation tools, release 11.8, V11.8.89");
        let foreign = folder.path().join("foreign/nvcc");
        program(&foreign, "not a compiler");
        let empty: &Path = &folder.path().join("empty");
        let wrong = |variables: &[(&str, &Path)], expected: &str| {
            let error = find_with(variables).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Unavailable);
            let text = error.to_string();
            assert!(text.contains(expected) && text.contains("pip install nvidia-cuda-nvcc"), "{text}");
        };
        wrong(&[("NVCC", &old)], "is of release 11.8.89, which is too old");
        wrong(&[("NVCC", &foreign)], "does not say of which release");
        wrong(&[("NVCC", empty)], "does not start");
        wrong(&[("CUDA_HOME", empty), ("PATH", empty)], "none is there");
        wrong(&[("PATH", &folder.path().join("old"))], "old/nvcc is of release 11.8.89");
    }

    #[test]
    fn versions_are_parsed() {
        let text = "nvcc: NVIDIA (R) Cuda compiler driver\nCuda compilation tools, release 12.8, V12.8.61\nBuild x\n";
        assert_eq!(parse_version(text), Some(((12, 8), "12.8.61".to_owned())));
        for torn in ["", "release ", "release 12", "release 12.8", "release a.b, V1", "release 12., V"] {
            assert_eq!(parse_version(torn), None, "{torn}");
        }
    }
}
