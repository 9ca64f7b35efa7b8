//! A copy of the example, and cargo on it.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::{env, fs};

/// The kernel that the copy has besides `dense`: without a config.
const ROW_SUM: &str = "
/// The sum of each row.
#[dynamic_kernel]
pub fn row_sum(x: &[[f32; N]; M], y: &mut [f32; M]) {
    for i in 0..M {
        let mut acc = 0.0;
        for j in 0..N {
            acc += x[i][j];
        }
        y[i] = acc;
    }
}
";

/// Stands before the C compiler on PATH and notes in which folder objects are made; with REFUSE set, it makes none.
const COUNTING_CC: &str = "#!/bin/sh
for word in \"$@\"; do
    case $word in
        -c) pwd >> \"${0%/*}/compiled\" ;;
        -E|--version) ;;
        *) continue ;;
    esac
    [ -z \"$REFUSE\" ] || exit 1
done
PATH=${PATH#*:} exec cc \"$@\"
";

/// For crates that are built once: no places for backtraces, and nothing kept for the next time. `xtask` builds the example alike.
pub(crate) const BUILT_ONCE: [(&str, &str); 2] = [("CARGO_PROFILE_DEV_DEBUG", "0"), ("CARGO_INCREMENTAL", "0")];

/// All copies are built in one target folder, one after the other.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

pub(crate) struct Package {
    folder: PathBuf,
    _alone: MutexGuard<'static, ()>,
}

pub(crate) struct Outcome {
    pub(crate) succeeded: bool,
    /// What cargo, and the program it ran, wrote.
    pub(crate) text: String,
    /// The folder of each object that was made, where that is one of a kernel or of the set.
    pub(crate) compiled: Vec<String>,
}

impl Package {
    /// A fresh copy, nothing of it built. What it depends on stays built between runs.
    pub(crate) fn new() -> Package {
        let alone = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
        let scratch = Path::new(env!("CARGO_TARGET_TMPDIR")).join("build_support");
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        let package = Package { folder: scratch.join("package"), _alone: alone };
        drop(fs::remove_dir_all(&package.folder));
        for file in ["Cargo.toml", "build.rs", "src/main.rs", "src/ops.rs", "configs/bert_dense.json"] {
            package.write(file, &fs::read_to_string(root.join("examples/dense").join(file)).unwrap());
        }
        // The versions that this workspace has are on the machine already.
        package.write("Cargo.lock", &fs::read_to_string(root.join("Cargo.lock")).unwrap());
        package.replace("Cargo.toml", "../..", root.to_str().unwrap());
        package.write("src/ops.rs", &(package.read("src/ops.rs") + ROW_SUM));
        package.write("bin/cc", COUNTING_CC);
        let executable = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        fs::set_permissions(package.folder.join("bin/cc"), executable).unwrap();
        package.forget_builds();
        package
    }

    pub(crate) fn cargo(&self, args: &[&str]) -> Outcome {
        self.cargo_with(args, &[])
    }

    /// Cargo with variables of its own, and none of those that change what is built.
    pub(crate) fn cargo_with(&self, args: &[&str], vars: &[(&str, &str)]) -> Outcome {
        let bin = self.folder.join("bin");
        let log = bin.join("compiled");
        drop(fs::remove_file(&log));
        let old_path = env::var("PATH").unwrap();
        let output = Command::new(env!("CARGO"))
            .args(args)
            .arg("--offline")
            .current_dir(&self.folder)
            .env("CARGO_TARGET_DIR", self.target())
            .envs(BUILT_ONCE)
            .env("PATH", format!("{}:{old_path}", bin.display()))
            .env_remove("DIETCODE_SKIP_NATIVE")
            .env_remove("CC")
            .env_remove("CFLAGS")
            .env_remove("DIETCODE_CONFIG")
            .env_remove("DIETCODE_TARGETS")
            .envs(vars.iter().copied())
            .output()
            .unwrap();
        let text = [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).concat();
        let compiled = fs::read_to_string(log)
            .unwrap_or_default()
            .lines()
            .filter(|folder| folder.contains("/out/dietcode"))
            .map(str::to_owned)
            .collect();
        Outcome { succeeded: output.status.success(), text, compiled }
    }

    pub(crate) fn write(&self, file: &str, text: &str) {
        let path = self.folder.join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    pub(crate) fn touch(&self, file: &str) {
        self.write(file, &self.read(file));
    }

    pub(crate) fn replace(&self, file: &str, from: &str, to: &str) {
        let text = self.read(file);
        assert!(text.contains(from), "`{from}` in {file}");
        self.write(file, &text.replace(from, to));
    }

    /// A page that `cargo doc` has made.
    pub(crate) fn documented(&self, page: &str) -> String {
        fs::read_to_string(self.target().join("doc").join(page)).unwrap()
    }

    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    pub(crate) fn read(&self, file: &str) -> String {
        fs::read_to_string(self.folder.join(file)).unwrap()
    }

    fn target(&self) -> PathBuf {
        self.folder.with_file_name("target")
    }

    /// Removes what earlier runs made of the package itself.
    fn forget_builds(&self) {
        for kind in ["build", ".fingerprint"] {
            for entry in fs::read_dir(self.target().join("debug").join(kind)).into_iter().flatten().flatten() {
                if entry.file_name().to_string_lossy().starts_with("dense-") {
                    drop(fs::remove_dir_all(entry.path()));
                }
            }
        }
    }
}
