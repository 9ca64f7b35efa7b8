//! A folder for what is compiled, which goes with its process.
//!
//! A process that is killed leaves its folder. The next one removes it: a folder is somebody's as long as its lock is held,
//! and the operating system lets go of that however the process ends.

use std::fs::{self, File};
use std::io;
use std::path::Path;

use tempfile::TempDir;

const PREFIX: &str = "dietcode-";

/// No folder that people make has this file.
const LOCK: &str = ".dietcode-lock";

/// A folder of this process, which is removed when this is dropped.
#[derive(Debug)]
pub(super) struct Scratch {
    folder: TempDir,
    _lock: File,
}

impl Scratch {
    /// A new one where the system has such folders, once those that nobody owns any more are gone.
    pub(super) fn new() -> io::Result<Scratch> {
        Scratch::at(&std::env::temp_dir())
    }

    fn at(place: &Path) -> io::Result<Scratch> {
        remove_abandoned(place);
        let folder = tempfile::Builder::new().prefix(PREFIX).tempdir_in(place)?;
        // Whoever sees the file finds it locked.
        let unseen = folder.path().join("lock");
        let lock = File::create(&unseen)?;
        lock.lock()?;
        fs::rename(unseen, folder.path().join(LOCK))?;
        Ok(Scratch { folder, _lock: lock })
    }

    pub(super) fn path(&self) -> &Path {
        self.folder.path()
    }
}

/// A folder that cannot be removed is in nobody's way.
fn remove_abandoned(place: &Path) {
    let Ok(entries) = fs::read_dir(place) else { return };
    for entry in entries.flatten().filter(|entry| entry.file_name().as_encoded_bytes().starts_with(PREFIX.as_bytes())) {
        if File::open(entry.path().join(LOCK)).is_ok_and(|lock| lock.try_lock().is_ok()) {
            drop(fs::remove_dir_all(entry.path()));
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
