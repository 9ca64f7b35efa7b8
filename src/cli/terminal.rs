//! What all commands print with.

use std::io::Write;

use dietcode::core::message::printable;
use dietcode::{Error, Result};

/// Writes to standard output; a reader that went away, such as `head`, is no error.
pub(super) fn print(text: &str) -> Result<()> {
    match std::io::stdout().write_all(printable(text).as_bytes()) {
        Err(e) if e.kind() != std::io::ErrorKind::BrokenPipe => {
            Err(Error::unavailable("cannot write to standard output").caused_by(e))
        }
        _ => Ok(()),
    }
}

/// `1 record`, `2 records`.
pub(super) fn counted(count: usize, what: &str) -> String {
    if count == 1 { format!("1 {what}") } else { format!("{count} {what}s") }
}
