//! What can be told of files before anything is done: one that was given twice, and one that cannot be written.

use std::collections::HashSet;
use std::path::PathBuf;

use dietcode::tuning::Tuned;
use dietcode::{Error, Result};

/// Refuses a file that was given twice, also under different names: what is done of it would be done again, and counted again.
pub(super) fn each_once(paths: &[PathBuf], what: &str) -> Result<()> {
    let mut seen = HashSet::new();
    // One that is not there is told by who reads it.
    let again = |path: &&PathBuf| !seen.insert(path.canonicalize().unwrap_or_else(|_| path.to_path_buf()));
    paths.iter().find(again).map_or(Ok(()), |path| {
        Err(Error::input(format!("{}: found a second time, expected each {what} once", path.display())))
    })
}

/// Refuses tuned files that cannot be written, or that two searches would write, before anything is measured for them.
pub(super) fn check_tuned(paths: &[PathBuf]) -> Result<()> {
    let mut seen = HashSet::new();
    for path in paths {
        if !seen.insert(Tuned::check_place(path)?) {
            let what = "two searches of this run would write it, expected each config and each of its devices once";
            return Err(Error::input(format!("{}: {what}", path.display())));
        }
    }
    Ok(())
}
