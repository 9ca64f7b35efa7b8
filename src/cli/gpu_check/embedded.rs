//! The configs that the binary carries, with the sources that they name: a machine with a GPU needs no file of ours.

use std::fs;
use std::path::{Path, PathBuf};

use dietcode::core::scratch::Scratch;
use dietcode::{Error, ErrorKind, Result};

/// Paths as in the repository.
const FILES: &[(&str, &str)] = &[
    ("configs/sm_80.json", include_str!("../../../configs/sm_80.json")),
    ("configs/sm_90.json", include_str!("../../../configs/sm_90.json")),
    ("configs/bert_dense.json", include_str!("../../../configs/bert_dense.json")),
    ("src/ops.rs", include_str!("../../ops.rs")),
    ("src/ops/matmul.rs", include_str!("../../ops/matmul.rs")),
    ("src/ops/batched.rs", include_str!("../../ops/batched.rs")),
];

/// The sets and configs that are used where none are named.
const CONFIGS: &[&str] = &["configs/sm_80.json", "configs/sm_90.json", "configs/bert_dense.json"];

/// The config that says which sequence lengths count.
pub(super) const BERT: &str = "configs/bert_dense.json";

/// The files, in a folder that goes with this.
pub(super) struct Embedded(Scratch);

impl Embedded {
    /// Writes them, so that they are read as all configs are.
    pub(super) fn unpack() -> Result<Embedded> {
        let failed = |e| Error::new(ErrorKind::Unavailable, "no folder can be made for the configs").caused_by(e);
        let folder = Scratch::new()?;
        for (name, text) in FILES {
            let path = folder.path().join(name);
            fs::create_dir_all(path.parent().unwrap_or(Path::new("."))).map_err(failed)?;
            fs::write(path, text).map_err(failed)?;
        }
        Ok(Embedded(folder))
    }

    /// Where a file is.
    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// Those that are used where none are named.
    pub(super) fn configs(&self) -> Vec<PathBuf> {
        CONFIGS.iter().map(|name| self.path(name)).collect()
    }
}
