//! Files of results as such, for a program that prints, joins or cuts them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::line::{Found, Line, hash_of_names};
use super::{add, text_of};
use crate::shared_file::{SharedFile, regular};
use crate::whole_file::write_whole;
use crate::{Error, Result};

/// A line of a file of results that holds: what is said of one key of one operation.
#[derive(Clone, Debug)]
pub struct Kept {
    /// The operation.
    pub op: String,
    /// The call's key, as text.
    pub key: String,
    /// What the operation had said that results depend on.
    pub validators: BTreeMap<String, String>,
    /// What is said.
    pub result: KeptResult,
    /// Why this version of the crate, on this CPU, does not use it.
    pub foreign: Option<String>,
    candidates: String,
}

/// What is said of a key.
#[derive(Clone, Debug, PartialEq)]
pub enum KeptResult {
    /// This candidate is the fastest; and how long a call takes by it and by the default.
    Fastest(String, BTreeMap<String, Duration>),
    /// A process ended while this candidate was tried.
    Ended(String),
    /// Nothing is known, and so many calls have asked.
    Untuned(u64),
}

/// The lines of files, those that tell the same as later ones left out.
#[derive(Default)]
struct Lines {
    /// By operation and key; in the order of the files.
    keys: BTreeMap<(String, String), Vec<Line>>,
    read: usize,
    damaged: usize,
}

/// What became of the lines of files.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counted {
    /// Those that are there now.
    pub kept: usize,
    /// Those that later ones replace.
    pub replaced: usize,
    /// Those that were of another version or CPU.
    pub foreign: usize,
    /// Those that are damaged, or of another format.
    pub damaged: usize,
}

/// Reads a file of results: the lines that hold, without those that later ones replace, and how many are damaged.
///
/// # Errors
/// [`crate::ErrorKind::Input`] if there is none, or it cannot be read.
pub fn read_results(path: &Path) -> Result<(Vec<Kept>, usize)> {
    let mut lines = Lines::default();
    lines.read(path)?;
    let damaged = lines.damaged;
    Ok((lines.all().map(Kept::of).collect(), damaged))
}

/// Joins files: what the later ones tell replaces what the earlier ones tell of the same. The output may be one of them, and is written
/// whole or not at all.
///
/// # Errors
/// As [`read_results`]; [`crate::ErrorKind::Unavailable`] if the output cannot be written.
pub fn merge_results(paths: &[PathBuf], output: &Path) -> Result<Counted> {
    // The output is not made for files that are not there.
    paths.iter().try_for_each(|path| path.metadata().map(|_| ()).map_err(|error| unreadable(path, error)))?;
    let mut lines = Lines::default();
    replace(output, |_| {
        paths.iter().try_for_each(|path| lines.read(path))?;
        Ok(std::mem::take(&mut lines).counted(false))
    })
}

/// Leaves out of a file what is damaged, what later lines replace, and, if `here`, what this version of the crate does not use on this
/// CPU. What other processes add meanwhile waits, and is not lost.
///
/// # Errors
/// As [`merge_results`].
pub fn prune_results(path: &Path, here: bool) -> Result<Counted> {
    regular(path).and_then(|()| path.metadata()).map_err(|error| unreadable(path, error))?;
    replace(path, |path| {
        let mut lines = Lines::default();
        lines.read(path)?;
        Ok(lines.counted(here))
    })
}

/// Puts other lines in the place of a file, which is locked meanwhile.
fn replace(path: &Path, lines: impl FnOnce(&Path) -> Result<(Vec<String>, Counted)>) -> Result<Counted> {
    let failed = |error| Error::of_file(path, "cannot be written", error);
    let mut file = SharedFile::within(path, super::WAIT).map_err(failed)?;
    let _locked = file.lock().map_err(failed)?;
    let (lines, counted) = lines(path)?;
    write_whole(path, lines).map_err(failed)?;
    Ok(counted)
}

fn unreadable(path: &Path, error: std::io::Error) -> Error {
    Error::input(format!("{}: cannot be read as results", path.display())).caused_by(error)
}

impl Lines {
    fn read(&mut self, path: &Path) -> Result<()> {
        path.metadata().map_err(|error| unreadable(path, error))?;
        let text = text_of(path).map_err(|error| unreadable(path, error))?;
        for line in text.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
            match Line::whole(line) {
                Ok(line) => {
                    self.read += 1;
                    add(self.keys.entry((line.op.clone(), line.key.clone())).or_default(), line);
                }
                Err(_) => self.damaged += 1,
            }
        }
        Ok(())
    }

    fn all(self) -> impl Iterator<Item = Line> {
        self.keys.into_values().flatten()
    }

    /// The lines as text, and how many there are.
    fn counted(self, here: bool) -> (Vec<String>, Counted) {
        let Lines { read, damaged, .. } = self;
        let (stay, foreign): (Vec<Line>, Vec<Line>) = self.all().partition(|line| !here || line.foreign().is_none());
        let (kept, foreign) = (stay.len(), foreign.len());
        let counted = Counted { kept, foreign, damaged, replaced: read - kept - foreign };
        (stay.iter().map(Line::to_text).collect(), counted)
    }
}

impl Kept {
    fn of(line: Line) -> Kept {
        let (foreign, validators) = (line.foreign(), line.validators().clone());
        let result = match line.found {
            Found::Fastest { candidate, seconds } => KeptResult::Fastest(
                candidate,
                seconds.into_iter().map(|(name, s)| (name, Duration::from_secs_f64(s))).collect(),
            ),
            Found::Ended { candidate } => KeptResult::Ended(candidate),
            Found::Untuned { calls } => KeptResult::Untuned(calls),
        };
        Kept { op: line.op, key: line.key, validators, result, foreign, candidates: line.candidates }
    }

    /// Whether it was found, or looked for, among these candidates, the default first.
    pub fn is_among<'a>(&self, candidates: impl Iterator<Item = &'a str>) -> bool {
        self.candidates == hash_of_names(&candidates.map(str::to_owned).collect::<Vec<_>>())
    }
}
