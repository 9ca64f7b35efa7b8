//! What is being tried right now, on file: what ends the process is known to the next one.

use std::fs::{self, File};
use std::io::{Read, Result, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use super::line::Line;

/// How the files end that have the candidate that is being tried. Their processes lock them.
const EXTENSION: &str = ".trying";

/// A file beside that of the results, locked as long as its process lives. It is empty while no candidate is called.
pub(super) struct TryingFile {
    file: File,
    path: PathBuf,
}

impl TryingFile {
    pub(super) fn create(results: &Path) -> Result<TryingFile> {
        let prefix = prefix(results);
        let new = tempfile::Builder::new().prefix(&prefix).tempfile_in(folder(results))?;
        // Nobody knows it before it has its name.
        new.as_file().try_lock()?;
        let mut path = new.path().to_owned().into_os_string();
        path.push(EXTENSION);
        let file = new.persist_noclobber(&path)?;
        Ok(TryingFile { file, path: path.into() })
    }

    /// Replaces what the file says.
    pub(super) fn set(&self, line: &str) -> Result<()> {
        let mut file = &self.file;
        file.set_len(0)?;
        file.seek(SeekFrom::Start(0))?;
        file.write_all(line.as_bytes())
    }
}

impl Drop for TryingFile {
    fn drop(&mut self) {
        // If it stays, it is empty, and the next process removes it.
        let _ = fs::remove_file(&self.path);
    }
}

/// What was being tried by processes that ended meanwhile. Each is told to one process.
pub(super) fn ended(results: &Path, mut keep: impl FnMut(Line) -> Result<()>) -> Result<()> {
    let prefix = prefix(results);
    for entry in fs::read_dir(folder(results))? {
        let entry = entry?;
        let name = entry.file_name();
        let random = name.to_str().and_then(|name| name.strip_prefix(&prefix)?.strip_suffix(EXTENSION));
        if random.is_none_or(|random| random.contains('.')) || !entry.file_type()?.is_file() {
            continue;
        }
        let path = folder(results).join(name);
        let Ok(mut file) = File::open(&path) else { continue };
        if file.try_lock().is_err() {
            continue;
        }
        let mut text = Vec::new();
        file.read_to_end(&mut text)?;
        if let Ok(line) = Line::whole(text.trim_ascii_end()) {
            keep(line)?;
        }
        fs::remove_file(path)?;
    }
    Ok(())
}

fn prefix(results: &Path) -> String {
    format!("{}.", results.file_name().unwrap_or_default().to_string_lossy())
}

fn folder(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}
