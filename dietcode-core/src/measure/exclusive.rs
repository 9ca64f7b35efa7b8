//! Processes of one machine time things one at a time, and compile at once.
//!
//! Who times has the lock of a file; who wants to queues at another one, and lets go of that only when it has the first: a process that
//! times one thing after the other cannot overtake one that waits. The operating system lets go of both however a process ends.

use std::fs::{File, OpenOptions, TryLockError};
use std::io;
use std::path::Path;

use crate::doing::doing;
use crate::{Error, Result};

/// The right to time something on this machine, until this is dropped.
#[derive(Debug)]
pub(super) struct Exclusive {
    _turn: File,
}

impl Exclusive {
    /// Waits for it. What is timed on a CPU and on a GPU (`place`) does not exclude each other.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Unavailable`] if the files of the locks cannot be opened in the folder for temporary files.
    pub(super) fn wait(place: &str) -> Result<Exclusive> {
        let folder = std::env::temp_dir();
        Exclusive::at(&folder, place).map_err(|cause| {
            let why = format!(
                "{}: no file can be locked there, by which processes take turns at measuring",
                folder.display()
            );
            Error::unavailable(format!("{why}; name a folder that can be written to in TMPDIR")).caused_by(cause)
        })
    }

    fn at(folder: &Path, place: &str) -> io::Result<Exclusive> {
        let [queue, turn] =
            ["queue", "turn"].map(|what| open(&folder.join(format!(".dietcode-measuring-{place}-{what}"))));
        let (queue, turn) = (queue?, turn?);
        lock(&queue)?;
        lock(&turn)?;
        queue.unlock()?;
        Ok(Exclusive { _turn: turn })
    }
}

fn lock(file: &File) -> io::Result<()> {
    match file.try_lock() {
        Ok(()) => Ok(()),
        Err(TryLockError::WouldBlock) => {
            let _doing = doing("waiting for another dietcode on this machine to finish a measurement");
            file.lock()
        }
        Err(TryLockError::Error(error)) => Err(error),
    }
}

/// The file may be another user's, who can only be waited for.
fn open(path: &Path) -> io::Result<File> {
    match File::open(path) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => {
            OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path)
        }
        opened => opened,
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

    use super::*;

    #[test]
    fn one_at_a_time_has_it_and_who_waits_is_not_overtaken() {
        let folder = tempfile::tempdir().unwrap();
        let wait = || Exclusive::at(folder.path(), "cpu").unwrap();
        let (inside, done) = (AtomicUsize::new(0), AtomicBool::new(false));
        let turn = || {
            let _turn = wait();
            assert_eq!(inside.fetch_add(1, Ordering::SeqCst), 0);
            std::thread::yield_now();
            inside.fetch_sub(1, Ordering::SeqCst);
        };
        std::thread::scope(|scope| {
            // It never rests, and yet the other one has its turns.
            scope.spawn(|| {
                while !done.load(Ordering::SeqCst) {
                    turn();
                }
            });
            (0..50).for_each(|_| turn());
            done.store(true, Ordering::SeqCst);
        });
        drop((wait(), Exclusive::at(folder.path(), "cuda").unwrap()));
    }

    #[test]
    fn another_place_has_its_own_and_a_folder_that_is_not_there_is_told() {
        let folder = tempfile::tempdir().unwrap();
        let _one = Exclusive::at(folder.path(), "cpu").unwrap();
        let _other = Exclusive::at(folder.path(), "cuda").unwrap();
        assert!(Exclusive::at(&folder.path().join("none"), "cpu").is_err());
    }
}
