//! Copies of inputs, of which each call that is timed takes the next ones: no cache holds all of them.

use super::guarded::{Guarded, page};
use crate::Result;

/// Copies of an input, one behind the other, each where its pages begin as the input itself lies in its own.
#[derive(Debug)]
pub(super) struct Copies {
    memory: Guarded,
    /// The bytes before a copy.
    before: usize,
    /// Between two copies.
    stride: usize,
}

/// How many sets of inputs of so many bytes each exceed twice what a cache holds.
pub(in crate::measure) fn sets(cache_bytes: u64, set_bytes: usize) -> usize {
    usize::try_from(2 * cache_bytes / set_bytes.max(1) as u64).map_or(usize::MAX, |sets| sets + 1)
}

impl Copies {
    /// So many of an input.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Unavailable`] if there is no memory for them.
    pub(super) fn of(input: &Guarded, count: usize) -> Result<Copies> {
        let bytes = input.bytes();
        let before = bytes.start % page();
        let stride = Copies::stride(input);
        let copies = Copies { memory: Guarded::input(count.saturating_mul(stride))?, before, stride };
        for at in 0..count {
            // SAFETY: the input has so many bytes, and so has the copy's place, which is memory of its own.
            unsafe { std::ptr::copy_nonoverlapping(input.data(), copies.at(at), bytes.len()) };
        }
        copies.memory.freeze();
        Ok(copies)
    }

    /// The bytes of memory that each copy of an input takes.
    pub(super) fn stride(input: &Guarded) -> usize {
        let bytes = input.bytes();
        (bytes.start % page() + bytes.len()).next_multiple_of(page())
    }

    /// The first byte of a copy.
    pub(super) fn at(&self, copy: usize) -> *mut u8 {
        self.memory.data().wrapping_add(copy * self.stride + self.before)
    }

    /// What they are in.
    pub(super) fn memory(&self) -> &Guarded {
        &self.memory
    }
}
