//! What is being tried right now, on file: what ends the process is known to the next one.

use std::collections::hash_map::RandomState;
use std::ffi::{CStr, CString};
use std::fs::{self, File, OpenOptions};
use std::hash::BuildHasher;
use std::io::{Error, ErrorKind, Read, Result, Seek, SeekFrom, Write};
use std::mem::ManuallyDrop;
use std::path::{Path, PathBuf};
use std::process;
use std::sync::Mutex;
use std::time::Duration;

use super::ends::{Trial, Watch};
use super::line::Line;
use crate::parallel::lock;

/// How the files end that have the candidate that is being tried. Their processes lock them.
const EXTENSION: &str = ".trying";

/// A file that nobody can have made before is made within so many attempts: others may take it for one that was left.
const ATTEMPTS: u32 = 100;

/// A file beside that of the results, there and locked while a key is tuned. It is empty while no candidate is called.
pub(in crate::runtime::tunable) struct TryingFile {
    /// Closed by this process alone: a child that it forks has closed the descriptor before.
    file: ManuallyDrop<File>,
    path: PathBuf,
    process: u32,
    /// What it says.
    line: Mutex<String>,
    watch: Option<Watch>,
}

/// One candidate is tried as long as this is there.
pub(in crate::runtime::tunable) struct Attempt<'a> {
    file: &'a TryingFile,
    /// What was tried before: this one is called by it.
    outer: String,
    _trial: Trial,
}

/// The path of such a file, of this process. A handler of a signal may read it at any time.
pub(super) fn new_path(results: &Path) -> Result<&'static CStr> {
    let random = RandomState::new().hash_one(process::id());
    let path = folder(results).join(format!("{}{}-{random:016x}{EXTENSION}", prefix(results), process::id()));
    let path = CString::new(path.into_os_string().into_encoded_bytes()).map_err(|_| {
        let message = "its path has a byte 0";
        Error::new(ErrorKind::InvalidInput, message)
    })?;
    Ok(Box::leak(path.into_boxed_c_str()))
}

impl TryingFile {
    pub(super) fn create(name: &'static CStr) -> Result<TryingFile> {
        let watch = Watch::begin(name);
        // SAFETY: the bytes were encoded so by `new_path`, which has only put ASCII beside them.
        let path = PathBuf::from(unsafe { std::ffi::OsStr::from_encoded_bytes_unchecked(name.to_bytes()) });
        for _ in 0..ATTEMPTS {
            match OpenOptions::new().write(true).create_new(true).open(&path) {
                // A process that collects what was left may have it for a moment, and removes it.
                Ok(file) if file.try_lock().is_ok() && is_there(&file)? => {
                    watch.iter().for_each(|watch| watch.is_of(&file));
                    let (file, line) = (ManuallyDrop::new(file), Mutex::default());
                    let file = TryingFile { file, path, process: process::id(), line, watch };
                    return if Watch::is_over() { Err(Error::other("the process ends")) } else { Ok(file) };
                }
                Err(error) if error.kind() != ErrorKind::AlreadyExists => return Err(error),
                _ => std::thread::sleep(Duration::from_millis(1)),
            }
        }
        Err(Error::new(ErrorKind::AlreadyExists, format!("{}: others have it again and again", path.display())))
    }

    /// Says what is tried now, and that it hangs if it takes longer than that. Nothing in a forked child, where the descriptor was closed
    /// and its number may be that of another file.
    pub(super) fn attempt(&self, line: String, hangs_after: Duration) -> Result<Option<Attempt<'_>>> {
        if !self.is_own() {
            return Ok(None);
        }
        let outer = self.set(line)?;
        Ok(Some(Attempt { file: self, outer, _trial: Trial::begin(hangs_after) }))
    }

    /// Replaces what the file says.
    fn set(&self, line: String) -> Result<String> {
        let mut file = &*self.file;
        file.set_len(0)?;
        file.seek(SeekFrom::Start(0))?;
        file.write_all(line.as_bytes())?;
        Ok(std::mem::replace(&mut *lock(&self.line), line))
    }

    fn is_own(&self) -> bool {
        self.process == process::id()
    }
}

impl Drop for Attempt<'_> {
    fn drop(&mut self) {
        if self.file.is_own() {
            // What could not be removed says too much, and a candidate is left out.
            let _ = self.file.set(std::mem::take(&mut self.outer));
        }
    }
}

impl Drop for TryingFile {
    fn drop(&mut self) {
        if self.is_own() {
            // If it stays, it is empty, and the next process removes it.
            let _ = fs::remove_file(&self.path);
            self.watch = None;
            // SAFETY: it is not used any more.
            unsafe { ManuallyDrop::drop(&mut self.file) };
        }
    }
}

#[cfg(unix)]
fn is_there(file: &File) -> Result<bool> {
    Ok(std::os::unix::fs::MetadataExt::nlink(&file.metadata()?) > 0)
}

#[cfg(not(unix))]
fn is_there(_: &File) -> Result<bool> {
    Ok(true)
}

/// The files of processes that try something beside these results, or have ended at it.
pub(super) fn files(results: &Path) -> Result<Vec<PathBuf>> {
    let prefix = prefix(results);
    let entries = match fs::read_dir(folder(results)) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries?,
    };
    let mut files = Vec::new();
    for entry in entries {
        let entry = entry?;
        let name = entry.file_name();
        let random = name.to_str().and_then(|name| name.strip_prefix(&prefix)?.strip_suffix(EXTENSION));
        if random.is_some_and(|random| !random.contains('.')) && entry.file_type().is_ok_and(|kind| kind.is_file()) {
            files.push(entry.path());
        }
    }
    Ok(files)
}

/// What a process has tried that ended meanwhile, once for each: who calls this has the results locked. Nothing if it has tried nothing, is
/// at it, or another process has collected it.
pub(super) fn collect(file: &Path, keep: impl FnOnce(Line) -> Result<()>) -> Result<()> {
    let Some(mut open) = unless_gone(File::open(file))? else { return Ok(()) };
    if open.try_lock().is_err() {
        return Ok(());
    }
    let mut text = Vec::new();
    open.read_to_end(&mut text)?;
    if let Ok(line) = Line::whole(text.trim_ascii_end()) {
        keep(line)?;
    }
    unless_gone(fs::remove_file(file)).map(|_| ())
}

fn unless_gone<T>(result: Result<T>) -> Result<Option<T>> {
    match result {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        result => result.map(Some),
    }
}

fn prefix(results: &Path) -> String {
    format!("{}.", results.file_name().unwrap_or_default().to_string_lossy())
}

fn folder(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_another_process_has_collected_meanwhile_is_no_error() {
        let folder = tempfile::tempdir().unwrap();
        let results = folder.path().join("results");
        fs::write(folder.path().join("results.1-0.trying"), "").unwrap();
        fs::write(folder.path().join("results.old.1-0.trying"), "").unwrap();
        let files = files(&results).unwrap();
        assert_eq!(files.len(), 1, "those of other results are not looked at");
        for _ in 0..2 {
            collect(&files[0], |line| panic!("{line:?}")).unwrap();
            assert!(!files[0].exists());
        }
        assert!(super::files(&folder.path().join("nowhere/results")).unwrap().is_empty());
    }
}
