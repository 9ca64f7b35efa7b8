//! Empties caches of the operands before a call that is timed, as what runs between two calls of a program does.

#[cfg(target_arch = "x86_64")]
pub(super) use lines::Eviction;
#[cfg(not(target_arch = "x86_64"))]
pub(super) use other_data::Eviction;

/// Where a line can be flushed from all caches: that takes as long as the operands are large, and not as the last-level cache is. Source:
/// TVM's `cache_flush_cpu_non_first_arg`.
#[cfg(target_arch = "x86_64")]
mod lines {
    use std::arch::x86_64::{_mm_clflush, _mm_mfence};

    use crate::measure::worker::tensors::Tensors;

    /// Bytes of a line.
    const LINE: usize = 64;

    pub(in crate::measure::worker) struct Eviction;

    impl Eviction {
        /// For calls on so many threads.
        pub(in crate::measure::worker) fn new(_: usize) -> Eviction {
            Eviction
        }

        /// Flushes all tensors from the caches of all cores.
        pub(in crate::measure::worker) fn evict(&self, tensors: &Tensors) {
            for bytes in tensors.bytes() {
                // SAFETY: each line is one of the tensor's, and flushing changes none.
                (bytes.start / LINE * LINE..bytes.end)
                    .step_by(LINE)
                    .for_each(|byte| unsafe { _mm_clflush(byte as *const u8) });
            }
            // SAFETY: every CPU of this architecture has it.
            unsafe { _mm_mfence() };
        }
    }
}

/// Elsewhere other data takes their place.
#[cfg(not(target_arch = "x86_64"))]
mod other_data {
    use std::hint::black_box;
    use std::thread;

    use crate::machine::last_level;
    use crate::measure::worker::tensors::Tensors;

    /// For each thread as much as the last-level cache holds.
    pub(in crate::measure::worker) struct Eviction(Vec<Vec<u8>>);

    impl Eviction {
        /// For calls on so many threads.
        pub(in crate::measure::worker) fn new(threads: usize) -> Eviction {
            Eviction(vec![vec![1; last_level()]; threads.max(1)])
        }

        /// Reads all of it, on as many cores as the process has for its threads, while none of them computes. Both halves are equal: the C
        /// library compares them in less than half of the time of a search by the standard library, and in a quarter of that of a loop over
        /// lines where this crate is not optimized.
        pub(in crate::measure::worker) fn evict(&self, _: &Tensors) {
            let read = |data: &[u8]| {
                let (one, other) = data.split_at(data.len() / 2);
                black_box(black_box(one) == black_box(other))
            };
            thread::scope(|scope| {
                self.0.iter().for_each(|data| drop(scope.spawn(move || read(data))));
            });
        }
    }
}
