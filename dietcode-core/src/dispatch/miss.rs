//! Why a tuned file is not used.

use std::fmt;
use std::path::{Path, PathBuf};

use crate::message::one_line;

/// A tuned file that is not there or cannot be used: one line that says why and what to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Miss {
    path: PathBuf,
    /// What it belongs to, where its name says so.
    config: Option<PathBuf>,
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
fn config_of(path: &Path, target: &str) -> Option<PathBuf> {
    let name = path.file_name()?.to_string_lossy();
    let stem = name.strip_suffix(&format!(".{target}.tuned.json"))?;
    Some(path.with_file_name(format!("{stem}.json")))
}

impl fmt::Display for Miss {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = |path: &Path| one_line(&path.to_string_lossy()).into_owned();
        let why = self.why.as_deref().unwrap_or("there is no such file yet");
        write!(f, "{}: {why}; ", shown(&self.path))?;
        match &self.config {
            Some(config) => write!(f, "run `dietcode tune {}`", shown(config)),
            None => f.write_str("run `dietcode tune` with its config"),
        }
    }
}

impl std::error::Error for Miss {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_of_another_name_names_no_config() {
        let hint = |path: &str| Miss::unusable(Path::new(path), "cpu", "it is of another version").to_string();
        assert_eq!(
            hint("configs/dense.cpu.tuned.json"),
            "configs/dense.cpu.tuned.json: it is of another version; run `dietcode tune configs/dense.json`"
        );
        assert_eq!(hint("kept.json"), "kept.json: it is of another version; run `dietcode tune` with its config");
    }
}
