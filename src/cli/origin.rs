//! Where a crate that a command writes gets the crates of dietcode from; they are not on crates.io.

use std::path::{Path, PathBuf};

use dietcode::{Error, Result};
use toml_edit::{InlineTable, Value};

/// The options that say so.
#[derive(Debug, clap::Args)]
pub(super) struct OriginArguments {
    /// The clone of dietcode that the crate depends on, written as an absolute path. Default: the one that this command was built
    /// from.
    #[arg(long, value_name = "CLONE", conflicts_with = "git")]
    path: Option<PathBuf>,
    /// The repository of dietcode that the crate depends on, instead of a clone.
    #[arg(long, value_name = "URL")]
    git: Option<String>,
}

/// Where the crates come from.
#[derive(Debug)]
pub(super) enum Origin {
    /// A clone of the repository, an absolute path.
    Clone(String),
    /// The URL of the repository.
    Git(String),
}

/// The folders of the crates in a clone.
pub(super) const CORE: (&str, &str) = ("dietcode-core", "dietcode-core");
pub(super) const BUILD: (&str, &str) = ("dietcode-build", "build-support");

impl OriginArguments {
    /// What they say.
    ///
    /// # Errors
    /// If there is no clone at a path, or the path is not UTF-8, which a Cargo.toml is.
    pub(super) fn find(&self) -> Result<Origin> {
        match (&self.git, &self.path) {
            (Some(url), _) => Ok(Origin::Git(url.clone())),
            (None, Some(path)) => Origin::clone_at(path, "--path "),
            (None, None) => Origin::clone_at(Path::new(env!("CARGO_MANIFEST_DIR")), ""),
        }
    }
}

impl Origin {
    /// The value of a dependency in a Cargo.toml.
    pub(super) fn of(&self, folder: &str) -> InlineTable {
        let (key, value) = match self {
            Origin::Clone(clone) => ("path", format!("{clone}/{folder}")),
            Origin::Git(url) => ("git", url.clone()),
        };
        InlineTable::from_iter([(key, Value::from(value))])
    }

    /// A clone at this path.
    ///
    /// # Errors
    /// If there is none, or the path is not UTF-8, which a Cargo.toml is.
    fn clone_at(path: &Path, option: &str) -> Result<Origin> {
        let whole = [CORE, BUILD].iter().all(|(_, folder)| path.join(folder).join("Cargo.toml").is_file());
        let found = std::fs::canonicalize(path).ok().filter(|_| whole);
        match found.as_ref().and_then(|path| path.to_str()) {
            Some(path) => Ok(Origin::Clone(path.to_owned())),
            None if whole => Err(Error::input(format!(
                "{option}{}: a Cargo.toml cannot name it, since it is not UTF-8",
                path.display()
            ))),
            None => Err(Error::input(format!(
                "{option}{}: found no clone of dietcode there; name one by --path CLONE, or its repository by --git URL",
                path.display()
            ))),
        }
    }
}
