//! Which calls are so short that helpers gain nothing: by what the last one at the same shape took.
//!
//! What a tile takes depends on the micro-kernel, the shape and the machine, so the calls themselves are timed: one that its thread carries
//! out alone as a whole, another by the tiles that the calling thread had. What was found is kept in a table of fixed size, in which
//! a newer entry replaces an older one.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crate::abi::MicroKernel;

/// A call of less is carried out by its thread alone from the next one on, and one of more than [`LONG`] is not any more. Measured on a
/// Xeon with a helper that spins, of 192 tiles: 2.8 µs of one thread are 2.9 µs of two, and 4.4 µs are 3.9 µs. Between both it stays as
/// it is, so that calls of about that time do not change with each one.
const SHORT: Duration = Duration::from_micros(3);
const LONG: Duration = Duration::from_micros(5);

const ENTRIES: usize = 1024;

/// The hashes of short calls; 0: none.
static SHORT_CALLS: [AtomicU64; ENTRIES] = [const { AtomicU64::new(0) }; ENTRIES];

/// A call's entry.
#[derive(Clone, Copy)]
pub(super) struct Pace {
    hash: u64,
}

impl Pace {
    /// That of a micro-kernel's first `most` tiles at a shape with parameters.
    pub(super) fn of(micro_kernel: &MicroKernel, most: u64, shape: &[i64]) -> Pace {
        // Multiplication carries to higher bits only, and rotation brings them back.
        let mix = |hash: u64, value: u64| (hash ^ value).wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(29);
        let code = micro_kernel.phases.as_slice().iter().map(|phase| phase.run as usize as u64);
        let all = code.chain([most]).chain(shape.iter().map(|size| *size as u64));
        Pace { hash: all.fold(0, mix).max(1) }
    }

    /// Whether the last one was so short that this thread carries out the next one alone.
    pub(super) fn is_short(self) -> bool {
        self.entry().load(Ordering::Relaxed) == self.hash
    }

    /// Notes what a call took, or would have taken, one thread.
    pub(super) fn took(self, time: Duration) {
        // Written where it changes only, since other threads read it.
        match self.is_short() {
            false if time < SHORT => self.entry().store(self.hash, Ordering::Relaxed),
            true if time > LONG => self.entry().store(0, Ordering::Relaxed),
            _ => {}
        }
    }

    fn entry(self) -> &'static AtomicU64 {
        &SHORT_CALLS[self.hash as usize % ENTRIES]
    }
}

/// Forgets all calls: other code may be where that of a library was.
#[cfg(feature = "tuner")]
pub(crate) fn forget() {
    SHORT_CALLS.iter().for_each(|entry| entry.store(0, Ordering::Relaxed));
}

#[cfg(test)]
mod tests {
    use std::ffi::c_void;

    use super::*;
    use crate::abi::{Array, Phase};

    unsafe extern "C" fn one(_: *const i64) -> i64 {
        1
    }

    unsafe extern "C" fn first(_: *const *mut c_void, _: *const i64, _: *const i64, _: *mut c_void, _: i64, _: i64) {}

    /// Another address than that of the function before takes another body.
    unsafe extern "C" fn second(
        _: *const *mut c_void,
        _: *const i64,
        _: *const i64,
        _: *mut c_void,
        begin: i64,
        _: i64,
    ) {
        assert_eq!(begin, 0);
    }

    fn row(phases: &'static [Phase]) -> MicroKernel {
        MicroKernel {
            name: c"a".as_ptr(),
            cpu_features: 0,
            scratch_bytes: 0,
            phases: Array::new(phases),
            workspace_bytes: None,
            parameters: Array::new(&[]),
        }
    }

    #[test]
    fn a_call_is_short_by_the_last_one_at_the_shape() {
        static PHASES: [Phase; 2] = [Phase { grid: one, run: first }, Phase { grid: one, run: second }];
        let [row, other] = [row(&PHASES[..1]), row(&PHASES[1..])];
        let pace = Pace::of(&row, u64::MAX, &[3, 5]);
        assert!(!pace.is_short(), "nothing is known");
        for (nanoseconds, is_short) in
            [(4000, false), (2999, true), (4000, true), (5001, false), (4000, false), (0, true)]
        {
            pace.took(Duration::from_nanos(nanoseconds));
            assert_eq!(pace.is_short(), is_short, "{nanoseconds} ns");
        }
        let others =
            [Pace::of(&row, u64::MAX, &[5, 3]), Pace::of(&row, 7, &[3, 5]), Pace::of(&other, u64::MAX, &[3, 5])];
        assert!(others.iter().all(|pace| !pace.is_short()), "of other calls nothing is known");
    }
}
