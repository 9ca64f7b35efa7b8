//! A folder for what is compiled, which goes with its process.
//!
//! A process that is killed leaves its folder. The next one removes it: a folder is in use as long as its lock is held,
//! and the operating system lets go of that however the process ends.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use tempfile::TempDir;

use crate::parallel::lock;
use crate::{Error, Result};

const PREFIX: &str = "dietcode-";

/// No folder that people make has this file.
const LOCK: &str = ".dietcode-lock";

/// Where such folders are made, and what is made there besides.
const PLACE: &str = "TMPDIR";

/// The folders of this process.
static OWN: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// A folder of this process, which is removed when this is dropped.
#[derive(Debug)]
pub struct Scratch {
    folder: TempDir,
    _lock: File,
}

impl Scratch {
    /// A new one in the folder that `TMPDIR` names, or else where the system has such folders, once those that are not in use
    /// any more are gone.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Unavailable`] if none can be made there. A folder that `TMPDIR` names and that is not there is not made.
    pub fn new() -> Result<Scratch> {
        let named = std::env::var_os(PLACE).filter(|value| !value.is_empty());
        let place = named.as_ref().map_or_else(|| PathBuf::from("/tmp"), PathBuf::from);
        // Compilers are started in other folders.
        std::path::absolute(&place).and_then(|place| Scratch::at(&place)).map_err(|cause| {
            let why = match named {
                Some(_) => format!("{PLACE} is {}, in which no folder can be made", place.display()),
                None => format!("no folder can be made in {}", place.display()),
            };
            let what = format!("create it, or name a folder that can be written to in {PLACE}");
            Error::unavailable(format!("{why} ({}): {what}", cause.kind()))
        })
    }

    fn at(place: &Path) -> io::Result<Scratch> {
        remove_abandoned(place);
        let mut own = lock(&OWN);
        let folder = tempfile::Builder::new().prefix(PREFIX).tempdir_in(place)?;
        // The file is locked before another process can see it.
        let unseen = folder.path().join("lock");
        let lock = File::create(&unseen)?;
        lock.lock()?;
        fs::rename(unseen, folder.path().join(LOCK))?;
        own.push(folder.path().to_owned());
        Ok(Scratch { folder, _lock: lock })
    }

    /// Where it is: an absolute path.
    pub fn path(&self) -> &Path {
        self.folder.path()
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let mut own = lock(&OWN);
        remove(self.path());
        own.retain(|path| path != self.path());
    }
}

/// Removes the folders of this process, which is about to end: no other can be made, and none dropped.
#[cfg(feature = "tuner")]
pub(crate) fn remove_all() {
    let own = lock(&OWN);
    own.iter().for_each(|folder| remove(folder));
    std::mem::forget(own);
}

/// Removes a folder with its lock at last, by which the next process knows what is left of it. One that cannot be removed is
/// in nobody's way.
fn remove(folder: &Path) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten().filter(|entry| entry.file_name() != LOCK) {
        let path = entry.path();
        drop(fs::remove_file(&path).or_else(|_| fs::remove_dir_all(&path)));
    }
    drop(fs::remove_dir_all(folder));
}

fn remove_abandoned(place: &Path) {
    let Ok(entries) = fs::read_dir(place) else { return };
    for entry in entries.flatten().filter(|entry| entry.file_name().as_encoded_bytes().starts_with(PREFIX.as_bytes())) {
        if File::open(entry.path().join(LOCK)).is_ok_and(|lock| lock.try_lock().is_ok()) {
            remove(&entry.path());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_killed_process_left_is_removed_and_nothing_else() {
        let place = tempfile::tempdir().unwrap();
        let [killed, other] = ["dietcode-killed", "dietcode-by-hand"].map(|name| place.path().join(name));
        for folder in [&killed, &other] {
            fs::create_dir(folder).unwrap();
            fs::write(folder.join("0_reference.c"), "").unwrap();
        }
        fs::write(killed.join(LOCK), "").unwrap();
        let first = Scratch::at(place.path()).unwrap();
        let second = Scratch::at(place.path()).unwrap();
        assert!(!killed.exists());
        assert!(other.exists() && first.path().exists() && second.path().exists());
        drop((first, second));
        assert_eq!(fs::read_dir(place.path()).unwrap().count(), 1);
    }
}
