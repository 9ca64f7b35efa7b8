//! A file to which several processes append, and which one may replace.
//!
//! A writer holds the file's lock. A line that a writer could not finish is ended by the next writer, so that no line continues another
//! one. A process that rewrites the file puts a new one in its place, and holds the lock of the old one until then; a writer that gets
//! the lock of a file that is no longer there opens the new one.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// A file that is open for reading and appending.
#[derive(Debug)]
pub(crate) struct SharedFile {
    path: PathBuf,
    file: File,
    /// For how long a lock is waited for; none: for as long as it takes.
    wait: Option<Duration>,
}

/// The lock of a file; dropping it lets go. A process that ends lets go of it too.
pub(crate) struct Locked<'a>(pub(crate) &'a File);

impl Drop for Locked<'_> {
    fn drop(&mut self) {
        // The lock ends with the file, too; there is nothing else to do.
        drop(self.0.unlock());
    }
}

impl Locked<'_> {
    /// Adds lines, whole or not at all.
    pub(crate) fn append(&self, lines: &[u8]) -> io::Result<()> {
        let mut file = self.0;
        let length = file.metadata()?.len();
        let begun = length > 0 && {
            let mut last = [0];
            file.seek(SeekFrom::Start(length - 1))?;
            file.read_exact(&mut last)?;
            last != *b"\n"
        };
        let bytes = if begun { [b"\n", lines].concat() } else { lines.to_vec() };
        file.write_all(&bytes).and_then(|()| file.flush()).inspect_err(|_| {
            // A disk that is full may have taken a part; if it cannot be cut off either, the next writer ends it.
            drop(file.set_len(length));
        })
    }
}

impl SharedFile {
    /// Opens or creates it.
    pub(crate) fn open(path: &Path) -> io::Result<SharedFile> {
        regular(path)?;
        Ok(SharedFile { path: path.to_owned(), file: open(path)?, wait: None })
    }

    /// The same, which waits for the lock for so long and no longer.
    #[cfg(feature = "results")]
    pub(crate) fn within(path: &Path, wait: Duration) -> io::Result<SharedFile> {
        Ok(SharedFile { wait: Some(wait), ..SharedFile::open(path)? })
    }

    #[cfg(feature = "tuner")]
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Waits for the lock of the file that has the path now.
    pub(crate) fn lock(&mut self) -> io::Result<Locked<'_>> {
        loop {
            lock(&self.file, self.wait)?;
            if is_at(&self.file, &self.path)? {
                return Ok(Locked(&self.file));
            }
            self.file = open(&self.path)?;
        }
    }

    /// Adds lines, whole or not at all.
    pub(crate) fn append(&mut self, lines: &[u8]) -> io::Result<()> {
        self.lock()?.append(lines)
    }

    /// Waits until what was added is on the disk: no loss of power takes it away.
    #[cfg(feature = "tuner")]
    pub(crate) fn sync(&self) -> io::Result<()> {
        self.file.sync_data()
    }
}

fn open(path: &Path) -> io::Result<File> {
    OpenOptions::new().read(true).append(true).create(true).open(path)
}

/// Opening a pipe would wait for its other end, and a folder has no lines.
pub(crate) fn regular(path: &Path) -> io::Result<()> {
    match std::fs::metadata(path) {
        Ok(found) if !found.is_file() => {
            let what = if found.is_dir() { "it is a folder" } else { "it is no ordinary file" };
            Err(io::Error::new(io::ErrorKind::InvalidInput, what))
        }
        Err(e) if e.kind() != io::ErrorKind::NotFound => Err(e),
        _ => Ok(()),
    }
}

/// Waits for a lock.
fn lock(file: &File, wait: Option<Duration>) -> io::Result<()> {
    /// From one attempt to the next.
    const PAUSE: Duration = Duration::from_millis(2);
    let Some(wait) = wait else { return file.lock() };
    let begun = Instant::now();
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(()),
            Err(TryLockError::Error(error)) => return Err(error),
            Err(TryLockError::WouldBlock) if begun.elapsed() < wait => std::thread::sleep(PAUSE),
            Err(TryLockError::WouldBlock) => {
                let message = format!("another process has had it locked for {wait:?}");
                return Err(io::Error::new(io::ErrorKind::TimedOut, message));
            }
        }
    }
}

#[cfg(unix)]
fn is_at(file: &File, path: &Path) -> io::Result<bool> {
    use std::os::unix::fs::MetadataExt;
    let own = file.metadata()?;
    match std::fs::metadata(path) {
        Ok(there) => Ok((there.dev(), there.ino()) == (own.dev(), own.ino())),
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(e) => Err(e),
    }
}

/// Where a file that is open cannot be replaced.
#[cfg(not(unix))]
fn is_at(_: &File, path: &Path) -> io::Result<bool> {
    path.try_exists()
}
