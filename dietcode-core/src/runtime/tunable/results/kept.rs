//! Files of results as such, for a program that prints, joins or cuts them.

use std::collections::{BTreeMap, BTreeSet};
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
    /// Over how many bytes of operands the calls went in turn that were timed for it; 0: the same ones each time.
    pub rotation: u64,
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
    /// Those of another format, as they stand there.
    other: BTreeSet<Vec<u8>>,
    damaged: usize,
}

/// What became of the lines of files.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counted {
    /// Those that are there now.
    pub kept: usize,
    /// Those that later ones replace.
    pub replaced: usize,
    /// Those that were of another version, format or CPU.
    pub foreign: usize,
    /// Those that were damaged.
    pub damaged: usize,
}

/// Reads a file of results: the lines that hold, without those that later ones replace, and how many are damaged or of another format.
///
/// # Errors
/// [`crate::ErrorKind::Input`] if there is none, or it cannot be read; [`crate::ErrorKind::Unavailable`] if it holds other lines only.
pub fn read_results(path: &Path) -> Result<(Vec<Kept>, usize)> {
    let mut lines = Lines::default();
    lines.read(path)?;
    let unused = lines.damaged + lines.other.len();
    Ok((lines.all().map(Kept::of).collect(), unused))
}

/// Joins files: what the later ones tell replaces what the earlier ones tell of the same. Lines of another format stay as they are. The
/// output may be one of the files; else, if it is there, it comes before the first. It is written whole or not at all.
///
/// # Errors
/// As [`read_results`], of the output too; [`crate::ErrorKind::Unavailable`] if the output cannot be written.
pub fn merge_results(paths: &[PathBuf], output: &Path) -> Result<Counted> {
    // The output is not made for files that cannot be read.
    paths.iter().try_for_each(|path| Lines::default().read(path))?;
    replace(output, |output| {
        let mut lines = Lines::default();
        let is_output = |path: &PathBuf| path.canonicalize().ok() == output.canonicalize().ok();
        if !paths.iter().any(is_output) {
            lines.read(output)?;
        }
        paths.iter().try_for_each(|path| lines.read(path))?;
        Ok(lines.counted(false))
    })
}

/// Leaves out of a file what is damaged, what later lines replace, and, if `here`, what this version of the crate does not use on this
/// CPU; else lines of another format stay as they are. What other processes add meanwhile waits, and is not lost.
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
fn replace(path: &Path, lines: impl FnOnce(&Path) -> Result<(Vec<Vec<u8>>, Counted)>) -> Result<Counted> {
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
        let (mut damaged, mut is_of_results) = (0, false);
        for line in text.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
            match Line::whole(line) {
                Ok(line) => {
                    is_of_results = true;
                    self.read += 1;
                    add(self.keys.entry((line.op.clone(), line.key.clone())).or_default(), line);
                }
                Err(_) if Line::has_other_format(line) => {
                    is_of_results = true;
                    self.other.insert(line.to_vec());
                }
                Err(_) => damaged += 1,
            }
        }
        if damaged > 0 && !is_of_results {
            // Whoever rewrites it would empty a file of something else.
            let why = std::io::Error::other("it holds other lines, and no result");
            return Err(Error::unavailable(format!("{}: cannot be read as results", path.display())).caused_by(why));
        }
        self.damaged += damaged;
        Ok(())
    }

    fn all(self) -> impl Iterator<Item = Line> {
        self.keys.into_values().flatten()
    }

    /// The lines as text, and how many there are.
    fn counted(mut self, here: bool) -> (Vec<Vec<u8>>, Counted) {
        let (read, damaged, other) = (self.read, self.damaged, std::mem::take(&mut self.other));
        let (stay, foreign): (Vec<Line>, Vec<Line>) = self.all().partition(|line| !here || line.foreign().is_none());
        let replaced = read - stay.len() - foreign.len();
        let (other, left) = if here { (BTreeSet::new(), other.len()) } else { (other, 0) };
        let counted = Counted { kept: stay.len() + other.len(), foreign: foreign.len() + left, damaged, replaced };
        let other = other.into_iter().map(|line| [&line[..], b"\n"].concat());
        (stay.iter().map(|line| line.to_text().into_bytes()).chain(other).collect(), counted)
    }
}

impl Kept {
    fn of(line: Line) -> Kept {
        let (foreign, validators) = (line.foreign(), line.validators);
        let rotation = if let Found::Fastest { rotation, .. } = line.found { rotation } else { 0 };
        let result = match line.found {
            Found::Fastest { candidate, seconds, .. } => KeptResult::Fastest(
                candidate,
                seconds.into_iter().map(|(name, s)| (name, Duration::from_secs_f64(s))).collect(),
            ),
            Found::Ended { candidate } => KeptResult::Ended(candidate),
            Found::Untuned { calls } => KeptResult::Untuned(calls),
        };
        Kept { op: line.op, key: line.key, validators, result, rotation, foreign, candidates: line.candidates }
    }

    /// Whether it was found, or looked for, among these candidates, the default first.
    pub fn is_among<'a>(&self, candidates: impl Iterator<Item = &'a str>) -> bool {
        self.candidates == hash_of_names(&candidates.map(str::to_owned).collect::<Vec<_>>())
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::super::line::forged;
    use super::*;
    use crate::runtime::tunable::report::Subject;

    fn line(key: &str, calls: u64) -> String {
        let (candidates, validators) = (["default".to_owned()], BTreeMap::new());
        let subject = Subject { op: "dense", key, candidates: &candidates, validators: &validators };
        Line::new(&subject, Found::Untuned { calls }).to_text()
    }

    /// A line as a later version may write it.
    fn later() -> String {
        String::from_utf8(forged("{\"format\":99,\"new\":[]}")).unwrap() + "\n"
    }

    #[test]
    fn a_file_of_something_else_is_refused_and_stays() {
        let place = tempfile::tempdir().unwrap();
        let at = |name: &str| place.path().join(name);
        fs::write(at("results"), line("M=1", 1)).unwrap();
        for text in ["fn main() {}\n", "{}", "\0\n\n", &line("M=1", 1)[1..]] {
            fs::write(at("other"), text).unwrap();
            let refused = [
                prune_results(&at("other"), false).unwrap_err(),
                merge_results(&[at("other")], &at("new")).unwrap_err(),
                merge_results(&[at("other"), at("results")], &at("results")).unwrap_err(),
                merge_results(&[at("results")], &at("other")).unwrap_err(),
                read_results(&at("other")).unwrap_err(),
            ];
            for error in refused {
                assert!(error.to_string().ends_with("cannot be read as results: it holds other lines, and no result"));
                assert_eq!(error.kind(), crate::ErrorKind::Unavailable);
            }
            assert_eq!(fs::read_to_string(at("other")).unwrap(), text);
        }
        assert_eq!(fs::read_to_string(at("results")).unwrap(), line("M=1", 1));
        assert_eq!(fs::read_dir(place.path()).unwrap().count(), 2, "no output is made");
    }

    #[test]
    fn lines_of_another_format_stay_unless_those_of_here_are_asked_for() {
        let place = tempfile::tempdir().unwrap();
        let at = |name: &str| place.path().join(name);
        let read = |name: &str| fs::read_to_string(at(name)).unwrap();
        fs::write(at("later"), later()).unwrap();
        let kept = |kept| Counted { kept, ..Counted::default() };
        assert_eq!(prune_results(&at("later"), false).unwrap(), kept(1));
        assert_eq!(read("later"), later());
        let (mine, later) = (line("M=1", 1), later());
        fs::write(at("both"), format!("{later}damaged\n{mine}")).unwrap();
        assert_eq!(merge_results(&[at("both")], &at("later")).unwrap(), Counted { damaged: 1, ..kept(2) });
        assert_eq!(read("later"), format!("{mine}{later}"));
        assert_eq!(prune_results(&at("both"), true).unwrap(), Counted { foreign: 1, damaged: 1, ..kept(1) });
        assert_eq!(read("both"), mine);
    }

    #[test]
    fn what_an_output_tells_stays_and_counts_once() {
        let place = tempfile::tempdir().unwrap();
        let at = |name: &str| place.path().join(name);
        fs::write(at("file"), line("M=1", 2)).unwrap();
        fs::write(at("output"), line("M=1", 3) + &line("M=2", 4)).unwrap();
        let read = || fs::read_to_string(at("output")).unwrap();
        assert_eq!(merge_results(&[at("file")], &at("output")).unwrap().kept, 2);
        assert_eq!(read(), line("M=1", 5) + &line("M=2", 4));
        merge_results(&[at("output")], &place.path().join(".").join("output")).unwrap();
        assert_eq!(read(), line("M=1", 5) + &line("M=2", 4), "it is one of the files");
    }
}
