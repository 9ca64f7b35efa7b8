//! The records of several files, each once, by time: what `dietcode records merge` writes.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use super::scan::scan;
use crate::whole_file::write_whole;
use crate::{Error, ErrorKind, Result};

/// Records of several files.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct United {
    /// The time and the line of each, without its end, by time; those of one second in the order of the files.
    lines: Vec<(u64, Vec<u8>)>,
    /// So many were in the files more than once.
    pub duplicates: usize,
    /// What was passed over, in sentences.
    pub notices: Vec<String>,
}

/// Reads files. Records are the same if they say the same, however they are written; lines that are no records are left out,
/// with a notice.
///
/// # Errors
/// [`ErrorKind::Input`] if a file cannot be read.
pub fn unite(paths: &[PathBuf]) -> Result<United> {
    let (mut united, mut seen) = (United::default(), HashSet::new());
    for path in paths {
        let scanned = scan(path, |record, line| {
            let said = record.line().map_err(|e| Error::input(format!("{}", path.display())).caused_by(e))?;
            match seen.insert(blake3::hash(&said)) {
                true => united.lines.push((record.time, line.to_vec())),
                false => united.duplicates += 1,
            }
            Ok(())
        })?;
        united.notices.extend(scanned.notices(path));
    }
    united.lines.sort_by_key(|(time, _)| *time);
    Ok(united)
}

impl United {
    /// How many records there are.
    pub fn len(&self) -> usize {
        self.lines.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.lines.is_empty()
    }

    /// Writes them to a file, whole or not at all.
    ///
    /// # Errors
    /// [`ErrorKind::Unavailable`] if it cannot be written.
    pub fn save(&self, path: &Path) -> Result<()> {
        let written = write_whole(path, self.lines.iter().flat_map(|(_, line)| [&line[..], b"\n"]));
        written.map_err(|e| {
            Error::new(ErrorKind::Unavailable, format!("{}: cannot be written", path.display())).caused_by(e)
        })
    }
}
