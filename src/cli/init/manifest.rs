//! The lines of Cargo.toml, added without a change to what stands there.

use std::path::Path;

use dietcode::{Error, Result};
use toml_edit::{DocumentMut, Item, Table, Value};

use crate::cli::origin::{BUILD, CORE, Origin};

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
