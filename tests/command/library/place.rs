//! Folders in which libraries are made.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Output;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::environment::place::{self, stderr};
use crate::first_hour::place::{printed, shell};

/// Stands for the command on PATH: what calls the kernels is built as the crates of other tests are.
const DIETCODE: &str = "#!/bin/sh
exec \"$REAL_DIETCODE\" \"$@\" --profile dev --cache ../cache
";

/// The python that has numpy: the one that `cargo xtask test` provides, or else that of the machine.
const PYTHON: &str = "#!/bin/sh
[ -x \"$DIETCODE_PYTHON\" ] || DIETCODE_PYTHON=python3
PATH=${PATH#*:} exec \"$DIETCODE_PYTHON\" \"$@\"
";

const FILES: [&str; 8] =
    ["kernels.rs", "dense.json", "conv2d.json", "scores.json", "main.c", "main.py", "wheel.py", "cuda.c"];

/// What is followed in the README, for tests that need nothing but the library.
const BUILD: &str = "dietcode build-lib dense.json conv2d.json scores.json -o lib --python";

static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

/// A copy of the example in a folder that stays, so that the next run finds what it has built.
pub(crate) struct Place {
    folder: PathBuf,
    _alone: MutexGuard<'static, ()>,
}

pub(crate) fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

impl Place {
    /// The copy, without the library. A file that has not changed keeps its time, by which cargo goes.
    pub(crate) fn new() -> Place {
        let alone = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("library/example");
        fs::create_dir_all(folder.join("bin")).unwrap();
        ["lib", "installed"].iter().for_each(|made| drop(fs::remove_dir_all(folder.join(made))));
        for file in FILES {
            let (text, copy) = (fs::read(root().join("examples/library").join(file)).unwrap(), folder.join(file));
            if fs::read(&copy).ok().as_ref() != Some(&text) {
                fs::write(copy, text).unwrap();
            }
        }
        let executable: fs::Permissions = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        for (name, script) in [("dietcode", DIETCODE), ("python3", PYTHON)] {
            fs::write(folder.join("bin").join(name), script).unwrap();
            fs::set_permissions(folder.join("bin").join(name), executable.clone()).unwrap();
        }
        Place { folder, _alone: alone }
    }

    /// With the library.
    pub(crate) fn built() -> Place {
        let place = Place::new();
        place.follow(BUILD);
        place
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// Runs a line of a shell, which must succeed; gives what it printed.
    pub(crate) fn follow(&self, line: &str) -> String {
        let mut shell = shell(&self.folder, line, &self.path("bin"));
        // What pip installs goes into this folder, and it asks nobody.
        shell.env("PIP_TARGET", self.path("installed")).env("PYTHONPATH", self.path("installed"));
        shell.envs([("PIP_NO_INDEX", "1"), ("PIP_DISABLE_PIP_VERSION_CHECK", "1")]);
        // What it asks for is a library without kernels, and there is none.
        printed(shell.env("DIETCODE_SKIP_NATIVE", "1"), line)
    }
}

/// A folder with a small kernel, of which no library is made.
pub(crate) struct Refusing(place::Place);

impl Refusing {
    pub(crate) fn new() -> Refusing {
        Refusing(place::Place::new())
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.path(name)
    }

    /// It ends with this status and sentence.
    pub(crate) fn refused(&self, arguments: &[&str], status: i32, sentence: &str) {
        self.refused_with(&[], arguments, status, sentence);
        assert!(!self.path("cache").exists(), "nothing is begun");
    }

    /// The same with variables, once it may have begun.
    pub(crate) fn refused_with(&self, variables: &[(&str, &str)], arguments: &[&str], status: i32, sentence: &str) {
        let mut command = self.0.command(&[&["build-lib"], arguments].concat());
        command.env("XDG_CACHE_HOME", self.path("cache")).envs(variables.iter().copied());
        self.check(&command.output().unwrap(), status, sentence);
    }

    fn check(&self, output: &Output, status: i32, sentence: &str) {
        let said = stderr(output);
        assert_eq!(output.status.code(), Some(status), "{said}");
        assert!(said.contains(sentence), "{sentence}: {said}");
        assert!(self.0.left().is_empty(), "{:?}", self.0.left());
    }
}
