//! Files that are written whole or not at all.

use std::io::{BufWriter, Error, ErrorKind, Result, Write};
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

/// Writes a file in parts beside its place, and puts it there at once. A link stays one: what it leads to is replaced.
///
/// # Errors
/// Those of the file system; that what is there is no file.
pub fn write_whole<P: AsRef<[u8]>>(path: &Path, parts: impl IntoIterator<Item = P>) -> Result<()> {
    let path = &followed(path)?;
    let mut file = BufWriter::new(beside(path)?);
    parts.into_iter().try_for_each(|part| file.write_all(part.as_ref()))?;
    let file = file.into_inner()?;
    // Else a power loss could leave the new name with nothing behind it.
    file.as_file().sync_data()?;
    file.persist(path)?;
    Ok(())
}

/// The file that [`write_whole`] would write, named in one way only, if it can; nothing is left of the attempt.
///
/// # Errors
/// As for [`write_whole`].
pub fn check_whole(path: &Path) -> Result<PathBuf> {
    let path = followed(path)?;
    drop(beside(&path)?);
    Ok(folder(&path).canonicalize()?.join(path.file_name().unwrap_or_default()))
}

/// Follows links, also to a file that is not there yet; what is there must be a file.
fn followed(path: &Path) -> Result<PathBuf> {
    /// As many as Linux follows.
    const MOST: usize = 40;
    let mut path = path.to_owned();
    for _ in 0..MOST {
        match path.symlink_metadata() {
            Ok(found) if found.is_symlink() => path = folder(&path).join(path.read_link()?),
            Ok(found) if found.is_dir() => return Err(Error::new(ErrorKind::InvalidInput, "it is a folder")),
            Ok(found) if !found.is_file() => {
                return Err(Error::new(ErrorKind::InvalidInput, "it is no ordinary file"));
            }
            _ => return Ok(path),
        }
    }
    Err(Error::new(ErrorKind::InvalidInput, "it is a link that leads to itself"))
}

/// A new file in the folder of another one.
fn beside(path: &Path) -> Result<NamedTempFile> {
    let mut builder = tempfile::Builder::new();
    // All users may read these files, not their writer alone as with other temporary files.
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    builder.tempfile_in(folder(path))
}

/// The folder that a file is in, or is to be in.
pub fn folder(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn a_link_stays_one_and_what_it_leads_to_is_written() {
        let place = tempfile::tempdir().unwrap();
        let at = |name: &str| place.path().join(name);
        fs::create_dir(at("there")).unwrap();
        symlink("there/file", at("link")).unwrap();
        symlink("link", at("second")).unwrap();
        for text in ["new", "again"] {
            assert_eq!(check_whole(&at("second")).unwrap(), at("there").canonicalize().unwrap().join("file"));
            write_whole(&at("second"), [text]).unwrap();
            assert_eq!(fs::read_to_string(at("there/file")).unwrap(), text);
        }
        assert!(at("link").is_symlink() && at("second").is_symlink());
        assert_eq!(fs::read_dir(at("there")).unwrap().count(), 1);
    }

    #[test]
    fn what_cannot_be_replaced_by_a_file_is_told() {
        let place = tempfile::tempdir().unwrap();
        let at = |name: &str| place.path().join(name);
        fs::create_dir(at("folder")).unwrap();
        symlink("round", at("round")).unwrap();
        symlink("nowhere/file", at("dangling")).unwrap();
        for name in ["folder", "round", "dangling", "nowhere/file"] {
            assert!(check_whole(&at(name)).is_err() && write_whole(&at(name), ["text"]).is_err(), "{name}");
        }
        assert!(check_whole(Path::new("/dev/null")).is_err());
        assert_eq!(fs::read_dir(place.path()).unwrap().count(), 3, "nothing was left there");
    }
}
