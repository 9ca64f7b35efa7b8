//! Tuning records: one JSON object a line, appended and flushed as soon as measured, and durable after each round of a search.
//!
//! | file          | what it does                                                        |
//! |---------------|---------------------------------------------------------------------|
//! | `record`      | what a line says                                                    |
//! | `parse`       | a line of any format that there was                                 |
//! | `lines`       | lines of a file of any size                                         |
//! | `scan`        | the records of a file that is only read                             |
//! | `filter`      | which records are asked for                                         |
//! | `ranking`     | how good micro-kernels are                                          |
//! | `replay`      | the answers for a run that is continued                             |
//! | `union`       | the records of several files, each once                             |
//! | `prune`       | leaves the best and what failed                                     |
mod filter;
mod lines;
mod parse;
mod prune;
mod ranking;
mod record;
mod replay;
mod scan;
mod union;
#[cfg(test)]
mod tests;

use std::collections::HashSet;
use std::io::{self, BufReader};
use std::path::Path;

pub use filter::{Filter, TargetFilter};
pub use prune::{Pruned, prune};
pub use ranking::best_on_record;
pub(super) use ranking::ranked;
pub(super) use record::new_run;
pub use record::{FORMAT, Outcome, Record, Shape, Structure, Target, Workload};
pub(super) use replay::Replay;
pub use scan::{Scanned, scan};
pub use union::{United, unite};

use self::parse::Parser;
use self::scan::scan_lines;
use crate::shared_file::SharedFile;
use crate::{Error, Result};

/// A file of records.
#[derive(Debug)]
pub struct Database {
    /// None: records are only kept in memory.
    file: Option<SharedFile>,
    /// What was there when the file was opened, and what was appended since.
    pub records: Vec<Record>,
    /// What was left out of that, in sentences.
    pub notices: Vec<String>,
    /// How many of the last records a loss of power could take away: they were written, and are not known to be on the disk.
    pending: usize,
}

impl Database {
    /// Opens or creates a file of records. The beginning of a record at its end, as an interrupted run leaves it, is cut off;
    /// lines that are not records of a known format are passed over and stay. Other processes may append at the same time.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Unavailable`] if the file cannot be read and written.
    pub fn open(path: &Path) -> Result<Database> {
        let failed = |e| Error::of_file(path, "cannot be opened", e);
        let mut database = Database {
            file: Some(SharedFile::open(path).map_err(failed)?),
            records: Vec::new(),
            notices: Vec::new(),
            pending: 0,
        };
        database.read().map_err(failed)?;
        Ok(database)
    }

    /// The same for a file that is emptied first: what a run writes of itself alone.
    ///
    /// # Errors
    /// As for [`Database::open`].
    pub fn create(path: &Path) -> Result<Database> {
        let failed = |e| Error::of_file(path, "cannot be written", e);
        let mut file = SharedFile::open(path).map_err(failed)?;
        file.lock().and_then(|locked| locked.0.set_len(0)).map_err(failed)?;
        Ok(Database { file: Some(file), records: Vec::new(), notices: Vec::new(), pending: 0 })
    }

    /// No file: what a run writes of itself goes with it.
    pub fn in_memory() -> Database {
        Database { file: None, records: Vec::new(), notices: Vec::new(), pending: 0 }
    }

    /// Adds a record and writes it through.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Unavailable`] if the file cannot be written, [`crate::ErrorKind::Failed`] if the record would not be read back as
    /// it is: a figure is not finite, or the line is too long.
    pub fn append(&mut self, record: &Record) -> Result<()> {
        let place = self.file.as_ref().map_or_else(|| "records".into(), |file| file.path().display().to_string());
        let failed = || format!("{place}: a record of `{}` cannot be written", record.name);
        let line = record.line().map_err(|e| Error::failed(failed()).caused_by(e))?;
        // Lines are compared, since NaN is not equal to itself.
        let read = Parser::default().record(&line).filter(|_| line.len() <= lines::LONGEST);
        let same = read.is_some_and(|read| read.line().is_ok_and(|again| again == line));
        if !same {
            let why = "it would not be read back as it is: a figure is not finite, or its schedule is too long";
            return Err(Error::failed(format!("{}: {why}", failed())));
        }
        if let Some(file) = &mut self.file {
            file.append(&line).map_err(|e| Error::unavailable(failed()).caused_by(e))?;
            self.pending += 1;
        }
        self.records.push(record.clone());
        Ok(())
    }

    /// Makes what was added durable: a search does so after each round, since to wait for the disk at each record would slow it down.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Unavailable`] if the disk does not take it.
    pub fn sync(&mut self) -> Result<()> {
        if let Some(file) = self.file.as_ref().filter(|_| self.pending > 0) {
            let place = file.path().display();
            file.sync().map_err(|e| Error::unavailable(format!("{place}: cannot be written")).caused_by(e))?;
        }
        self.pending = 0;
        Ok(())
    }

    /// How many of the last records are not known to be on the disk.
    #[cfg(test)]
    pub(in crate::search) fn pending(&self) -> usize {
        self.pending
    }

    /// The records that a filter asks for, in order.
    pub fn query(&self, filter: &Filter) -> impl Iterator<Item = &Record> + Clone {
        self.records.iter().filter(move |record| filter.matches(record))
    }

    /// The run that was begun last among those that a filter asks for, with a seed and a space: what `--resume` continues.
    pub fn last_run(&self, filter: &Filter, seed: u64, space_hash: &str) -> Option<&str> {
        let mut seen = HashSet::new();
        let of_space = |record: &&Record| record.seed == seed && record.space_hash == space_hash;
        let runs = self.query(filter).filter(of_space).map(|record| &*record.run).filter(|run| !run.is_empty());
        runs.filter(|run| seen.insert(*run)).last()
    }

    fn read(&mut self) -> io::Result<()> {
        let Some(file) = &mut self.file else { return Ok(()) };
        let path = file.path().to_owned();
        let records = &mut self.records;
        let locked = file.lock()?;
        let scanned = scan_lines(BufReader::with_capacity(1 << 16, locked.0), &mut Parser::default(), |record, _| {
            records.extend(record);
            true
        })?;
        if scanned.torn > 0 {
            let length = locked.0.metadata()?.len();
            locked.0.set_len(length - scanned.torn)?;
        }
        self.notices = scanned.notices(&path);
        Ok(())
    }
}
