//! Memory for tensors in which writes beside a tensor are found.
//!
//! ```text
//! input:   | no access | padding ··· | data |  no access |     then read-only: any stray access past the end crashes
//! output:  | no access | canary | data | canary | no access |  a stray write is found, and said where
//! ```
//!
//! While calls are timed, what lies behind an input may be read.

use std::ptr::NonNull;

use crate::{Error, Result};

const CANARY: u8 = 0xA5;

/// A tensor's memory, between pages that are not accessible.
#[derive(Debug)]
pub(super) struct Guarded {
    map: NonNull<u8>,
    map_bytes: usize,
    /// Of the accessible part.
    inner: std::ops::Range<usize>,
    /// Of the tensor.
    data: std::ops::Range<usize>,
}

impl Guarded {
    /// Room for an output: aligned, with at least a page of canary bytes on either side.
    pub(super) fn output(bytes: usize) -> Result<Guarded> {
        let page = page();
        let guarded = Guarded::map(bytes.next_multiple_of(page) + 2 * page, |inner| inner.start + page, bytes)?;
        guarded.for_canaries(|_, byte| *byte = CANARY);
        Ok(guarded)
    }

    /// Room for an input: its end is the end of accessible memory.
    pub(super) fn input(bytes: usize) -> Result<Guarded> {
        Guarded::map(bytes.next_multiple_of(page()), |inner| inner.end - bytes, bytes)
    }

    fn map(inner_bytes: usize, start: impl Fn(&std::ops::Range<usize>) -> usize, bytes: usize) -> Result<Guarded> {
        let page = page();
        let map_bytes = inner_bytes + 2 * page;
        let full = || {
            let cause = std::io::Error::last_os_error();
            Error::unavailable(format!("no memory for a tensor of {bytes} bytes")).caused_by(cause)
        };
        // SAFETY: a new private mapping touches no other memory.
        let map = unsafe {
            let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
            libc::mmap(std::ptr::null_mut(), map_bytes, libc::PROT_NONE, flags, -1, 0)
        };
        if map == libc::MAP_FAILED {
            return Err(full());
        }
        let inner = page..page + inner_bytes;
        let data = start(&inner)..start(&inner) + bytes;
        let map = NonNull::new(map.cast::<u8>()).ok_or_else(full)?;
        let guarded = Guarded { map, map_bytes, inner, data };
        guarded.protect(libc::PROT_READ | libc::PROT_WRITE).then_some(guarded).ok_or_else(full)
    }

    /// Makes it read-only; a write to it kills the process from now on.
    pub(super) fn freeze(&self) {
        // Where this fails, a write stays unnoticed, and nothing else is wrong.
        self.protect(libc::PROT_READ);
    }

    /// Whether the page behind may be read, as may what lies behind most tensors of a program. A processor takes some hundred clocks
    /// for a masked load whose other lanes lie in a page that may not.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Unavailable`] if the system refuses it.
    pub(super) fn open_end(&self, is_open: bool) -> Result<()> {
        let (end, protection) = (self.at(self.inner.end), if is_open { libc::PROT_READ } else { libc::PROT_NONE });
        // SAFETY: the page is the mapping's last.
        if unsafe { libc::mprotect(end.cast(), page(), protection) != 0 } {
            let cause = std::io::Error::last_os_error();
            return Err(Error::unavailable("cannot protect the page behind a tensor").caused_by(cause));
        }
        if is_open {
            // SAFETY: it may be read, which is what makes it one of the process's pages.
            unsafe { end.read_volatile() };
        }
        Ok(())
    }

    fn protect(&self, protection: i32) -> bool {
        // SAFETY: the range is whole pages inside the mapping.
        unsafe { libc::mprotect(self.at(self.inner.start).cast(), self.inner.len(), protection) == 0 }
    }

    /// The tensor's first byte.
    pub(super) fn data(&self) -> *mut u8 {
        self.at(self.data.start)
    }

    /// The addresses of the tensor's bytes.
    pub(super) fn bytes(&self) -> std::ops::Range<usize> {
        let start = self.data().addr();
        start..start + self.data.len()
    }

    /// How many bytes the mapping takes.
    pub(super) fn footprint(&self) -> usize {
        self.map_bytes
    }

    /// The first byte beside the tensor that was overwritten, relative to the tensor's first.
    pub(super) fn damage(&self) -> Option<i64> {
        let mut first = None;
        self.for_canaries(|offset, byte| {
            if *byte != CANARY && first.is_none() {
                first = Some(offset as i64 - self.data.start as i64);
            }
            *byte = CANARY;
        });
        first
    }

    fn for_canaries(&self, mut visit: impl FnMut(usize, &mut u8)) {
        for offset in (self.inner.start..self.data.start).chain(self.data.end..self.inner.end) {
            // SAFETY: the byte is accessible and outside of the tensor, which alone is lent out.
            visit(offset, unsafe { &mut *self.at(offset) });
        }
    }

    fn at(&self, offset: usize) -> *mut u8 {
        // SAFETY: callers pass offsets inside the mapping.
        unsafe { self.map.as_ptr().add(offset) }
    }
}

impl Drop for Guarded {
    fn drop(&mut self) {
        // SAFETY: the mapping is this value's own, and nothing borrows from it.
        unsafe { libc::munmap(self.map.as_ptr().cast(), self.map_bytes) };
    }
}

/// Bytes of a page.
pub(super) fn page() -> usize {
    // SAFETY: sysconf has no preconditions.
    usize::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) }).unwrap_or(4096)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_write_beside_an_output_is_found_on_either_side() {
        let guarded = Guarded::output(100).unwrap();
        assert_eq!(guarded.damage(), None);
        for offset in [-4i64, 100, 4100] {
            // SAFETY: a page of canaries lies on either side.
            unsafe { *guarded.data().offset(offset as isize) = 0 };
            assert_eq!(guarded.damage(), Some(offset));
            assert_eq!(guarded.damage(), None, "looking repairs the canaries");
        }
    }

    #[test]
    fn an_input_ends_where_its_memory_ends() {
        let guarded = Guarded::input(100).unwrap();
        assert_eq!((guarded.data() as usize + 100) % page(), 0);
        let end = guarded.data().wrapping_add(100);
        let may_be_read = || {
            let mut pipe = [0; 2];
            // SAFETY: to write memory that may not be read into a pipe is an error of the call, and nothing else.
            unsafe {
                assert_eq!(libc::pipe(pipe.as_mut_ptr()), 0);
                let written = libc::write(pipe[1], end.cast(), 1);
                pipe.iter().for_each(|end| assert_eq!(libc::close(*end), 0));
                written == 1
            }
        };
        assert!(!may_be_read());
        guarded.open_end(true).unwrap();
        assert!(may_be_read(), "while calls are timed");
        guarded.open_end(false).unwrap();
        assert!(!may_be_read());
    }
}
