//! A table of occupancies from another calculator, as CSV.

use std::fmt;
use std::path::Path;

use csv::{ErrorKind as CsvError, ReaderBuilder, StringRecord, Trim};
use dietcode::core::machine::cuda::{ComputeCapability, DeviceLimits, Limiter, Occupancy, Resources, blocks_per_sm};
use dietcode::{Error, Result};

const COLUMNS: [&str; 5] =
    ["target", "threads_per_block", "registers_per_thread", "static_shared_bytes", "blocks_per_sm"];

/// A row, which knows where it stands.
pub(super) struct Row<'a> {
    file: &'a Path,
    pub(super) line: usize,
    pub(super) device: &'static DeviceLimits,
    resources: Resources,
    /// What the table says.
    pub(super) blocks: u32,
}

impl Row<'_> {
    /// What is computed for it.
    pub(super) fn occupancy(&self) -> Occupancy {
        // A launch can opt in to more shared memory, but a declaration cannot.
        if self.resources.shared_bytes > self.device.shared_per_block {
            return Occupancy { blocks: 0, limiter: Limiter::SharedMemory };
        }
        blocks_per_sm(self.device, &self.resources)
    }
}

impl fmt::Display for Row<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Row { file, line, device, resources: Resources { threads, registers, shared_bytes }, blocks } = self;
        write!(
            f,
            "{}:{line}: {}, {threads} threads, {registers} registers, {shared_bytes} static shared bytes: \
             the table says {blocks} blocks",
            file.display(),
            device.capability
        )
    }
}

/// Calls `each` with every row in order, and ends at its first error.
///
/// # Errors
///
/// An input error with file and line for what is no such table; and those of `each`.
pub(super) fn read(file: &Path, mut each: impl FnMut(&Row<'_>) -> Result<()>) -> Result<()> {
    let bytes =
        std::fs::read(file).map_err(|e| Error::input(format!("cannot read {}", file.display())).caused_by(e))?;
    let mut lines = (1..).zip(bytes.split(|byte| *byte == b'\n'));
    let header = lines.next().map_or(Ok(None), |(_, line)| record(line));
    let columns = header.and_then(|header| columns(&header.unwrap_or_default())).map_err(|what| at(file, 1, &what))?;
    for (number, line) in lines {
        let Some(record) = record(line).map_err(|what| at(file, number, &what))? else { continue };
        each(&row(file, number, &record, columns).map_err(|what| at(file, number, &what))?)?;
    }
    Ok(())
}

/// The cells of one line, none if it is blank. Line by line, because no cell of such a table spans several, and the reader
/// of a whole file counts them differently from an editor.
fn record(line: &[u8]) -> Result<Option<StringRecord>, String> {
    let mut reader = ReaderBuilder::new().has_headers(false).trim(Trim::All).from_reader(line);
    reader.records().next().transpose().map_err(|error| match error.kind() {
        CsvError::Utf8 { err, .. } => format!("field {} is not UTF-8: expected a table as UTF-8 text", err.field() + 1),
        _ => error.to_string(),
    })
}

/// Where each of [`COLUMNS`] stands.
fn columns(header: &StringRecord) -> Result<[usize; 5], String> {
    let mut found = [0; 5];
    for (at, name) in found.iter_mut().zip(COLUMNS) {
        *at = header.iter().position(|cell| cell == name).ok_or_else(|| {
            format!("the column `{name}` is missing: expected the names {} in the first line", COLUMNS.join(","))
        })?;
    }
    Ok(found)
}

fn row<'a>(file: &'a Path, line: usize, record: &StringRecord, columns: [usize; 5]) -> Result<Row<'a>, String> {
    let cell = |column: usize| {
        record.get(columns[column]).ok_or_else(|| format!("the row ends before the column `{}`", COLUMNS[column]))
    };
    let number = |column: usize| {
        let text = cell(column)?;
        let sentence =
            || format!("`{}` is `{text:.40}`: expected a whole number from 0 to {}", COLUMNS[column], u32::MAX);
        text.parse::<u32>().map_err(|_| sentence())
    };
    let target: ComputeCapability = cell(0)?.parse().map_err(|e: Error| e.to_string())?;
    let device = DeviceLimits::of(target).map_err(|e| e.to_string())?;
    let resources = Resources { threads: number(1)?, registers: number(2)?, shared_bytes: number(3)? };
    Ok(Row { file, line, device, resources, blocks: number(4)? })
}

fn at(file: &Path, line: usize, what: &str) -> Error {
    Error::input(format!("{}:{line}: {what}", file.display()))
}
