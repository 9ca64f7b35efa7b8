//! What people are told of lines that were passed over.

use std::path::Path;

use super::record::FORMAT;

pub(super) fn foreign(path: &Path, lines: usize) -> String {
    let lines = if lines == 1 { "1 line is no record".to_owned() } else { format!("{lines} lines are no records") };
    format!("{}: {lines} of format 1 to {FORMAT}, and passed over", path.display())
}

pub(super) fn torn(path: &Path, bytes: u64) -> String {
    format!("{}: the last line was torn ({bytes} bytes without an end) and is dropped", path.display())
}
