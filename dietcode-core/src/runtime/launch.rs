//! Carries out a micro-kernel's tiles on the caller's thread and helpers from a pool.

use std::ffi::c_void;
use std::sync::atomic::{AtomicU64, Ordering};

use super::helpers::with_helpers;
use super::scratch::with_scratch;
use crate::{Result, abi};

/// Carries out a micro-kernel at a shape. The result has the same bits on any number of threads, since every tile
/// writes its own part of the output and is carried out whole by one thread.
///
/// It may be called from many threads at once, also from inside a rayon pool. The caller's thread always works on its own
/// call, so a call ends even if all helpers are busy elsewhere.
///
/// # Safety
/// `buffers` has one pointer per parameter, `strides` one entry per dimension of each tensor, `shape` one entry per
/// shape variable, as [`abi::Run`] says; every element that the micro-kernel touches at that shape exists, the output is
/// apart from all inputs and from everything other threads use, and this CPU has the micro-kernel's features.
///
/// # Errors
/// [`Unavailable`](crate::ErrorKind::Unavailable) if there is no scratch memory or no thread for it; nothing is written then.
pub unsafe fn launch(
    micro_kernel: &abi::MicroKernel,
    buffers: &[*mut c_void],
    strides: &[i64],
    shape: &[i64],
    threads: usize,
) -> Result<()> {
    // SAFETY: as the caller vouches.
    unsafe { launch_part(micro_kernel, u64::MAX, buffers, strides, shape, threads) }
}

/// The same for at most the first `most` tiles.
///
/// # Safety
/// As for [`launch`].
pub(crate) unsafe fn launch_part(
    micro_kernel: &abi::MicroKernel,
    most: u64,
    buffers: &[*mut c_void],
    strides: &[i64],
    shape: &[i64],
    threads: usize,
) -> Result<()> {
    // SAFETY: `shape` is what the caller vouches for.
    let grid = u64::try_from(unsafe { (micro_kernel.grid)(shape.as_ptr()) }).unwrap_or(0).min(most);
    if grid == 0 {
        return Ok(());
    }
    let workers = u64::try_from(threads).unwrap_or(u64::MAX).min(grid);
    let call = Call { micro_kernel, buffers, strides, shape, grid, workers, next: AtomicU64::new(0) };
    if workers <= 1 {
        // SAFETY: as the caller vouches; this thread carries out all tiles.
        return with_scratch(micro_kernel.scratch_bytes, |scratch| unsafe { call.run(scratch, 0, grid) });
    }
    // If this thread has its scratch memory, the call can be completed whatever happens to the helpers.
    with_scratch(micro_kernel.scratch_bytes, |_| ())?;
    // A helper that gets no scratch memory takes no tile, and the others carry them out.
    with_helpers(threads, workers as usize - 1, &|| drop(call.work()), || call.work())?
}

/// One call, shared by the threads that work on it.
struct Call<'a> {
    micro_kernel: &'a abi::MicroKernel,
    buffers: &'a [*mut c_void],
    strides: &'a [i64],
    shape: &'a [i64],
    grid: u64,
    workers: u64,
    /// The first tile that no thread has taken.
    next: AtomicU64,
}

// SAFETY: the pointers are only handed to `run`, whose tiles write disjoint parts of the output.
unsafe impl Sync for Call<'_> {}

impl Call<'_> {
    fn work(&self) -> Result<()> {
        with_scratch(self.micro_kernel.scratch_bytes, |scratch| {
            while let Some((begin, end)) = self.take() {
                // SAFETY: `launch`'s caller vouches for the pointers, and `take` gives each tile to one thread only.
                unsafe { self.run(scratch, begin, end) };
            }
        })
    }

    /// Takes a share of what is left: shares shrink as the end comes near, so that a million tiny tiles cost a few hundred
    /// takings, and yet all threads end within a tile of each other.
    fn take(&self) -> Option<(u64, u64)> {
        let share = |next: u64| ((self.grid - next) / (16 * self.workers)).max(1);
        let taken = self
            .next
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |next| (next < self.grid).then(|| next + share(next)));
        taken.ok().map(|begin| (begin, begin + share(begin)))
    }

    /// # Safety
    /// As for [`launch`]; no other thread carries out one of these tiles, and `scratch` is this thread's.
    unsafe fn run(&self, scratch: *mut c_void, begin: u64, end: u64) {
        // SAFETY: as the caller vouches. Both ends are at most `grid`, which came from an i64.
        unsafe {
            (self.micro_kernel.run)(
                self.buffers.as_ptr(),
                self.strides.as_ptr(),
                self.shape.as_ptr(),
                scratch,
                begin as i64,
                end as i64,
            );
        }
    }
}
