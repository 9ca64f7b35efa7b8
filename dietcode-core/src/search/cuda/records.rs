//! Records of what was measured on a GPU: one JSON object a line, appended and flushed as soon as measured.

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::measure::{Failure, Summary};
use crate::search::Workload;
use crate::sketch::Blocked;
use crate::{Error, ErrorKind, Result};

/// The version of a record's format.
pub(super) const FORMAT: u32 = 1;

/// What was seen of one micro-kernel, on one instance if it came so far.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CudaRecord {
    /// The version of the format: 1.
    pub format: u32,
    /// What was computed.
    pub workload: Workload,
    /// On what, and compiled with what.
    pub target: CudaTarget,
    /// The micro-kernel's name.
    pub name: String,
    /// Its schedule.
    pub schedule: Blocked,
    /// What came of it.
    pub outcome: CudaOutcome,
    /// Seconds since 1970.
    pub time: u64,
}

/// A device and a compiler.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CudaTarget {
    /// What its maker calls the device.
    pub device: String,
    /// Its compute capability, such as `sm_90`.
    pub capability: String,
    /// The version of the driver, as it was told.
    pub driver: String,
    /// What micro-kernels are compiled with.
    pub toolchain: String,
}

/// A figure, or the reason why there is none.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CudaOutcome {
    /// It was checked, and measured.
    Measured {
        /// Per launch.
        seconds: Summary,
        /// In GFLOP/s.
        gflops: Summary,
        /// Largest deviation from the reference, relative to its largest element.
        rel_err: f64,
        /// Whether the second-level cache was emptied before each launch.
        cold: bool,
    },
    /// It was not.
    Failed(Failure),
}

/// A file of records of one run.
#[derive(Debug)]
pub struct CudaRecords {
    path: PathBuf,
    file: File,
}

impl CudaRecords {
    /// An empty file; one that is there is emptied.
    ///
    /// # Errors
    /// [`ErrorKind::Unavailable`] if it cannot be written.
    pub fn create(path: &Path) -> Result<CudaRecords> {
        let failed =
            |e| Error::new(ErrorKind::Unavailable, format!("{}: cannot be written", path.display())).caused_by(e);
        Ok(CudaRecords { path: path.to_owned(), file: File::create(path).map_err(failed)? })
    }

    /// Adds a record and writes it through.
    ///
    /// # Errors
    /// [`ErrorKind::Unavailable`] if the file cannot be written.
    pub fn append(&mut self, record: &CudaRecord) -> Result<()> {
        let failed = || format!("{}: a record cannot be written", self.path.display());
        let mut line =
            serde_json::to_string(record).map_err(|e| Error::new(ErrorKind::Failed, failed()).caused_by(e))?;
        line.push('\n');
        let written = self.file.write_all(line.as_bytes()).and_then(|()| self.file.flush());
        written.map_err(|e| Error::new(ErrorKind::Unavailable, failed()).caused_by(e))
    }
}
