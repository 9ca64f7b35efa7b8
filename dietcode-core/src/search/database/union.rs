//! The records of several files, each once, by time: what `dietcode records merge` writes.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use super::scan::scan;
use crate::shared_file::SharedFile;
use crate::whole_file::write_whole;
use crate::{Error, Result};

/// What was done.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct United {
    /// So many records were written.
    pub records: usize,
    /// So many were in the files more than once.
    pub duplicates: usize,
    /// What was passed over, in sentences.
    pub notices: Vec<String>,
}

/// The time and the line of each record, without its end.
type Lines = Vec<(u64, Vec<u8>)>;

/// Writes the records of files to one, beside those that it has, by time; those of one second in the order of the files.
/// Records are the same if they say the same, however they are written; lines that are no records are left out, with a notice.
/// The file is replaced whole or not at all; what others append meanwhile waits, and is not lost.
///
/// # Errors
/// [`crate::ErrorKind::Input`] if a file cannot be read or all hold other lines only, [`crate::ErrorKind::Unavailable`] if the one cannot be
/// written.
pub fn unite(paths: &[PathBuf], output: &Path) -> Result<United> {
    let failed = |e| Error::of_file(output, "cannot be written", e);
    let is_new = !output.exists();
    let mut file = SharedFile::open(output).map_err(failed)?;
    // A link stays one: what it leads to is replaced.
    let place = output.canonicalize().map_err(failed)?;
    let locked = file.lock().map_err(failed)?;
    let united = of_all(paths, &place).and_then(|(lines, united)| {
        write_whole(&place, lines.iter().flat_map(|(_, line)| [&line[..], b"\n"])).map_err(failed)?;
        Ok(united)
    });
    if united.is_err() && is_new && locked.0.metadata().is_ok_and(|found| found.len() == 0) {
        // It was made to be locked; nothing is left of what was not done.
        drop(std::fs::remove_file(&place));
    }
    united
}

/// The records of all files, those of the output among them.
fn of_all(paths: &[PathBuf], output: &Path) -> Result<(Lines, United)> {
    let (mut lines, mut united, mut seen) = (Lines::new(), United::default(), HashSet::new());
    let is_named = paths.iter().any(|path| path.canonicalize().is_ok_and(|path| path == output));
    let beside = Some(output).filter(|_| !is_named);
    for path in beside.into_iter().chain(paths.iter().map(PathBuf::as_path)) {
        let scanned = scan(path, |record, line| {
            let said = record.line().map_err(|e| Error::input(format!("{}", path.display())).caused_by(e))?;
            match seen.insert(blake3::hash(&said)) {
                true => lines.push((record.time, line.to_vec())),
                false => united.duplicates += 1,
            }
            Ok(())
        })?;
        united.notices.extend(scanned.notices(path));
    }
    if lines.is_empty() && !united.notices.is_empty() {
        let expected = "expected tuning records, one JSON object a line, as `dietcode tune` writes them";
        return Err(Error::input(format!("found no records, {expected}: {}", united.notices.join("; "))));
    }
    lines.sort_by_key(|(time, _)| *time);
    united.records = lines.len();
    Ok((lines, united))
}
