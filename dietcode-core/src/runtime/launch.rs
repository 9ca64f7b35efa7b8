//! Carries out a micro-kernel's tiles on the caller's thread and helpers from a pool.

use std::borrow::Cow;
use std::ffi::c_void;
use std::ptr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use smallvec::SmallVec;

use super::helpers::with_helpers;
use super::pace::Pace;
use super::pool::Reads;
use super::scratch::{with_scratch, with_workspace};
use crate::{Result, abi};

/// Carries out a micro-kernel at a shape, phase after phase. The result has the same bits on any number of threads, since every
/// tile of a phase writes its own part of the output or of the workspace, and is carried out whole by one thread.
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
/// [`Unavailable`](crate::ErrorKind::Unavailable) if there is no memory or no thread for it. Nothing is written then, but by
/// phases that ended before one for which no thread could be started.
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

/// The same for at most the first `most` tiles of each phase.
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
    let shape = &*with_parameters(micro_kernel, shape);
    let call = Call { micro_kernel, most, buffers, strides, shape };
    match micro_kernel.workspace_bytes {
        // SAFETY: as the caller vouches.
        None => unsafe { call.launch(threads) },
        Some(bytes) => {
            // SAFETY: the shape is what the caller vouches for, with the parameters behind it.
            let bytes = unsafe { bytes(shape.as_ptr()) };
            with_workspace(bytes, |workspace| {
                let buffers = [buffers, &[workspace]].concat();
                // SAFETY: as the caller vouches.
                unsafe { Call { buffers: &buffers, ..call }.launch(threads) }
            })?
        }
    }
}

/// Bytes of the workspace that a call at a shape asks for.
pub(super) fn workspace_bytes(micro_kernel: &abi::MicroKernel, shape: &[i64]) -> i64 {
    // SAFETY: the values of the shape variables with the parameters behind them.
    micro_kernel.workspace_bytes.map_or(0, |bytes| unsafe { bytes(with_parameters(micro_kernel, shape).as_ptr()) })
}

/// What a micro-kernel takes as its shape: the values of the shape variables, and behind them its parameters.
fn with_parameters<'a>(micro_kernel: &abi::MicroKernel, shape: &'a [i64]) -> Cow<'a, [i64]> {
    match micro_kernel.parameters.as_slice() {
        [] => shape.into(),
        parameters => [shape, parameters].concat().into(),
    }
}

/// One call.
#[derive(Clone, Copy)]
struct Call<'a> {
    micro_kernel: &'a abi::MicroKernel,
    /// The most tiles of a phase that are carried out.
    most: u64,
    buffers: &'a [*mut c_void],
    strides: &'a [i64],
    shape: &'a [i64],
}

impl Call<'_> {
    /// # Safety
    /// As for [`launch`], with workspace and parameters.
    unsafe fn launch(self, threads: usize) -> Result<()> {
        let Call { micro_kernel, most, shape, .. } = self;
        // SAFETY: as the caller vouches.
        let largest = self.phases().map(|phase| unsafe { self.grid(phase) }).max().unwrap_or(0);
        if largest == 0 {
            return Ok(());
        }
        if threads <= 1 || largest == 1 {
            // SAFETY: as the caller vouches.
            return unsafe { self.alone() };
        }
        let pace = Pace::of(micro_kernel, most, shape);
        let time = if pace.is_short() {
            let start = Instant::now();
            // SAFETY: as the caller vouches.
            unsafe { self.alone() }?;
            Some(start.elapsed())
        } else {
            // SAFETY: as the caller vouches.
            unsafe { self.together(threads) }?
        };
        time.into_iter().for_each(|time| pace.took(time));
        Ok(())
    }

    fn phases(&self) -> impl Iterator<Item = &abi::Phase> {
        self.micro_kernel.phases.as_slice().iter()
    }

    /// # Safety
    /// As for [`Call::launch`].
    unsafe fn grid(&self, phase: &abi::Phase) -> u64 {
        // SAFETY: as the caller vouches.
        u64::try_from(unsafe { (phase.grid)(self.shape.as_ptr()) }).unwrap_or(0).min(self.most)
    }

    /// This thread carries out all tiles.
    ///
    /// # Safety
    /// As for [`Call::launch`].
    unsafe fn alone(&self) -> Result<()> {
        with_scratch(self.micro_kernel.scratch_bytes, |scratch| {
            // SAFETY: as the caller vouches.
            let grids = self.phases().map(|phase| (phase, unsafe { self.grid(phase) }));
            // SAFETY: as the caller vouches; the tiles of a phase come after all of the phase before.
            grids.filter(|(_, grid)| *grid > 0).for_each(|(phase, grid)| unsafe { self.run(phase, scratch, 0, grid) });
        })
    }

    /// This thread and helpers carry out the tiles. Gives what all would have taken this one, by those that it carried out; nothing
    /// where it came to none of a phase.
    ///
    /// # Safety
    /// As for [`Call::launch`].
    unsafe fn together(self, threads: usize) -> Result<Option<Duration>> {
        // If this thread has its scratch memory, the call can be completed whatever happens to the helpers.
        with_scratch(self.micro_kernel.scratch_bytes, |_| ())?;
        self.phases().try_fold(Some(Duration::ZERO), |time, phase| {
            // SAFETY: as the caller vouches.
            let grid = unsafe { self.grid(phase) };
            let tiles = Tiles { call: self, phase, shares: shares(grid, threads as u64) };
            let helpers = tiles.shares.len().saturating_sub(1);
            // A helper that gets no scratch memory takes no tile, and the others carry them out.
            let help = |helper| drop(tiles.work(helper));
            let reads = |helper| tiles.reads(helper, ptr::from_ref(&help).cast());
            let (carried_out, own) = with_helpers(threads, helpers, &help, &reads, || tiles.work(0))??;
            let all = Duration::try_from_secs_f64(own.as_secs_f64() * grid as f64 / carried_out as f64).ok();
            Ok(if grid == 0 { time } else { time.zip(all).map(|(before, all)| before + all) })
        })
    }

    /// # Safety
    /// As for [`launch`]; no other thread carries out one of these tiles, and `scratch` is this thread's.
    unsafe fn run(&self, phase: &abi::Phase, scratch: *mut c_void, begin: u64, end: u64) {
        // SAFETY: as the caller vouches. Both ends are at most `grid`, which came from an i64.
        unsafe {
            (phase.run)(
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

/// A phase of a call, shared by the threads that work on it.
struct Tiles<'a> {
    call: Call<'a>,
    phase: &'a abi::Phase,
    shares: SmallVec<[Share; 16]>,
}

/// Neighbouring tiles that one thread begins with, call after call: what it read and wrote the last time may still lie in its core's
/// caches. On two lines of a cache, which are fetched together, so that threads with shares of their own do not wait for each other.
#[repr(align(128))]
struct Share {
    /// The first tile that no thread has taken.
    next: AtomicU64,
    end: u64,
}

/// A share for each thread that has a tile to begin with, of as many but for one, which the calling thread has more: it begins first.
fn shares(grid: u64, threads: u64) -> SmallVec<[Share; 16]> {
    let threads = threads.min(grid);
    // Wide, since the product exceeds 64 bits where tiles are many.
    let begin = |thread: u64| (u128::from(grid) * u128::from(thread)).div_ceil(u128::from(threads)) as u64;
    (0..threads).map(|thread| Share { next: AtomicU64::new(begin(thread)), end: begin(thread + 1) }).collect()
}

// SAFETY: the pointers are only handed to `run`, whose tiles write disjoint parts of the output.
unsafe impl Sync for Tiles<'_> {}

impl Tiles<'_> {
    /// Addresses of what the thread of this number reads before its first tile; the door is not among them.
    fn reads(&self, thread: usize, help: *const u8) -> Reads {
        let Call { buffers, strides, shape, .. } = self.call;
        let own = &self.shares[thread % self.shares.len().max(1)];
        [
            help,
            ptr::from_ref(&self.call).cast(),
            ptr::from_ref(&self.phase).cast(),
            ptr::from_ref(own).cast(),
            buffers.as_ptr().cast(),
            strides.as_ptr().cast(),
            shape.as_ptr().cast(),
        ]
    }

    /// Carries out the share of a thread of this number, then what is left of the others'. Gives how many tiles it was, and how long
    /// they took.
    fn work(&self, thread: usize) -> Result<(u64, Duration)> {
        with_scratch(self.call.micro_kernel.scratch_bytes, |scratch| {
            let (mut carried_out, mut least, start) = (0, 1, Instant::now());
            let (before, own) = self.shares.split_at(thread % self.shares.len().max(1));
            for share in own.iter().chain(before) {
                while let Some((begin, end)) = share.take(least) {
                    // SAFETY: `launch`'s caller vouches for the pointers, and `take` gives each tile to one thread only.
                    unsafe { self.call.run(self.phase, scratch, begin, end) };
                    if carried_out == 0 {
                        least = tiles_of_a_part(end - begin, start.elapsed());
                    }
                    carried_out += end - begin;
                }
            }
            (carried_out, start.elapsed())
        })
    }
}

/// How many tiles take as long as a part should at the least, by the first part: two threads that take tiles of 50 ns from one share
/// wait for each other longer than that. All threads end within such a time, or within a tile, of each other.
fn tiles_of_a_part(tiles: u64, took: Duration) -> u64 {
    const PART: Duration = Duration::from_micros(1);
    (u128::from(tiles) * PART.as_nanos() / took.as_nanos().max(1)).clamp(1, u64::MAX.into()) as u64
}

impl Share {
    /// Takes a part of what is left, of at least so many tiles if there are as many: parts shrink as the end comes near, so that a
    /// million tiny tiles cost a few hundred takings.
    fn take(&self, least: u64) -> Option<(u64, u64)> {
        let part = |next: u64| ((self.end - next) / 16).max(least).min(self.end - next);
        let taken = self
            .next
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |next| (next < self.end).then(|| next + part(next)));
        taken.ok().map(|begin| (begin, begin + part(begin)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn taken(share: &Share) -> Vec<(u64, u64)> {
        std::iter::from_fn(|| share.take(1)).collect()
    }

    /// One behind the other, each in parts one behind the other.
    #[test]
    fn shares_hold_each_tile_once() {
        for (grid, threads) in [(1, 1), (2, 2), (7, 3), (1000, 7), (1_000_000, 2), (i64::MAX as u64, 64)] {
            let shares = shares(grid, threads);
            assert_eq!(shares.len() as u64, threads);
            let mut next = 0;
            for share in &shares {
                let tiles = share.end - share.next.load(Ordering::Relaxed);
                assert!([grid / threads, grid.div_ceil(threads)].contains(&tiles), "{tiles} of {grid} by {threads}");
                for (begin, end) in taken(share) {
                    assert_eq!(begin, next);
                    assert!(begin < end, "{begin}..{end}");
                    next = end;
                }
            }
            assert_eq!(next, grid);
        }
    }

    #[test]
    fn many_tiles_are_taken_in_few_parts_and_the_last_ones_one_by_one() {
        let parts = taken(&shares(1_000_000, 1)[0]);
        assert!(parts.len() < 300, "{}", parts.len());
        assert!(parts.iter().rev().take(16).all(|(begin, end)| end - begin == 1));
    }

    /// No part of tiles of 50 ns takes less than a microsecond, but for the last one.
    #[test]
    fn parts_of_tiny_tiles_are_of_a_length() {
        let least = tiles_of_a_part(6, Duration::from_nanos(300));
        assert_eq!(least, 20);
        let share = &shares(96, 1)[0];
        let parts: Vec<(u64, u64)> = std::iter::from_fn(|| share.take(least)).collect();
        assert_eq!(parts, [(0, 20), (20, 40), (40, 60), (60, 80), (80, 96)]);
        assert_eq!([tiles_of_a_part(6, Duration::from_millis(1)), tiles_of_a_part(1, Duration::ZERO)], [1, 1000]);
    }
}
