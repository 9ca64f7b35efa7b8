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
    /// Longer than a record may be, whatever it is.
    TooLong,
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
                skip_line(&mut self.from)?;
                Some(Line::TooLong)
            }
            Some(_) => Some(Line::Torn(&self.line)),
        })
    }
}

/// Passes over the rest of a line.
fn skip_line(from: &mut impl BufRead) -> io::Result<()> {
    loop {
        let there = from.fill_buf()?;
        let end = there.iter().position(|byte| *byte == b'\n');
        let taken = end.map_or(there.len(), |at| at + 1);
        from.consume(taken);
        if end.is_some() || taken == 0 {
            return Ok(());
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
            assert_eq!(lines.next().unwrap(), Some(Line::TooLong));
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
        assert_eq!(Lines::new(&torn[..]).next().unwrap(), Some(Line::TooLong));
    }
}
