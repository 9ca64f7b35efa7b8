//! Reads the records of a file, line by line.

use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::path::Path;

use super::lines::{Line, Lines};
use super::parse::Parser;
use super::{FORMAT, Record};
use crate::shared_file::regular;
use crate::{Error, Result};

/// What a file holds beside its records.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Scanned {
    /// Lines that are records.
    pub records: usize,
    /// Lines that are none of the format [`FORMAT`]. Empty lines do not count.
    pub foreign: usize,
    /// Those of them that are longer than any record may be: a megabyte.
    pub too_long: usize,
    /// The bytes of a last line that has no end and is the beginning of a record, as an interrupted run leaves it; 0 if there
    /// is none.
    pub torn: u64,
}

impl Scanned {
    fn count(&mut self, is_record: bool) {
        *(if is_record { &mut self.records } else { &mut self.foreign }) += 1;
    }

    /// What was passed over, in sentences.
    pub fn notices(&self, path: &Path) -> Vec<String> {
        let mut notices = Vec::new();
        if self.foreign > 0 {
            let one = self.foreign == 1;
            let lines =
                if one { "1 line is no record".to_owned() } else { format!("{} lines are no records", self.foreign) };
            notices.push(format!("{}: {lines} of format {FORMAT}, and passed over", path.display()));
        }
        if self.torn > 0 {
            let torn = format!("the last line was torn ({} bytes without an end) and is dropped", self.torn);
            notices.push(format!("{}: {torn}", path.display()));
        }
        notices
    }
}

/// Gives each record of a file with its line, in order. Nothing is written; a file that is being appended to is read as far
/// as it goes.
///
/// # Errors
/// [`crate::ErrorKind::Input`] if the file cannot be read, or what `each` returns.
pub fn scan(path: &Path, mut each: impl FnMut(Record, &[u8]) -> Result<()>) -> Result<Scanned> {
    let failed = |e| Error::input(format!("{}: cannot be read as records", path.display())).caused_by(e);
    let file = regular(path).and_then(|()| File::open(path)).map_err(failed)?;
    let mut parser = Parser::default();
    let mut stopped = Ok(());
    let scanned = scan_lines(BufReader::with_capacity(1 << 16, file), &mut parser, |record, line| {
        stopped = record.map_or(Ok(()), |record| each(record, line));
        stopped.is_ok()
    });
    stopped?;
    scanned.map_err(failed)
}

/// The same of any reader, until `each` is false. It is also given lines that are no records, unless they are too long.
pub(super) fn scan_lines(
    from: impl BufRead,
    parser: &mut Parser,
    mut each: impl FnMut(Option<Record>, &[u8]) -> bool,
) -> io::Result<Scanned> {
    let (mut lines, mut scanned, mut on) = (Lines::new(from), Scanned::default(), true);
    while let Some(line) = lines.next()?.filter(|_| on) {
        match line {
            Line::Whole(bytes) if bytes.trim_ascii().is_empty() => {}
            Line::Whole(bytes) => {
                let record = parser.record(bytes);
                scanned.count(record.is_some());
                on = each(record, bytes);
            }
            // A writer that was ended right before the line feed has written a record.
            Line::Torn(bytes) => match parser.record(bytes) {
                None if begins_a_record(bytes) => scanned.torn = bytes.len() as u64,
                record => {
                    scanned.count(record.is_some());
                    on = each(record, bytes);
                }
            },
            Line::TooLong => {
                scanned.count(false);
                scanned.too_long += 1;
            }
        }
    }
    Ok(scanned)
}

/// Whether it may be what a writer of records could not finish. Anything else is not ours to cut off.
fn begins_a_record(bytes: &[u8]) -> bool {
    (1..=FORMAT).any(|format| {
        let start = format!("{{\"format\":{format},\"workload\":").into_bytes();
        bytes.starts_with(&start) || start.starts_with(bytes)
    })
}
