//! The emulated device: its memory is the host's, and its kernels are the same `.cu` files compiled for the host.
//!
//! It is there so that CUDA kernels are tested on any machine. What a real device leaves to chance it makes visible: fresh
//! memory is full of NaNs, and there is less of it than a machine may have, so that running out is an error here too.

use std::ffi::c_void;
use std::slice;
use std::sync::atomic::{AtomicU64, Ordering};

use super::limits::Limits;
use crate::runtime::Element;
use crate::runtime::aligned::AlignedBuffer;
use crate::{Error, Result};

/// Two multiprocessors, where a device has more, so that a persistent grid is soon smaller than what it covers.
pub(super) const LIMITS: Limits = Limits {
    multiprocessors: 2,
    max_blocks: i32::MAX as u32,
    max_threads: 1024,
    max_shared_bytes: 227 << 10,
    memory_bytes: 8 << 30,
};

/// How many blocks of any kernel a multiprocessor is said to hold at once.
pub(super) const RESIDENT_BLOCKS: u32 = 2;

/// What [`Device::cuda_host`](super::Device::cuda_host) is dispatched as.
pub(super) const CAPABILITY: (u32, u32) = (9, 0);

/// Eight bytes of fresh memory: floating-point numbers of any type made of them are NaNs.
const POISON: u64 = u64::MAX;

/// Bytes of emulated memory in use, on all emulated devices together.
static USED: AtomicU64 = AtomicU64::new(0);

/// Memory of the emulated device.
pub(super) struct EmulatedBuffer {
    words: AlignedBuffer<u64>,
    /// Given back after `words`.
    _share: Share,
}

impl EmulatedBuffer {
    /// Fresh memory of at least this many bytes.
    pub(super) fn new(bytes: usize) -> Result<EmulatedBuffer> {
        let words = bytes.div_ceil(size_of::<u64>());
        let share = Share::take(bytes as u64)?;
        Ok(EmulatedBuffer { words: AlignedBuffer::filled(words, POISON)?, _share: share })
    }

    /// Its start, to be read only.
    pub(super) fn as_ptr(&self) -> *const c_void {
        self.words.as_ptr().cast()
    }

    pub(super) fn as_mut_ptr(&mut self) -> *mut c_void {
        self.words.as_mut_ptr().cast()
    }

    pub(super) fn bytes(&self) -> usize {
        self.words.len() * size_of::<u64>()
    }

    /// Makes it as good as fresh.
    pub(super) fn poison(&mut self) {
        self.words.fill(POISON);
    }

    /// The first `len` elements of it.
    pub(super) fn elements<T: Element>(&self, len: usize) -> &[T] {
        assert!(len * size_of::<T>() <= self.bytes(), "the memory of a tensor is as large as the tensor");
        // SAFETY: it is long enough and aligned as words are, and any bytes make an `Element`.
        unsafe { slice::from_raw_parts(self.words.as_ptr().cast(), len) }
    }

    /// As [`elements`](Self::elements), to write.
    pub(super) fn elements_mut<T: Element>(&mut self, len: usize) -> &mut [T] {
        assert!(len * size_of::<T>() <= self.bytes(), "the memory of a tensor is as large as the tensor");
        // SAFETY: as above, and the memory is borrowed exclusively.
        unsafe { slice::from_raw_parts_mut(self.words.as_mut_ptr().cast(), len) }
    }
}

/// A part of the emulated memory.
struct Share(u64);

impl Share {
    fn take(bytes: u64) -> Result<Share> {
        let add = |used: u64| used.checked_add(bytes).filter(|used| *used <= LIMITS.memory_bytes);
        match USED.fetch_update(Ordering::Relaxed, Ordering::Relaxed, add) {
            Ok(_) => Ok(Share(bytes)),
            Err(used) => Err(Error::unavailable(format!(
                "cuda-host: cannot allocate {bytes} bytes of device memory: {used} of {} are in use",
                LIMITS.memory_bytes
            ))),
        }
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        USED.fetch_sub(self.0, Ordering::Relaxed);
    }
}
