//! Tuning records: one JSON object a line, appended and flushed as soon as measured.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::measure::{Failure, Summary};
use crate::sketch::Tiled;
use crate::{Error, ErrorKind, Result};

/// The version of a record's format.
pub(super) const FORMAT: u32 = 1;

/// What was seen of one micro-kernel, on one instance if it came so far.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// The version of the format: 1.
    pub format: u32,
    /// What was computed.
    pub workload: Workload,
    /// On what, and compiled with what.
    pub target: Target,
    /// The micro-kernel's name.
    pub name: String,
    /// Its schedule.
    pub schedule: Tiled,
    /// What came of it.
    pub outcome: Outcome,
    /// Seconds since 1970.
    pub time: u64,
}

/// A kernel at a shape.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Workload {
    /// The kernel's name.
    pub kernel: String,
    /// The hash of the nest, sixteen hexadecimal digits.
    pub source_hash: String,
    /// The shape variables; none for a failure that has nothing to do with the shape.
    pub shape: Option<BTreeMap<String, i64>>,
}

/// A CPU and a compiler.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Target {
    /// The CPU's model.
    pub cpu: String,
    /// What `-march=` said.
    pub march: String,
    /// The compiler with its version.
    pub compiler: String,
}

/// A figure, or the reason why there is none.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// It was checked, and measured with warm caches.
    Measured {
        /// On how many threads.
        threads: usize,
        /// In GFLOP/s.
        gflops: Summary,
        /// Largest deviation from the reference, relative to its largest element.
        rel_err: f64,
    },
    /// It was not.
    Failed(Failure),
}

/// A file of records.
#[derive(Debug)]
pub struct Database {
    path: PathBuf,
    file: File,
    /// What was there when the file was opened.
    pub records: Vec<Record>,
    /// What was left out of that, in sentences.
    pub notices: Vec<String>,
}

impl Database {
    /// Opens or creates a file of records. A torn last line, as an interrupted run leaves it, is cut off; other lines that
    /// are not records of this format are passed over and stay.
    ///
    /// # Errors
    ///
    /// If the file cannot be read and written.
    pub fn open(path: &Path) -> Result<Database> {
        let failed =
            |e| Error::new(ErrorKind::Unavailable, format!("{}: cannot be opened", path.display())).caused_by(e);
        let mut file =
            OpenOptions::new().read(true).append(true).create(true).truncate(false).open(path).map_err(failed)?;
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes).map_err(failed)?;
        let whole = bytes.iter().rposition(|b| *b == b'\n').map_or(0, |at| at + 1);
        let mut database = Database { path: path.to_owned(), file, records: Vec::new(), notices: Vec::new() };
        database.read(&bytes[..whole]);
        if whole < bytes.len() {
            database.file.set_len(whole as u64).and_then(|()| database.file.seek(SeekFrom::End(0))).map_err(failed)?;
            database.notices.push(format!(
                "{}: the last line was torn ({} bytes without an end) and is dropped",
                path.display(),
                bytes.len() - whole
            ));
        }
        Ok(database)
    }

    /// Adds a record and writes it through.
    ///
    /// # Errors
    ///
    /// If the file cannot be written.
    pub fn append(&mut self, record: &Record) -> Result<()> {
        let failed = || format!("{}: a record cannot be written", self.path.display());
        let mut line =
            serde_json::to_string(record).map_err(|e| Error::new(ErrorKind::Failed, failed()).caused_by(e))?;
        line.push('\n');
        let written = self.file.write_all(line.as_bytes()).and_then(|()| self.file.flush());
        written.map_err(|e| Error::new(ErrorKind::Unavailable, failed()).caused_by(e))
    }

    /// The best throughput on record of each micro-kernel for a kernel on a target, relative to the best on the same
    /// shape and threads.
    pub fn best(&self, kernel: &str, source_hash: &str, target: &Target) -> BTreeMap<String, f64> {
        let mut of_point: BTreeMap<String, f64> = BTreeMap::new();
        let fits =
            |r: &&Record| r.workload.kernel == kernel && r.workload.source_hash == source_hash && r.target == *target;
        let figures: Vec<(&str, String, f64)> = self.records.iter().filter(fits).filter_map(figure).collect();
        for (_, point, gflops) in &figures {
            let best = of_point.entry(point.clone()).or_default();
            *best = best.max(*gflops);
        }
        let mut best = BTreeMap::new();
        for (name, point, gflops) in figures {
            let relative = gflops / of_point[&point];
            let entry = best.entry(name.to_owned()).or_insert(relative);
            *entry = relative.max(*entry);
        }
        best
    }

    fn read(&mut self, bytes: &[u8]) {
        let mut odd = 0;
        for line in bytes.split(|b| *b == b'\n').filter(|line| !line.is_empty()) {
            match serde_json::from_slice::<Record>(line) {
                Ok(record) if record.format == FORMAT => self.records.push(record),
                _ => odd += 1,
            }
        }
        if odd > 0 {
            self.notices.push(format!("{}: {odd} lines are no records of format {FORMAT}", self.path.display()));
        }
    }
}

/// Name, point (shape and threads) and GFLOP/s of a record that has a figure.
fn figure(record: &Record) -> Option<(&str, String, f64)> {
    match &record.outcome {
        Outcome::Measured { threads, gflops, .. } if gflops.median.is_finite() => {
            Some((&record.name, format!("{:?} {threads}", record.workload.shape), gflops.median))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(name: &str, gflops: f64) -> Record {
        Record {
            format: FORMAT,
            workload: Workload { kernel: "dense".into(), source_hash: "0".into(), shape: None },
            target: target(),
            name: name.into(),
            schedule: Tiled::default(),
            outcome: Outcome::Measured {
                threads: 1,
                gflops: Summary { median: gflops, iqr: 0.5, repeats: 3 },
                rel_err: 1e-7,
            },
            time: 0,
        }
    }

    fn target() -> Target {
        Target { cpu: "a".into(), march: "native".into(), compiler: "cc".into() }
    }

    #[test]
    fn what_was_appended_is_there_when_opened_again() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.records.jsonl");
        let failed = Record { outcome: Outcome::Failed(Failure::Timeout { seconds: 1.5 }), ..record("b", 0.0) };
        let records = [record("a", 50.0), failed, record("c", 100.0)];
        let mut database = Database::open(&path).unwrap();
        records.iter().for_each(|r| database.append(r).unwrap());
        let again = Database::open(&path).unwrap();
        assert_eq!((&again.records[..], again.notices.len()), (&records[..], 0));
        let best = again.best("dense", "0", &target());
        assert_eq!((best.len(), best["a"], best["c"]), (2, 0.5, 1.0));
        assert!(again.best("dense", "1", &target()).is_empty());
    }

    #[test]
    fn a_torn_last_line_is_dropped_with_a_notice_and_not_continued() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.records.jsonl");
        let mut database = Database::open(&path).unwrap();
        database.append(&record("a", 50.0)).unwrap();
        database.file.write_all(b"{\"format\":1,\"work").unwrap();
        let mut torn = Database::open(&path).unwrap();
        assert_eq!((torn.records.len(), torn.notices.len()), (1, 1), "{:?}", torn.notices);
        torn.append(&record("b", 60.0)).unwrap();
        let again = Database::open(&path).unwrap();
        assert_eq!((again.records.len(), again.notices.len()), (2, 0));
    }

    #[test]
    fn foreign_lines_stay_and_are_counted() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.records.jsonl");
        std::fs::write(&path, "{\"format\": 99}\nnoise\n").unwrap();
        let mut database = Database::open(&path).unwrap();
        assert!(database.notices[0].contains("2 lines"), "{:?}", database.notices);
        database.append(&record("a", 1.0)).unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap().lines().count(), 3);
    }
}
