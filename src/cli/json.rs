//! `--json FILE|-`: figures for programs, in a file or on standard output.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use dietcode::{Error, Result};
use serde::Serialize;

use super::{print, tell};

/// Where JSON goes.
#[derive(Debug, clap::Args)]
pub(crate) struct JsonArgument {
    /// Also write JSON: to this file, or with `-` to standard output, where nothing else goes then.
    #[arg(long, value_name = "FILE|-")]
    json: Option<PathBuf>,
}

impl JsonArgument {
    /// Whether JSON was asked for.
    pub(crate) fn is_given(&self) -> bool {
        self.json.is_some()
    }

    /// The file, if it is one.
    pub(crate) fn file(&self) -> Option<&Path> {
        self.json.as_deref().filter(|path| !is_standard_output(path))
    }

    /// Whether it can be written.
    pub(crate) fn check(&self) -> Result<()> {
        self.file().map_or(Ok(()), check_writable)
    }

    /// Prints what people read.
    pub(crate) fn print(&self, text: &str) -> Result<()> {
        if self.json.as_deref().is_some_and(is_standard_output) {
            tell(text.strip_suffix('\n').unwrap_or(text));
            return Ok(());
        }
        print(text)
    }

    /// Writes a value, if JSON was asked for, for people to read too.
    pub(crate) fn write(&self, value: &impl Serialize) -> Result<()> {
        let Some(path) = &self.json else { return Ok(()) };
        let failed = |e: io::Error| Error::of_file(path, UNWRITABLE, e);
        let mut text = serde_json::to_string_pretty(value).map_err(|e| failed(e.into()))?;
        text.push('\n');
        if is_standard_output(path) { print(&text) } else { std::fs::write(path, text).map_err(failed) }
    }

    /// Writes values as they come, a line each, if JSON was asked for.
    pub(crate) fn write_lines<T: Serialize>(&self, mut values: impl Iterator<Item = T>) -> Result<()> {
        let Some(path) = &self.json else { return Ok(()) };
        let failed = |e: io::Error| Error::of_file(path, UNWRITABLE, e);
        let line = |value: T| serde_json::to_string(&value).map(|line| line + "\n").map_err(|e| failed(e.into()));
        if is_standard_output(path) {
            return values.try_for_each(|value| print(&line(value)?));
        }
        let mut file = BufWriter::new(File::create(path).map_err(failed)?);
        values.try_for_each(|value| file.write_all(line(value)?.as_bytes()).map_err(failed))?;
        file.flush().map_err(failed)
    }
}

fn is_standard_output(path: &Path) -> bool {
    path.as_os_str() == "-"
}

const UNWRITABLE: &str = "cannot be written";

/// Fails at once, not after minutes of measuring, if a file that is to be written cannot be.
pub(crate) fn check_writable(path: &Path) -> Result<()> {
    let is_new = path.metadata().is_err();
    let opened = std::fs::OpenOptions::new().append(true).create(true).open(path);
    // Where there is a link to a file that is not there, it is that file which was made.
    let remove = || path.canonicalize().and_then(std::fs::remove_file);
    let removed = opened.and_then(|_| if is_new { remove() } else { Ok(()) });
    removed.map_err(|e| Error::of_file(path, UNWRITABLE, e))
}
