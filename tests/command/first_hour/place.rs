//! Folders in which a user works, and what is run there.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

use tempfile::TempDir;

use crate::build_support::package::BUILT_ONCE;

/// Stands for the command on PATH; searches are short.
const DIETCODE: &str = "#!/bin/sh
case $1 in
    tune) exec \"$REAL_DIETCODE\" \"$@\" --seconds 2 --threads 1 ;;
    *) exec \"$REAL_DIETCODE\" \"$@\" ;;
esac
";

/// An empty folder, outside of the repository, whose workspace would be that of every crate below it.
pub(crate) struct Place {
    folder: TempDir,
}

impl Place {
    pub(crate) fn empty() -> Place {
        let folder = tempfile::tempdir().unwrap();
        let place = Place { folder };
        place.write("bin/dietcode", DIETCODE);
        let executable = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        fs::set_permissions(place.path("bin/dietcode"), executable).unwrap();
        place
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    pub(crate) fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap_or_else(|e| panic!("{name}: {e}"))
    }

    /// Runs lines of a shell, each of which must succeed; gives what each of them printed.
    pub(crate) fn follow(&self, lines: &[&str]) -> Vec<String> {
        let mut here = self.folder.path().to_owned();
        let mut printed = Vec::new();
        for line in lines {
            match line.strip_prefix("cd ") {
                Some(folder) => here.push(folder),
                None => printed.push(run(&here, line, &self.path("bin"))),
            }
        }
        printed
    }
}

/// The repository.
pub(crate) fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn run(here: &Path, line: &str, bin: &Path) -> String {
    if here.join("Cargo.toml").is_file() {
        // The versions that this workspace has are on the machine already.
        fs::copy(root().join("Cargo.lock"), here.join("Cargo.lock")).unwrap();
    }
    let mut shell = shell(here, line, bin);
    for variable in ["DIETCODE_SKIP_NATIVE", "DIETCODE_CONFIG", "DIETCODE_TARGETS"] {
        shell.env_remove(variable);
    }
    printed(&mut shell, line)
}

/// A line of a shell, for which the programs of a folder stand on PATH before others.
pub(crate) fn shell(here: &Path, line: &str, bin: &Path) -> Command {
    let path = format!("{}:{}", bin.display(), env::var("PATH").unwrap());
    let mut shell = Command::new("sh");
    shell
        .args(["-c", line])
        .current_dir(here)
        .env("PATH", path)
        .env("REAL_DIETCODE", env!("CARGO_BIN_EXE_dietcode"))
        .env("CARGO_NET_OFFLINE", "true")
        // Where the tests of build scripts have compiled the same dependencies.
        .env("CARGO_TARGET_DIR", Path::new(env!("CARGO_TARGET_TMPDIR")).join("build_support/target"))
        .envs(BUILT_ONCE)
        .env_remove("CFLAGS");
    shell
}

/// What a line printed, which must succeed.
pub(crate) fn printed(shell: &mut Command, line: &str) -> String {
    let output = shell.output().unwrap();
    let text = [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).concat();
    assert!(output.status.success(), "`{line}`: {text}");
    text
}
