//! Scratch memory for packed panels: one buffer per thread, reused by every call.
//!
//! A thread's buffer grows to the largest size that a micro-kernel has asked for on it, up to [`MAX_SCRATCH_BYTES`], and
//! is given back when the thread ends. Helper threads live as long as the program, so a program holds at most
//! (calling threads + helpers) × the largest scratch of its micro-kernels.

use std::cell::RefCell;
use std::ffi::c_void;

use super::aligned::AlignedBuffer;
use crate::{Error, Result};

/// The most scratch memory a micro-kernel may use on one thread.
pub const MAX_SCRATCH_BYTES: i64 = 256 << 20;

thread_local! {
    static BUFFER: RefCell<AlignedBuffer<u8>> = const { RefCell::new(AlignedBuffer::empty()) };
}

/// Runs `body` with at least `bytes` of this thread's scratch memory, aligned to a page. `body` must not come back here.
pub(super) fn with_scratch<R>(bytes: i64, body: impl FnOnce(*mut c_void) -> R) -> Result<R> {
    let len = usize::try_from(bytes).ok().filter(|_| bytes <= MAX_SCRATCH_BYTES).ok_or_else(|| {
        let message =
            format!("a micro-kernel asks for {bytes} bytes of scratch memory; 0 to {MAX_SCRATCH_BYTES} are possible");
        Error::unavailable(message)
    })?;
    let in_buffer = |buffer: &RefCell<AlignedBuffer<u8>>| {
        let mut buffer = buffer.borrow_mut();
        if buffer.len() < len {
            // The old buffer goes first, so that the two never exist together.
            *buffer = AlignedBuffer::empty();
            *buffer = AlignedBuffer::filled(len, 0)?;
        }
        Ok(body(buffer.as_mut_ptr().cast()))
    };
    BUFFER.try_with(in_buffer).map_err(|e| Error::unavailable("this thread is ending").caused_by(e))?
}
