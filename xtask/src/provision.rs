//! Folders below `target/` that hold what was fetched, whole or not at all.

use std::fs;
use std::path::{Path, PathBuf};

/// What a variable of the environment names, if it says anything.
pub(crate) fn variable(name: &str) -> Option<PathBuf> {
    std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from)
}

/// Fills a folder beside, which takes the place of this one only when it is whole.
///
/// # Errors
///
/// One sentence: why it could not be filled, or put there.
pub(crate) fn fill_whole(
    folder: &Path,
    fill: impl FnOnce(&Path) -> Result<(), String>,
    is_whole: impl Fn(&Path) -> bool,
) -> Result<(), String> {
    let partial = folder.with_extension(format!("partial-{}", std::process::id()));
    let outcome = fill(&partial).and_then(|()| take_place(&partial, folder, is_whole));
    // After success there is nothing left of it; what a failure leaves is of no use.
    let _ = fs::remove_dir_all(&partial);
    outcome
}

/// What stands there is replaced only if it is not whole: another run may have been faster.
fn take_place(partial: &Path, folder: &Path, is_whole: impl Fn(&Path) -> bool) -> Result<(), String> {
    if is_whole(folder) {
        return Ok(());
    }
    let _ = fs::remove_dir_all(folder);
    fs::rename(partial, folder)
        .or_else(|error| is_whole(folder).then_some(()).ok_or(error))
        .map_err(|error| format!("cannot make the folder {}: {error}", folder.display()))
}
