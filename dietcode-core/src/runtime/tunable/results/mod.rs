//! What tunings have found, in a file: saved as it is found, read when a process first asks.
//!
//! The file has a line for each result ([`line`]), and lines are only added, each by one call of the system, so that several processes may
//! write at once. The last line about the same holds. What a line depends on stands in it; the documentation of `tunable` has the table.
//!
//! While a candidate is tried, a file beside that of the results says so, locked by its process ([`trying`]). The next process that
//! reads the results finds it unlocked if that process is gone, and adds a line for good.
mod line;
mod trying;

use std::collections::{BTreeMap, HashMap};
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use self::line::{Found, Line};
use self::trying::TryingFile;
use super::report::{DEFAULT, Outcome, Report};
use super::{say, tuning};
use crate::Result;

/// More bytes than this are not read: twice what an operation keeps in memory.
const MOST_BYTES: u64 = 64 << 20;

/// A candidate that has ended processes at so many keys is left out everywhere.
const MOST_ENDED: usize = 2;

/// What a result is one of.
#[derive(Clone, Copy)]
pub(super) struct Subject<'a> {
    pub(super) op: &'a str,
    pub(super) key: &'a str,
    /// The names of all candidates, the default first.
    pub(super) candidates: &'a [String],
    pub(super) validators: &'a BTreeMap<String, String>,
}

/// The file, and what it says.
struct Results {
    file: PathBuf,
    /// Operation, key, and what is known of it.
    lines: HashMap<String, HashMap<String, Vec<Line>>>,
    /// Whether it was said that nothing can be written.
    has_complained: bool,
}

/// What was read; none: there is no file, or nobody has asked for it.
static RESULTS: Mutex<Option<Results>> = Mutex::new(None);

/// Whether there is a file.
pub(super) fn are_kept() -> Result<bool> {
    tuning::has_file()
}

/// Does something with what is on file, if anything is to be kept at all.
fn with<R>(body: impl FnOnce(&mut Results) -> R) -> Option<R> {
    // A wrong variable was an error of the call before.
    let file = tuning::file().ok()??;
    let mut results = RESULTS.lock().unwrap_or_else(PoisonError::into_inner);
    if results.as_ref().is_none_or(|results| results.file != file) {
        *results = Some(Results::read(file));
    }
    results.as_mut().map(body)
}

/// What an earlier tuning has found.
pub(super) fn find(subject: &Subject<'_>) -> Option<Report> {
    with(|results| results.find(subject)).flatten()
}

/// Keeps what a tuning has found.
pub(super) fn save(subject: &Subject<'_>, report: &Report) {
    if report.untried.is_some() {
        // The reason may be gone the next time.
        return;
    }
    let timed = |(name, outcome): &(String, Outcome)| match outcome {
        Outcome::Timed(time) => Some((name.clone(), time.as_secs_f64())),
        _ => None,
    };
    let is_kept = |name: &str| [&report.chosen, &subject.candidates[DEFAULT]].iter().any(|kept| *kept == name);
    let seconds = report.candidates.iter().filter_map(timed).filter(|(name, _)| is_kept(name)).collect();
    let line = Line::new(subject, Found::Fastest { candidate: report.chosen.clone(), seconds });
    with(|results| results.save(line));
}

/// Says of the candidates of a tuning when each is tried.
pub(super) struct Trying<'a> {
    subject: Subject<'a>,
    file: Option<TryingFile>,
}

/// One candidate is tried as long as this is there.
pub(super) struct Attempt<'a>(Option<&'a TryingFile>);

impl<'a> Trying<'a> {
    pub(super) fn new(subject: Subject<'a>) -> Trying<'a> {
        let file = with(|results| {
            let created = TryingFile::create(&results.file);
            created.map_err(|error| results.complain(&error)).ok()
        });
        Trying { subject, file: file.flatten() }
    }

    /// Notes that a candidate is tried now; why it must not be, if it must not.
    pub(super) fn attempt(&self, candidate: &str) -> Result<Attempt<'_>, String> {
        if with(|results| results.has_ended(&self.subject, candidate)) == Some(true) {
            return Err("a process ended while it was tried".to_owned());
        }
        if let Some(file) = &self.file {
            let line = Line::new(&self.subject, Found::Ended { candidate: candidate.to_owned() });
            if let Err(error) = file.set(&line.to_text()) {
                with(|results| results.complain(&error));
            }
        }
        Ok(Attempt(self.file.as_ref()))
    }
}

impl Drop for Attempt<'_> {
    fn drop(&mut self) {
        // What could not be removed says too much, and a candidate is left out.
        let _ = self.0.map(|file| file.set(""));
    }
}

impl Results {
    /// What a file says, as far as it can be used here.
    fn read(file: PathBuf) -> Results {
        let mut results = Results { file, lines: HashMap::new(), has_complained: false };
        if let Err(error) = results.collect_ended() {
            results.complain(&error);
        }
        match text_of(&results.file) {
            Ok(text) => results.read_lines(&text),
            Err(error) => say(&format!("{}: no results are read: {error}", results.file.display())),
        }
        results
    }

    /// Adds a line for each candidate that has ended a process.
    fn collect_ended(&mut self) -> io::Result<()> {
        trying::ended(&self.file, |line| {
            let (file, candidate) = (self.file.display(), line.candidate());
            say(&format!(
                "{file}: a process ended while it tried the candidate `{candidate}` of {} at {}",
                line.op, line.key
            ));
            append(&self.file, &line.to_text())
        })
    }

    fn read_lines(&mut self, text: &[u8]) {
        // By the reason: the first line that is not used, and how many there are.
        let mut unused = BTreeMap::<String, (usize, usize)>::new();
        for (at, line) in text.split(|byte| *byte == b'\n').enumerate().filter(|(_, line)| !line.is_empty()) {
            match Line::read(line) {
                Ok(line) => self.add(line),
                Err(why) => unused.entry(why).or_insert((at + 1, 0)).1 += 1,
            }
        }
        for (why, (first, count)) in unused {
            let others = if count == 1 { String::new() } else { format!(" and {} lines more", count - 1) };
            say(&format!("{}:{first}{others}: not used: {why}", self.file.display()));
        }
    }

    fn add(&mut self, line: Line) {
        let lines = self.lines.entry(line.op.clone()).or_default().entry(line.key.clone()).or_default();
        lines.retain(|old| !old.is_replaced_by(&line));
        lines.push(line);
    }

    fn find(&self, subject: &Subject<'_>) -> Option<Report> {
        let lines = self.lines.get(subject.op)?.get(subject.key)?;
        let fastest = lines.iter().rev().filter_map(|line| match &line.found {
            Found::Fastest { candidate, seconds } => Some((line, candidate, seconds)),
            Found::Ended { .. } => None,
        });
        let mut mismatch = None;
        for (line, candidate, seconds) in fastest {
            if let Some(why) = line.mismatch(subject) {
                mismatch = mismatch.or(Some(why));
            } else if subject.candidates.contains(candidate) && !self.has_ended(subject, candidate) {
                return Some(report(subject, candidate, seconds));
            }
        }
        let Subject { op, key, .. } = subject;
        mismatch.iter().for_each(|why| say(&format!("{}: {op} at {key}: not used: {why}", self.file.display())));
        None
    }

    /// Whether a candidate is left out, since processes ended.
    fn has_ended(&self, subject: &Subject<'_>, name: &str) -> bool {
        let is_it = |line: &Line| {
            matches!(&line.found, Found::Ended { candidate } if candidate == name)
                && line.other_validator(subject).is_none()
        };
        let Some(keys) = self.lines.get(subject.op) else { return false };
        let ended: Vec<&String> =
            keys.iter().filter(|(_, lines)| lines.iter().any(is_it)).map(|(key, _)| key).collect();
        ended.len() >= MOST_ENDED || ended.iter().any(|key| *key == subject.key)
    }

    fn save(&mut self, line: Line) {
        if let Err(error) = append(&self.file, &line.to_text()) {
            self.complain(&error);
        }
        self.add(line);
    }

    /// Says once that nothing can be kept.
    fn complain(&mut self, error: &io::Error) {
        if !std::mem::replace(&mut self.has_complained, true) {
            say(&format!("{}: not all results can be kept: {error}", self.file.display()));
        }
    }
}

/// What a file holds; nothing if there is none.
fn text_of(path: &Path) -> io::Result<Vec<u8>> {
    let mut text = Vec::new();
    match path.metadata() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(text),
        // One that is read as it comes may never come.
        Ok(metadata) if !metadata.is_file() => return Err(io::Error::other("it is no ordinary file")),
        Ok(metadata) if metadata.len() > MOST_BYTES => {
            return Err(io::Error::other(format!("it has more than {MOST_BYTES} bytes")));
        }
        found => found?,
    };
    File::open(path)?.take(MOST_BYTES).read_to_end(&mut text)?;
    Ok(text)
}

/// Adds a line by one call. Behind what another process could not write to its end, it begins a line of its own.
fn append(path: &Path, line: &str) -> io::Result<()> {
    if path.metadata().is_ok_and(|metadata| !metadata.is_file()) {
        return Err(io::Error::other("it is no ordinary file"));
    }
    let mut file = OpenOptions::new().read(true).append(true).create(true).open(path)?;
    let mut last = [b'\n'];
    if file.seek(SeekFrom::End(0))? > 0 {
        file.seek(SeekFrom::End(-1))?;
        file.read_exact(&mut last)?;
    }
    let separator = if last == *b"\n" { "" } else { "\n" };
    file.write_all(format!("{separator}{line}").as_bytes())
}

/// What an earlier tuning would have reported, of the candidate that was chosen and the default.
fn report(subject: &Subject<'_>, chosen: &str, seconds: &BTreeMap<String, f64>) -> Report {
    let timed = |(name, seconds): (&String, &f64)| {
        let time = Duration::try_from_secs_f64(*seconds).expect("a line with another time is none");
        (name.clone(), Outcome::Timed(time))
    };
    Report {
        op: subject.op.to_owned(),
        key: subject.key.to_owned(),
        chosen: chosen.to_owned(),
        is_from_file: true,
        untried: None,
        candidates: seconds.iter().map(timed).collect(),
    }
}

/// What something was, and what it is.
fn sentence(what: &str, name: &str, then: &str, now: &str) -> String {
    let name = if name.is_empty() { String::new() } else { format!(" {name}") };
    format!("{what}{name} `{then}`, not `{now}`")
}
