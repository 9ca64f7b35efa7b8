//! Runs this program again, in a folder of its own.

use std::io::{BufRead, BufReader, Read};
use std::path::PathBuf;
use std::process::{Command, Stdio};

use serde_json::Value;
use tempfile::TempDir;

/// What became of a run.
pub(crate) struct Ran {
    folder: TempDir,
    pub(crate) status: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

/// Words as a shell splits them.
pub(crate) fn arguments(words: &str) -> impl Iterator<Item = &str> {
    words.split_whitespace()
}

/// A value, as JSON writes it.
pub(crate) fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

impl Ran {
    /// Runs to the end.
    pub(crate) fn of(words: &str) -> Ran {
        let folder = tempfile::tempdir().unwrap();
        let output = command(words, &folder).output().unwrap();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let (stdout, stderr) = (text(&output.stdout), text(&output.stderr));
        Ran { folder, status: output.status.code().expect("it ends by itself"), stdout, stderr }
    }

    /// Sends an interrupt as soon as a line of standard error contains `sign`.
    pub(crate) fn interrupted(words: &str, sign: &str) -> Ran {
        let folder = tempfile::tempdir().unwrap();
        let mut child = command(words, &folder).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut errors = BufReader::new(child.stderr.take().unwrap());
        let mut stderr = String::new();
        while !stderr.contains(sign) {
            assert!(errors.read_line(&mut stderr).unwrap() > 0, "it ended before: {stderr}");
        }
        let sent = Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
        assert!(sent.success());
        errors.read_to_string(&mut stderr).unwrap();
        let mut stdout = String::new();
        child.stdout.take().unwrap().read_to_string(&mut stdout).unwrap();
        let status = child.wait().unwrap().code().expect("it ends by itself");
        Ran { folder, status, stdout, stderr }
    }

    /// A file that the run has written.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// The same, as JSON.
    pub(crate) fn results(&self, name: &str) -> Value {
        json(&std::fs::read_to_string(self.path(name)).unwrap())
    }
}

fn command(words: &str, folder: &TempDir) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(arguments(words)).current_dir(folder.path());
    command
}
