//! What a core does in a clock, as far as an estimate needs it.
//!
//! Sources: AMD's Software Optimization Guides for families 19h (document 57647) and 1Ah (58455), Intel's Optimization Reference
//! Manual (248966), Arm's optimization guide of Neoverse V1; sustained bandwidths of caches from the measurements of
//! calibration runs, which stay below the figures of the manuals. The numbers rank micro-kernels; measurements replace them.

use crate::machine::CpuTarget;

/// Throughputs of a core. A *vector* is as wide as the target's registers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Core {
    /// Fused multiply-adds of vectors that start in a clock.
    pub(super) fma: f64,
    /// Vectors that are loaded in a clock.
    pub(super) loads: f64,
    /// Vectors that are stored in a clock.
    pub(super) stores: f64,
    /// See [`CpuTarget::parts`].
    pub(super) parts: f64,
}

/// Elements that are loaded in a clock, alone or to be the same in all lanes.
pub(super) const BROADCASTS: f64 = 2.0;

/// Elements that are stored alone in a clock.
pub(super) const SCALARS: f64 = 1.0;

/// Instructions that start in a clock.
pub(super) const ISSUE: f64 = 5.0;

/// Clocks until a multiply-add can be added to.
pub(super) const FMA_LATENCY: f64 = 4.0;

/// Instructions that a core looks ahead.
pub(super) const AHEAD: f64 = 256.0;

/// Instructions of a step of a sum: a load, a multiply-add, and its share of the loop.
pub(super) const STEP: f64 = 3.0;

/// Copies of a statement that a compiler makes of short loops.
pub(super) const COPIES: i64 = 32;

/// Clocks until what was stored is loaded again.
pub(super) const FORWARDING: f64 = 5.0;

/// Clocks of an element of a vector that is gathered one by one, or of an element that is moved alone.
pub(super) const ELEMENT: f64 = 1.2;

/// Clocks of the unit that converts what is loaded from 16 bits: a vector, or an element. To be the same in all lanes it goes through that
/// unit again.
pub(super) const CONVERSION: f64 = 1.0;

/// Clocks to begin and to end an innermost loop: its last branch is mispredicted, and the pipeline empties.
pub(super) const LOOP: f64 = 50.0;

/// Clocks to enter an innermost loop whose iterations are known at run time only, also where its end is predicted.
pub(super) const ENTRY: f64 = 10.0;

/// Iterations after which the end of a loop is predicted: short ones are unrolled by the compiler, or known to the branch
/// predictor.
pub(super) const PREDICTED: f64 = 32.0;

/// Clocks in a second. It scales all figures alike.
pub(super) const CLOCK: f64 = 3.6e9;

/// Seconds until the threads of a pool have begun, and ended, a call.
pub(super) const LAUNCH: f64 = 4e-6;

/// Bytes in a clock that reach a core's first-level cache from the second, the second from the last, the last from memory.
pub(super) const BANDWIDTH: [f64; 3] = [32.0, 16.0, 6.0];

/// Bytes of a line of a cache.
pub(super) const LINE: f64 = 64.0;

/// Clocks that it takes to ask for a line ahead, and to begin asking for a tile's share of a slice, see
/// [`Schedule::prefetch`](crate::schedule::Schedule::prefetch).
pub(super) const ASK: f64 = 1.0;
pub(super) const SHARE: f64 = 5.0;

/// The share of computing and of waiting for data that is not hidden behind the slowest of them.
pub(super) const EXPOSED: f64 = 0.25;

/// The share of each cache that stays filled with what is used again. The sets of a cache fill unevenly, and other programs use the last one,
/// too: on two cores of a machine with a last-level cache of 32 MiB, a batch of products waited 1 clock for each line where all its tensors
/// together had 9 MB, 2.5 at 13 to 17 MB, and 5 at 23 MB.
pub(super) const FILLED: [f64; 3] = [0.8, 0.8, 0.4];

impl Core {
    pub(super) fn of(target: &CpuTarget) -> Core {
        let parts = target.parts() as f64;
        Core { fma: 2.0 / parts, loads: 2.0 / parts, stores: 1.0 / parts, parts }
    }
}
