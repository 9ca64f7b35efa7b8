//! How far the compilers are: a line for each file they are done with, on the standard error stream, which `cargo build -vv`
//! passes on at once, and the last of these lines in `$OUT_DIR/dietcode-progress`, which can be read while cargo is silent.

use std::fs;
use std::path::PathBuf;
use std::sync::Mutex;

use dietcode_core::parallel::lock;

/// The progress of one run of a build script.
pub(crate) struct Progress {
    file: PathBuf,
    counts: Mutex<Counts>,
}

#[derive(Default)]
struct Counts {
    done: usize,
    expected: usize,
}

impl Progress {
    /// Progress that is written to a file.
    pub(crate) fn new(file: PathBuf) -> Progress {
        Progress { file, counts: Mutex::default() }
    }

    /// So many more files will be compiled.
    pub(crate) fn expect(&self, files: usize) {
        lock(&self.counts).expected += files;
    }

    /// One of them is.
    pub(crate) fn step(&self, name: &str) {
        let mut counts = lock(&self.counts);
        counts.done += 1;
        let line = format!("dietcode: compiled {} of {}: {name}\n", counts.done, counts.expected);
        eprint!("{line}");
        // The file is for people who wait; a build does not fail without it.
        drop(fs::write(&self.file, line));
    }
}
