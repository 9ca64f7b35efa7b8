//! Memory of micro-kernels: scratch memory for packed panels, one buffer per thread, and the workspace that the phases of a call
//! share, one buffer per calling thread; both are reused by every call.
//!
//! A thread's buffer grows to the largest size that a micro-kernel has asked for on it, and is given back when the thread ends; one that
//! is larger than [`MAX_SCRATCH_BYTES`], as a workspace of up to [`MAX_WORKSPACE_BYTES`] may be, when the call ends: a call that fills
//! it takes longer than the system to give it again. Helper threads live as long as the program, so between calls a program holds at most
//! (calling threads + helpers) × the largest scratch of its micro-kernels, and calling threads × their largest workspace up to that size.

use std::cell::RefCell;
use std::ffi::c_void;
use std::thread::LocalKey;

use super::aligned::AlignedBuffer;
use crate::{Error, Result};

/// The most scratch memory a micro-kernel may use on one thread, and the most that is kept of anything.
pub const MAX_SCRATCH_BYTES: i64 = 256 << 20;

/// The largest workspace of a call.
const MAX_WORKSPACE_BYTES: i64 = 16 << 30;

type Kept = RefCell<AlignedBuffer<u8>>;

thread_local! {
    static SCRATCH: Kept = const { RefCell::new(AlignedBuffer::empty()) };
    static WORKSPACE: Kept = const { RefCell::new(AlignedBuffer::empty()) };
}

/// Runs `body` with at least `bytes` of this thread's scratch memory, aligned to a page. `body` must not come back here.
pub(super) fn with_scratch<R>(bytes: i64, body: impl FnOnce(*mut c_void) -> R) -> Result<R> {
    with(&SCRATCH, ("scratch memory", MAX_SCRATCH_BYTES), bytes, body)
}

/// The same with memory for all threads of a call; it holds what the last call has left.
pub(super) fn with_workspace<R>(bytes: i64, body: impl FnOnce(*mut c_void) -> R) -> Result<R> {
    with(&WORKSPACE, ("workspace", MAX_WORKSPACE_BYTES), bytes, body)
}

fn with<R>(
    kept: &'static LocalKey<Kept>,
    (what, most): (&str, i64),
    bytes: i64,
    body: impl FnOnce(*mut c_void) -> R,
) -> Result<R> {
    let len = usize::try_from(bytes).ok().filter(|_| bytes <= most).ok_or_else(|| {
        Error::unavailable(format!("a micro-kernel asks for {bytes} bytes of {what}; 0 to {most} are possible"))
    })?;
    let in_buffer = |buffer: &Kept| {
        let mut buffer = buffer.borrow_mut();
        if buffer.len() < len {
            // The old buffer goes first, so that the two never exist together.
            *buffer = AlignedBuffer::empty();
            *buffer = AlignedBuffer::filled(len, 0)?;
        }
        let result = body(buffer.as_mut_ptr().cast());
        if buffer.len() as u64 > MAX_SCRATCH_BYTES.unsigned_abs() {
            *buffer = AlignedBuffer::empty();
        }
        Ok(result)
    };
    kept.try_with(in_buffer).map_err(|e| Error::unavailable("this thread is ending").caused_by(e))?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_buffer_is_kept_unless_it_is_large() {
        let kept = |bytes: i64| {
            with_workspace(bytes, |_| ()).unwrap();
            WORKSPACE.with_borrow(|buffer| buffer.len() as i64)
        };
        assert_eq!((kept(1000), kept(10)), (1000, 1000));
        assert_eq!((kept(MAX_SCRATCH_BYTES), kept(10)), (MAX_SCRATCH_BYTES, MAX_SCRATCH_BYTES));
        assert_eq!(kept(MAX_SCRATCH_BYTES + 1), 0);
        assert!(with_workspace(MAX_WORKSPACE_BYTES + 1, |_| ()).is_err());
    }
}
