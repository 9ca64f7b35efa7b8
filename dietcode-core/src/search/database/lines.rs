//! The lines of a file, one after the other: a file of any size takes the memory of its longest line.

use std::io::{self, BufRead, Read};

/// A longer line is no record: those of the largest sketches have a few kilobytes.
pub(super) const LONGEST: usize = 1 << 20;

/// A line without its end.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Line<'a> {
    /// Ended by a line feed.
    Whole(&'a [u8]),
    /// The last one of a file that does not end in a line feed.
    Torn(&'a [u8]),
    /// Longer than a record may be, whatever it is; whether it is the last one, without an end.
    TooLong {
        /// Bytes.
        bytes: u64,
        /// Whether the file ends in it.
        torn: bool,
    },
}

/// Reads lines.
pub(super) struct Lines<R> {
    from: R,
    line: Vec<u8>,
}

impl<R: BufRead> Lines<R> {
    pub(super) fn new(from: R) -> Lines<R> {
        Lines { from, line: Vec::new() }
    }

    /// The next one; none at the end.
    pub(super) fn next(&mut self) -> io::Result<Option<Line<'_>>> {
        self.line.clear();
        self.from.by_ref().take(LONGEST as u64 + 1).read_until(b'\n', &mut self.line)?;
        Ok(match self.line.split_last() {
            None => None,
            Some((b'\n', line)) => Some(Line::Whole(line)),
            Some(_) if self.line.len() > LONGEST => {
                let (more, torn) = skip_line(&mut self.from)?;
                Some(Line::TooLong { bytes: self.line.len() as u64 + more, torn })
            }
            Some(_) => Some(Line::Torn(&self.line)),
        })
    }
}

/// Passes over the rest of a line: its bytes, and whether it has no end.
fn skip_line(from: &mut impl BufRead) -> io::Result<(u64, bool)> {
    let mut skipped = 0;
    loop {
        let there = from.fill_buf()?;
        if there.is_empty() {
            return Ok((skipped, true));
        }
        let end = there.iter().position(|byte| *byte == b'\n');
        let taken = end.map_or(there.len(), |at| at + 1);
        from.consume(taken);
        match end {
            Some(at) => return Ok((skipped + at as u64, false)),
            None => skipped += taken as u64,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_whole_torn_or_too_long() {
        let long = vec![b'x'; LONGEST + 7];
        let bytes = [b"a\n\n", &long[..], b"\nb"].concat();
        // Buffers of any size show the same lines.
        for capacity in [1, 3, 8192] {
            let mut lines = Lines::new(io::BufReader::with_capacity(capacity, &bytes[..]));
            assert_eq!(lines.next().unwrap(), Some(Line::Whole(b"a")));
            assert_eq!(lines.next().unwrap(), Some(Line::Whole(b"")));
            assert_eq!(lines.next().unwrap(), Some(Line::TooLong { bytes: LONGEST as u64 + 7, torn: false }));
            assert_eq!(lines.next().unwrap(), Some(Line::Torn(b"b")));
            assert_eq!(lines.next().unwrap(), None);
        }
    }

    #[test]
    fn a_line_may_be_as_long_as_the_longest() {
        let mut bytes = vec![b'x'; LONGEST];
        bytes.push(b'\n');
        assert_eq!(Lines::new(&bytes[..]).next().unwrap(), Some(Line::Whole(&bytes[..LONGEST])));
        let torn = vec![b'x'; LONGEST + 2];
        let found =
            Lines::new(&torn[..]).next().unwrap() == Some(Line::TooLong { bytes: LONGEST as u64 + 2, torn: true });
        assert!(found);
    }
}
