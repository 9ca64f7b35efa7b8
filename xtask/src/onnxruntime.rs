//! The library of ONNX Runtime that an example loads: one that is named, or else that of the wheel from PyPI. It goes to
//! `target/onnxruntime`, once.

use std::path::{Path, PathBuf};

use crate::provision::{fill_whole, variable};
use crate::steps::target_folder;
use crate::toolkit::pip;

const VERSION: &str = "1.32.0";

/// The library that `ORT_DYLIB_PATH` names, or the one in `target/`, which is installed if it is missing.
///
/// # Errors
///
/// One sentence: what is missing, and how to get it.
pub(crate) fn ensure() -> Result<PathBuf, String> {
    if let Some(named) = variable("ORT_DYLIB_PATH") {
        return named.is_file().then(|| named.clone()).ok_or_else(|| {
            format!(
                "ORT_DYLIB_PATH names {}, which is no file: name ONNX Runtime's library, or unset it",
                named.display()
            )
        });
    }
    let folder = target_folder().join("onnxruntime");
    if !is_whole(&folder) {
        eprintln!("onnxruntime {VERSION} goes to {}", folder.display());
        fill_whole(&folder, fill, is_whole)?;
    }
    Ok(library(&folder))
}

fn library(folder: &Path) -> PathBuf {
    folder.join("onnxruntime/capi").join(format!("libonnxruntime.so.{VERSION}"))
}

fn is_whole(folder: &Path) -> bool {
    library(folder).is_file()
}

fn fill(folder: &Path) -> Result<(), String> {
    let wheel = format!("onnxruntime=={VERSION}");
    let mut install = pip();
    install.args(["install", "--quiet", "--no-deps", "--only-binary", ":all:", "--target"]).arg(folder).arg(wheel);
    if install.status().is_ok_and(|status| status.success()) && is_whole(folder) {
        return Ok(());
    }
    Err("an example needs ONNX Runtime, which pip could not install: install python3 and pip (on Debian and Ubuntu: apt-get install \
         python3-pip), or name its library in the environment variable ORT_DYLIB_PATH"
        .to_owned())
}
