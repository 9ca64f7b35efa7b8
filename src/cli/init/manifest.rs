//! The lines of Cargo.toml, added without a change to what stands there.

use std::path::Path;

use dietcode::{Error, Result};
use toml_edit::{DocumentMut, InlineTable, Item, Table, Value};

/// Where the crates come from; they are not on crates.io.
#[derive(Debug)]
pub(super) enum Origin {
    /// A clone of the repository, an absolute path.
    Clone(String),
    /// The URL of the repository.
    Git(String),
}

/// The folders of the crates in a clone.
const CORE: (&str, &str) = ("dietcode-core", "dietcode-core");
const BUILD: (&str, &str) = ("dietcode-build", "build-support");

impl Origin {
    /// The value of a dependency.
    fn of(&self, folder: &str) -> InlineTable {
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
    pub(super) fn clone_at(path: &Path, option: &str) -> Result<Origin> {
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

/// The text of a Cargo.toml with the dependencies that it lacks; `None` if it has both.
///
/// # Errors
/// If it is no TOML, has no build script on purpose, or has something else where dependencies belong.
pub(super) fn with_dependencies(path: &Path, text: &str, lacks: [bool; 2], origin: &Origin) -> Result<Option<String>> {
    let error = |why: &str| Error::input(format!("{}: {why}", path.display()));
    let mut document: DocumentMut = text.parse().map_err(|e: toml_edit::TomlError| error(e.to_string().trim_end()))?;
    if document.get("package").and_then(|package| package.get("build")?.as_bool()) == Some(false) {
        return Err(error("found `build = false`, with which no build.rs runs; remove that line"));
    }
    if lacks == [false; 2] {
        return Ok(None);
    }
    for ((name, folder), table) in [(CORE, "dependencies"), (BUILD, "build-dependencies")] {
        if lacks[usize::from(name == BUILD.0)] {
            let dependencies = document.entry(table).or_insert(Item::Table(Table::new())).as_table_like_mut();
            let dependencies = dependencies.ok_or_else(|| error(&format!("expected a table under `{table}`")))?;
            if dependencies.contains_key(name) {
                let why =
                    format!("`{name}` stands under [{table}], but not for every build; make it a plain dependency");
                return Err(error(&why));
            }
            dependencies.insert(name, Item::Value(Value::InlineTable(origin.of(folder))));
        }
    }
    Ok(Some(document.to_string()))
}
