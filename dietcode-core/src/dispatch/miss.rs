//! Why a tuned file is not used.

use std::fmt;
use std::path::{Path, PathBuf};

use crate::message::one_line;

/// A tuned file that is not there or cannot be used: one line that says why and what to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Miss {
    path: PathBuf,
    config: PathBuf,
    why: Option<String>,
}

impl Miss {
    /// There is no file.
    pub(super) fn absent(path: &Path, target: &str) -> Miss {
        Miss { path: path.to_path_buf(), config: config_of(path, target), why: None }
    }

    /// There is one that does not fit.
    pub(super) fn unusable(path: &Path, target: &str, why: &str) -> Miss {
        // What was found in the file may hold anything.
        Miss { why: Some(one_line(why).into_owned()), ..Miss::absent(path, target) }
    }

    /// Whether there is no file at all, rather than one that cannot be used.
    pub fn is_absent(&self) -> bool {
        self.why.is_none()
    }
}

/// `configs/dense.json` of `configs/dense.cpu.tuned.json`.
fn config_of(path: &Path, target: &str) -> PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let stem = name.strip_suffix(&format!(".{target}.tuned.json")).unwrap_or(&name);
    path.with_file_name(format!("{stem}.json"))
}

impl fmt::Display for Miss {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [path, config] = [&self.path, &self.config].map(|path| one_line(&path.to_string_lossy()).into_owned());
        match &self.why {
            None => write!(f, "{path}: there is no such file yet; run `dietcode tune {config}`"),
            Some(why) => write!(f, "{path}: {why}; run `dietcode tune {config}`"),
        }
    }
}

impl std::error::Error for Miss {}
