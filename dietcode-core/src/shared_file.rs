//! A file to which several processes append, and which one may replace.
//!
//! A writer holds the file's lock. A line that a writer could not finish is ended by the next writer, so that no line continues another
//! one. A process that rewrites the file puts a new one in its place, and holds the lock of the old one until then; a writer that gets
//! the lock of a file that is no longer there opens the new one.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};

/// A file that is open for reading and appending.
#[derive(Debug)]
pub(super) struct SharedFile {
    path: PathBuf,
    file: File,
}

/// The lock of a file; dropping it lets go. A process that ends lets go of it too.
pub(super) struct Locked<'a>(pub(super) &'a File);

impl Drop for Locked<'_> {
    fn drop(&mut self) {
        // The lock ends with the file, too; there is nothing else to do.
        drop(self.0.unlock());
    }
}

impl SharedFile {
    /// Opens or creates it.
    pub(super) fn open(path: &Path) -> io::Result<SharedFile> {
        regular(path)?;
        Ok(SharedFile { path: path.to_owned(), file: open(path)? })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Waits for the lock of the file that has the path now.
    pub(super) fn lock(&mut self) -> io::Result<Locked<'_>> {
        loop {
            self.file.lock()?;
            if is_at(&self.file, &self.path)? {
                return Ok(Locked(&self.file));
            }
            self.file = open(&self.path)?;
        }
    }

    /// Adds lines, whole or not at all.
    pub(super) fn append(&mut self, lines: &[u8]) -> io::Result<()> {
        let locked = self.lock()?;
        let length = locked.0.metadata()?.len();
        let begun = length > 0 && {
            let mut last = [0];
            locked.0.read_exact_at(&mut last, length - 1)?;
            last != *b"\n"
        };
        let bytes = if begun { [b"\n", lines].concat() } else { lines.to_vec() };
        let mut file = locked.0;
        file.write_all(&bytes).and_then(|()| file.flush()).inspect_err(|_| {
            // A disk that is full may have taken a part; if it cannot be cut off either, the next writer ends it.
            drop(file.set_len(length));
        })
    }

    /// Waits until what was added is on the disk: no loss of power takes it away.
    pub(super) fn sync(&self) -> io::Result<()> {
        self.file.sync_data()
    }
}

fn open(path: &Path) -> io::Result<File> {
    OpenOptions::new().read(true).append(true).create(true).open(path)
}

/// Opening a pipe would wait for its other end, and a folder has no lines.
pub(super) fn regular(path: &Path) -> io::Result<()> {
    match std::fs::metadata(path) {
        Ok(found) if !found.is_file() => {
            let what = if found.is_dir() { "it is a folder" } else { "it is no ordinary file" };
            Err(io::Error::new(io::ErrorKind::InvalidInput, what))
        }
        Err(e) if e.kind() != io::ErrorKind::NotFound => Err(e),
        _ => Ok(()),
    }
}

fn is_at(file: &File, path: &Path) -> io::Result<bool> {
    let own = file.metadata()?;
    match std::fs::metadata(path) {
        Ok(there) => Ok((there.dev(), there.ino()) == (own.dev(), own.ino())),
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(e) => Err(e),
    }
}
