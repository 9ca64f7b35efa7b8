//! Writes generated files: only those whose text changed, so that what depends on the others stays up to date.

use std::collections::BTreeSet;
use std::path::Path;
use std::{fs, io};

use dietcode_core::{Error, Result};

/// Brings a file to these contents; an equal one keeps its time stamp.
pub(crate) fn write(path: &Path, contents: impl AsRef<[u8]>) -> Result<()> {
    let contents = contents.as_ref();
    if fs::read(path).is_ok_and(|found| found == contents) {
        return Ok(());
    }
    let written = path.parent().map_or(Ok(()), fs::create_dir_all).and_then(|()| fs::write(path, contents));
    written.map_err(|error| failed("written", path, error))
}

/// Removes everything in a folder that is not named; a folder that is not there has nothing to remove.
pub(crate) fn keep_only(folder: &Path, names: &BTreeSet<String>) -> Result<()> {
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(failed("read", folder, error)),
    };
    for entry in entries {
        let path = entry.map_err(|error| failed("read", folder, error))?.path();
        if path.file_name().and_then(|name| name.to_str()).is_some_and(|name| names.contains(name)) {
            continue;
        }
        let removed = if path.is_dir() { fs::remove_dir_all(&path) } else { fs::remove_file(&path) };
        removed.map_err(|error| failed("removed", &path, error))?;
    }
    Ok(())
}

fn failed(what: &str, path: &Path, error: io::Error) -> Error {
    Error::input(format!("{} cannot be {what}", path.display())).caused_by(error)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_equal_file_is_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("deep").join("a.c");
        write(&path, "one").unwrap();
        let before = fs::metadata(&path).unwrap().modified().unwrap();
        std::thread::sleep(std::time::Duration::from_millis(20));
        write(&path, "one").unwrap();
        assert_eq!(fs::metadata(&path).unwrap().modified().unwrap(), before);
        write(&path, "two").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "two");
    }

    #[test]
    fn what_is_not_named_goes() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["keep.c", "stale.c", "stale.o"] {
            write(&folder.path().join(name), "").unwrap();
        }
        write(&folder.path().join("dropped").join("x.c"), "").unwrap();
        keep_only(folder.path(), &BTreeSet::from(["keep.c".to_owned()])).unwrap();
        let left: Vec<_> = fs::read_dir(folder.path()).unwrap().map(|e| e.unwrap().file_name()).collect();
        assert_eq!(left, ["keep.c"]);
        keep_only(&folder.path().join("nowhere"), &BTreeSet::new()).unwrap();
    }
}
