//! Cargo, as commands that make or build crates start it.

use std::env;
use std::io;
use std::process::Command;

use dietcode::Error;

/// The cargo that started this command, or else that of the search path.
pub(super) fn command() -> Command {
    let mut command = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    // What it says is read here.
    command.env("CARGO_TERM_COLOR", "never");
    command
}

/// The error where it cannot be started.
pub(super) fn not_started(cause: io::Error) -> Error {
    let program = command().get_program().to_owned();
    Error::unavailable(format!("{} cannot be started; install Rust: https://rustup.rs", program.display()))
        .caused_by(cause)
}

/// What it says of a failure, in its words; what it was about to do stands before that.
pub(super) fn error_of(stderr: &[u8]) -> String {
    let said = String::from_utf8_lossy(stderr);
    let lines: Vec<&str> = said.lines().collect();
    let first = lines.iter().position(|line| line.starts_with("error")).unwrap_or(0);
    format!("cargo says: {}", lines[first..].join("\n"))
}
