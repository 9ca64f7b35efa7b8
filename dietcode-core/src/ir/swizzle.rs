//! How the rows of a tile in shared memory are swizzled, so that those which are read at once begin in different banks without a padding.

use super::{Buffer, Expr, Scope};

/// A permutation of the chunks of each row: that of column c of row r lies at (c / chunk) ⊕ (r / rows % groups).
///
/// ```text
/// rows of 32 halves, chunks of 8: 4 groups, 2 rows      banks 0 to 3   4 to 7   8 to 11   …
///   row 0 and 1                                               0 1 2 3 0 1 2 3
///   row 2 and 3                                               1 0 3 2 1 0 3 2
/// ```
///
/// Of chunks of 16 bytes, the same one of any 8 rows that follow each other lies in 8 different quads of banks, which together are all; of
/// chunks of 32 bytes, that of any 4 rows. It is what CUTLASS calls `Swizzle`, but for rows of any number of chunks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Swizzle {
    /// Neighbours that stay together: a power of two.
    pub chunk: i64,
    /// How many chunks change places: the largest power of two that divides those of a row, up to those of a line.
    pub groups: i64,
    /// How many rows in turn have the same order: those that fill a line together.
    pub rows: i64,
}

/// Bytes after which the banks of shared memory begin again.
const LINE: i64 = 128;

impl Swizzle {
    /// That of a tile; none: its rows lie in their order, or begin in different banks anyway.
    pub fn of(buffer: &Buffer) -> Option<Swizzle> {
        if buffer.swizzle == 0 || buffer.scope != Scope::Shared {
            return None;
        }
        let chunks = buffer.shape.last().and_then(Expr::as_int)? / buffer.swizzle;
        let line = LINE / (buffer.swizzle * buffer.dtype.bytes());
        let groups = 1 << chunks.trailing_zeros().min(line.trailing_zeros());
        (groups > 1).then_some(Swizzle { chunk: buffer.swizzle, groups, rows: line / groups })
    }

    /// After how many rows the orders repeat.
    pub fn period(&self) -> i64 {
        self.rows * self.groups
    }

    /// Where an element of a row lies in it.
    pub fn at(&self, row: i64, column: i64) -> i64 {
        column ^ (row / self.rows % self.groups * self.chunk)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::ir::DType;

    /// The places of the bytes in a line at which accesses of `width` bytes begin are all different, and all that a line has.
    fn are_apart(width: i64, bytes: impl Iterator<Item = i64>) -> bool {
        bytes.map(|at| at % LINE / width).collect::<BTreeSet<_>>().len() as i64 == LINE / width
    }

    /// Rows of any number of chunks: what `ldmatrix` reads, what 8 lanes store at once, and what 32 lanes read one by one.
    #[test]
    fn what_is_accessed_at_once_lies_in_different_banks() {
        for (dtype, chunk) in [(DType::F16, 8), (DType::F32, 4), (DType::F32, 8)] {
            let bytes = dtype.bytes();
            for chunks in 1..=24 {
                let row = chunk * chunks;
                let (name, shape) = ("x".into(), vec![Expr::Int(row)]);
                let swizzle = Swizzle::of(&Buffer { name, dtype, shape, scope: Scope::Shared, swizzle: chunk });
                let at = |r: i64, c: i64| (r * row + swizzle.map_or(c, |swizzle| swizzle.at(r, c))) * bytes;
                let places: BTreeSet<i64> =
                    (0..16).flat_map(|r| (0..row).map(move |c| (r, c))).map(|(r, c)| at(r, c)).collect();
                assert_eq!(places.len() as i64, 16 * row, "{chunks} chunks of {chunk}: each place once");
                assert_eq!(places.last(), Some(&((16 * row - 1) * bytes)));
                for (first, c) in (0..8).flat_map(|r| (0..chunks).map(move |c| (r, c))) {
                    let column = c * chunk;
                    if chunk * bytes == 16 {
                        assert!(are_apart(16, (0..8).map(|r| at(first + r, column))), "{chunks} chunks of {chunk}");
                    } else {
                        assert!(are_apart(4, (0..32).map(|lane| at(first + lane % 4, column + lane / 4))));
                    }
                }
                if chunk * bytes == 16 && [1, 2, 4, 8, 16, 24].contains(&chunks) {
                    let stored = |first: i64| {
                        (0..8).map(move |lane| first * 8 + lane).map(|n| at(n / chunks, n % chunks * chunk))
                    };
                    assert!((0..4).all(|first| are_apart(16, stored(first))), "{chunks} chunks of {chunk}");
                }
            }
        }
    }
}
