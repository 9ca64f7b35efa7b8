//! How long a call takes one thread, by what the last one at its shape took: one of a few microseconds ends before helpers gain anything.
//!
//! Nothing is estimated: what a tile takes depends on the micro-kernel, the shape and the machine, and a call that is made once is over
//! soon either way. What was found is kept in a table of fixed size, in which a newer entry replaces an older one.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crate::abi::MicroKernel;

/// The work of which a thread has at least as much, in nanoseconds. Two threads take as long as one for twice this: measured on a Xeon with
/// helpers that spin, 2.2 µs of one thread are 3.0 µs of two, and 5.9 µs are 5.0 µs.
const LEAST: u64 = 2000;

const ENTRIES: usize = 1024;

/// Bits of an entry that hold nanoseconds; the others tell calls apart.
const NANOSECONDS: u32 = 32;

static LAST: [AtomicU64; ENTRIES] = [const { AtomicU64::new(0) }; ENTRIES];

/// A call's entry.
#[derive(Clone, Copy)]
pub(super) struct Pace {
    hash: u64,
}

impl Pace {
    /// That of a micro-kernel's first `most` tiles at a shape.
    pub(super) fn of(micro_kernel: &MicroKernel, most: u64, shape: &[i64]) -> Pace {
        // Multiplication carries to higher bits only, and rotation brings them back.
        let mix = |hash: u64, value: u64| (hash ^ value).wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(29);
        let start = mix(std::ptr::from_ref(micro_kernel).addr() as u64, most);
        Pace { hash: shape.iter().fold(start, |hash, size| mix(hash, *size as u64)) }
    }

    /// How many of so many threads have enough to do; all of them where nothing is known.
    pub(super) fn threads(self, threads: usize) -> usize {
        let entry = self.entry().load(Ordering::Relaxed);
        let [tag, nanoseconds] = [entry >> NANOSECONDS, entry & u64::from(u32::MAX)];
        if entry == 0 || tag != self.tag() {
            return threads;
        }
        usize::try_from(nanoseconds / LEAST).map_or(threads, |enough| enough.clamp(1, threads))
    }

    /// Notes what a call took, or would have taken, one thread.
    pub(super) fn took(self, time: Duration) {
        let nanoseconds = time.as_nanos().clamp(1, u128::from(u32::MAX)) as u64;
        self.entry().store(self.tag() << NANOSECONDS | nanoseconds, Ordering::Relaxed);
    }

    fn entry(self) -> &'static AtomicU64 {
        &LAST[self.hash as usize % ENTRIES]
    }

    fn tag(self) -> u64 {
        self.hash >> NANOSECONDS
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::abi::Array;

    fn row() -> &'static MicroKernel {
        Box::leak(Box::new(MicroKernel {
            name: c"a".as_ptr(),
            cpu_features: 0,
            scratch_bytes: 0,
            phases: Array::new(&[]),
            workspace_bytes: None,
            parameters: Array::new(&[]),
        }))
    }

    #[test]
    fn threads_have_enough_to_do_by_the_last_call_at_the_shape() {
        let (row, other) = (row(), row());
        let pace = Pace::of(row, u64::MAX, &[3, 5]);
        assert_eq!(pace.threads(8), 8, "nothing is known");
        for (nanoseconds, threads) in [(0, 1), (3999, 1), (4000, 2), (9000, 4), (u64::MAX, 8), (500, 1)] {
            pace.took(Duration::from_nanos(nanoseconds));
            assert_eq!(pace.threads(8), threads, "{nanoseconds} ns");
        }
        let others = [Pace::of(row, u64::MAX, &[5, 3]), Pace::of(row, 7, &[3, 5]), Pace::of(other, u64::MAX, &[3, 5])];
        assert!(others.iter().all(|pace| pace.threads(8) == 8), "of other calls nothing is known");
    }
}
