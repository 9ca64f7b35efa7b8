//! The command `dietcode`, as users have it.

use std::borrow::BorrowMut;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::steps::{root, target_folder};

/// Builds it.
pub(crate) fn built() -> Result<PathBuf, String> {
    let build = ["build", "--release", "--package", "dietcode", "--bin", "dietcode"];
    succeed(Command::new("cargo").args(build).current_dir(root()))?;
    Ok(target_folder().join("release/dietcode"))
}

/// Runs a command that has to succeed.
pub(crate) fn succeed(command: &mut Command) -> Result<(), String> {
    println!("{command:?}");
    match command.status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("{command:?} ended with {status}")),
        Err(error) => Err(format!("{command:?} could not be started: {error}")),
    }
}

/// What a command says and how it ends.
pub(crate) fn output(mut command: impl BorrowMut<Command>) -> Result<Output, String> {
    let command = command.borrow_mut();
    command.output().map_err(|e| format!("{} cannot be started: {e}", command.get_program().to_string_lossy()))
}

/// Runs a command in silence; if it fails, the last line of what it says.
pub(crate) fn succeed_in_silence(command: &mut Command) -> Result<(), String> {
    let Output { status, stderr, .. } = output(command)?;
    if status.success() { Ok(()) } else { Err(last_line(&stderr)) }
}

pub(crate) fn last_line(said: &[u8]) -> String {
    let text = String::from_utf8_lossy(said);
    text.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or("it says nothing").to_owned()
}

/// What a file of JSON says.
pub(crate) fn read<T: DeserializeOwned>(path: &Path) -> Result<T, String> {
    let text = std::fs::read_to_string(path).map_err(|e| format!("{}: {e}", path.display()))?;
    serde_json::from_str(&text).map_err(|e| format!("{}: {e}", path.display()))
}

/// A copy of a config in a folder, beside which its tuned file and records are.
///
/// # Errors
///
/// One sentence: the config cannot be read, or its copy written.
pub(crate) fn copied(config: &Path, folder: &Path) -> Result<PathBuf, String> {
    let mut content: Value = read(config)?;
    let source = content["kernel"]["source"].as_str().unwrap_or_default();
    let source = config.parent().unwrap_or(Path::new("")).join(source);
    content["kernel"]["source"] = source.to_string_lossy().into();
    let path = folder.join(config.file_name().unwrap_or_default());
    std::fs::create_dir_all(folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    std::fs::write(&path, content.to_string()).map_err(|e| format!("{}: {e}", path.display()))?;
    Ok(path)
}

/// How an option takes a number.
pub(crate) fn at_least(least: f64) -> impl Fn(&str) -> Result<f64, String> + Clone + Send + Sync {
    move |text| {
        let number = text.parse().ok().filter(|number: &f64| number.is_finite() && *number >= least);
        number.ok_or_else(|| format!("expected a number of at least {least}"))
    }
}

/// `T=5`, or `B=2,T=5`: as the command writes an instance.
pub(crate) fn wkl_text(wkl: &serde_json::Map<String, Value>) -> String {
    wkl.iter().map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join(",")
}
