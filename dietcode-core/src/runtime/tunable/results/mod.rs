//! What tunings have found, in a file: saved as it is found, read when a process first asks.
//!
//! The file has a line for each result ([`line`]), and lines are only added, whole, so that several processes may write at once. The last
//! line about the same holds. What a line depends on stands in it; the documentation of `tunable` has the table.
//!
//! While a candidate is tried, a file beside that of the results says so, locked by its process ([`trying`]). The next process that
//! reads the results finds it unlocked if that process has ended by something else than what [`ends`] knows to be nobody's fault, and adds
//! a line for good.
#[cfg(unix)]
mod ends;
#[cfg(not(unix))]
#[path = "ends_of_others.rs"]
mod ends;
#[cfg(feature = "compiler")]
mod kept;
mod line;
mod trying;

use std::collections::{BTreeMap, HashMap};
use std::ffi::CStr;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, Weak};
use std::time::Duration;

#[cfg(feature = "compiler")]
pub use self::kept::{Counted, Kept, KeptResult, merge_results, prune_results, read_results};
use self::line::{Found, Line};
use self::trying::{Attempt, TryingFile};
use super::per_process::PerProcess;
use super::report::{DEFAULT, Outcome, Report, Subject};
use super::{say, tuning};
use crate::Result;
use crate::parallel::lock;
use crate::shared_file::{Locked, SharedFile, regular};

/// More bytes than this are not read: twice what an operation keeps in memory.
const MOST_BYTES: u64 = 64 << 20;

/// A candidate that has ended processes at so many keys is left out everywhere.
const MOST_ENDED: usize = 2;

/// A candidate that takes a thousand times the limit hangs. It is stopped after a few times the limit, or one call.
const LIMITS_OF_A_HANG: u32 = 1000;

/// For so long another process is waited for that reads or writes the file: it takes milliseconds, unless that process was stopped.
const WAIT: Duration = Duration::from_secs(2);

/// The file, and what it says.
struct Results {
    file: PathBuf,
    /// Operation, key, and what is known of it.
    lines: HashMap<String, HashMap<String, Vec<Line>>>,
    /// What is being tried, while a key is tuned; and where that is said.
    trying: Weak<TryingFile>,
    trying_path: Option<&'static CStr>,
    /// Whether it was said that nothing can be written.
    has_complained: bool,
}

/// What was read; none: there is no file, or nobody has asked for it.
static RESULTS: PerProcess<Mutex<Option<Results>>> = PerProcess::new();

/// Whether there is a file.
pub(super) fn are_kept() -> Result<bool> {
    tuning::has_file()
}

/// Does something with what is on file, if anything is to be kept at all.
fn with<R>(body: impl FnOnce(&mut Results) -> R) -> Option<R> {
    // A wrong variable was an error of the call before.
    let file = tuning::file().ok()??;
    let mut results = lock(RESULTS.get());
    if results.as_ref().is_none_or(|results| results.file != file) {
        *results = Some(Results::read(file));
    }
    results.as_mut().map(body)
}

/// What an earlier tuning has found.
pub(super) fn find(subject: &Subject<'_>) -> Option<Report> {
    with(|results| results.find(subject)).flatten()
}

/// Keeps what a tuning has found, whose timed calls went in turn over so many bytes of operands, or 0.
pub(super) fn save(subject: &Subject<'_>, report: &Report, rotation: u64) {
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
    let line = Line::new(subject, Found::Fastest { candidate: report.chosen.clone(), seconds, rotation });
    with(|results| results.save(line));
}

/// Keeps that nothing is known, for whoever tunes later.
pub(super) fn record(subject: &Subject<'_>, calls: u64) {
    with(|results| results.save(Line::new(subject, Found::Untuned { calls })));
}

/// Says of the candidates of a tuning when each is tried.
pub(super) struct Trying<'a> {
    /// None: nothing but the default is called.
    subject: Option<Subject<'a>>,
    file: Option<Arc<TryingFile>>,
    hangs_after: Duration,
}

impl<'a> Trying<'a> {
    /// Those that are timed for about the limit.
    pub(super) fn new(subject: Subject<'a>, limit: Duration) -> Trying<'a> {
        let file = with(|results| results.trying_file().map_err(|error| results.complain(&error)).ok());
        Trying { subject: Some(subject), file: file.flatten(), hangs_after: LIMITS_OF_A_HANG * limit }
    }

    /// Where no candidate is called but the default.
    pub(super) fn none() -> Trying<'static> {
        Trying { subject: None, file: None, hangs_after: Duration::ZERO }
    }

    /// Notes that a candidate is tried now; why it must not be, if it must not.
    pub(super) fn attempt(&self, candidate: &str) -> Result<Option<Attempt<'_>>, String> {
        let Some(subject) = &self.subject else { return Ok(None) };
        if with(|results| results.has_ended(subject, candidate)) == Some(true) {
            return Err("a process ended while it was tried".to_owned());
        }
        let Some(file) = &self.file else { return Ok(None) };
        let line = Line::new(subject, Found::Ended { candidate: candidate.to_owned() });
        let attempt = file.attempt(line.to_text(), self.hangs_after);
        Ok(attempt.map_err(|error| with(|results| results.complain(&error))).unwrap_or_default())
    }
}

impl Results {
    /// What a file says, as far as it can be used here.
    fn read(file: PathBuf) -> Results {
        let (trying, trying_path) = (Weak::new(), None);
        let mut results = Results { file, lines: HashMap::new(), trying, trying_path, has_complained: false };
        let collected = trying::files(&results.file).and_then(|trying| {
            // Who reads while another process collects would not know what that has found. Without a reason the file is not made.
            let shared = (!trying.is_empty()).then(|| SharedFile::within(&results.file, WAIT)).transpose()?;
            Ok((shared, trying))
        });
        let (mut shared, trying) = collected.unwrap_or_else(|error| {
            results.complain(&error);
            (None, Vec::new())
        });
        let locked = shared.as_mut().map(SharedFile::lock).transpose();
        let locked = locked.map_err(|error| results.complain(&error)).ok().flatten();
        let mut ended = Vec::new();
        for file in &trying {
            if let Err(error) = trying::collect(file, |line| results.end(line, &mut ended, locked.as_ref())) {
                results.complain(&error);
            }
        }
        match text_of(&results.file) {
            Ok(text) => results.read_lines(&text),
            Err(error) => say(&format!("{}: no results are read: {error}", results.file.display())),
        }
        ended.into_iter().for_each(|line| results.add(line));
        results
    }

    /// Adds a line for a candidate that has ended a process, for good if it can.
    fn end(&self, line: Line, ended: &mut Vec<Line>, locked: Option<&Locked<'_>>) -> io::Result<()> {
        let Found::Ended { candidate } = &line.found else { return Ok(()) };
        let file = self.file.display();
        say(&format!(
            "{file}: a process ended while it tried the candidate `{candidate}` of {} at {}",
            line.op, line.key
        ));
        let text = line.to_text();
        ended.push(line);
        locked.map_or(Err(io::ErrorKind::ResourceBusy.into()), |locked| locked.append(text.as_bytes()))
    }

    /// The file that names what is tried, for all tunings that are under way: one at a time calls a candidate.
    fn trying_file(&mut self) -> io::Result<Arc<TryingFile>> {
        if let Some(file) = self.trying.upgrade() {
            return Ok(file);
        }
        let path = match self.trying_path {
            Some(path) => path,
            None => *self.trying_path.insert(trying::new_path(&self.file)?),
        };
        let file = Arc::new(TryingFile::create(path)?);
        self.trying = Arc::downgrade(&file);
        Ok(file)
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
            let others = match count - 1 {
                0 => String::new(),
                1 => " and 1 line more".to_owned(),
                more => format!(" and {more} lines more"),
            };
            say(&format!("{}:{first}{others}: not used: {why}", self.file.display()));
        }
    }

    fn add(&mut self, line: Line) {
        add(self.lines.entry(line.op.clone()).or_default().entry(line.key.clone()).or_default(), line);
    }

    fn find(&self, subject: &Subject<'_>) -> Option<Report> {
        let lines = self.lines.get(subject.op)?.get(subject.key)?;
        let fastest = lines.iter().rev().filter_map(|line| match &line.found {
            Found::Fastest { candidate, seconds, .. } => Some((line, candidate, seconds)),
            Found::Ended { .. } | Found::Untuned { .. } => None,
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
        let saved = SharedFile::within(&self.file, WAIT).and_then(|mut file| file.append(line.to_text().as_bytes()));
        if let Err(error) = saved {
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

/// Adds a line to others of the same operation and key, and removes those that it replaces.
fn add(lines: &mut Vec<Line>, mut line: Line) {
    lines.retain(|old| {
        let stays = !old.is_replaced_by(&line);
        if !stays {
            line.take_calls(old);
        }
        stays
    });
    lines.push(line);
}

/// What a file holds; nothing if there is none.
fn text_of(path: &Path) -> io::Result<Vec<u8>> {
    let mut text = Vec::new();
    regular(path)?;
    match path.metadata() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(text),
        Ok(metadata) if metadata.len() > MOST_BYTES => {
            return Err(io::Error::other(format!("it has more than {MOST_BYTES} bytes")));
        }
        found => found?,
    };
    File::open(path)?.take(MOST_BYTES).read_to_end(&mut text)?;
    Ok(text)
}

/// What an earlier tuning would have reported, of the candidate that was chosen and the default.
fn report(subject: &Subject<'_>, chosen: &str, seconds: &BTreeMap<String, f64>) -> Report {
    let timed = |(name, seconds): (&String, &f64)| {
        let time = Duration::try_from_secs_f64(*seconds).expect("a line with another time is none");
        (name.clone(), Outcome::Timed(time))
    };
    Report { is_from_file: true, ..subject.report(chosen, seconds.iter().map(timed).collect()) }
}

/// What something was, and what it is.
fn sentence(what: &str, name: &str, then: &str, now: &str) -> String {
    let name = if name.is_empty() { String::new() } else { format!(" {name}") };
    format!("{what}{name} `{then}`, not `{now}`")
}
