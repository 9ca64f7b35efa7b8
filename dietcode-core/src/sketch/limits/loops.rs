//! What follows from iterations of loops: threads, and copies of what is unrolled.

use super::Kernel;
use crate::ir::ForKind;
use crate::machine::Target;
use crate::schedule::MOST_COPIES;
use crate::sketch::reads;

/// The most parts of a thread that lie apart.
pub(super) const MOST_VTHREADS: i64 = 8;
/// The most iterations of a loop that is unrolled (`max_innermost_factor` of MetaSchedule).
pub(super) const MOST_INNERMOST: i64 = 64;

/// The loops whose iterations are printed one after the other.
pub(super) const COPIED: [ForKind; 2] = [ForKind::Unrolled, ForKind::VThread];

/// The most copies of the innermost statement. Of a CPU fewer than primitives make: beyond these a C compiler needs seconds for a
/// micro-kernel, and the overhead of the loop around it is a few percent of nothing.
pub(super) fn most_copies(target: &Target) -> i64 {
    match target {
        Target::Cpu(_) => 256,
        Target::Cuda(_) => MOST_COPIES,
    }
}

/// The most elements that the copies of the innermost statement take one by one for lanes of vectors. GCC combines instructions in a time
/// that grows with the square of how many a block has: sums of squares of rows that lie 16 apart took 0.8 s with 256 elements, 4 s with 768,
/// and 55 s with 3200.
pub(super) const MOST_GATHERED: i64 = 256;

/// The kinds of the loops whose every iteration is such an element.
pub(super) const ELEMENTS: [ForKind; 3] = [ForKind::Unrolled, ForKind::VThread, ForKind::Vectorized];

/// The elements that the copies of the innermost statement take one by one.
pub(super) fn gathered(kernel: &Kernel<'_>) -> i64 {
    reads::gathered(kernel.schedule).saturating_mul(of_kinds(kernel, &ELEMENTS))
}

/// The iterations of the loops of some kinds together.
pub(super) fn of_kinds(kernel: &Kernel<'_>, kinds: &[ForKind]) -> i64 {
    let loops = kernel.schedule.loops.iter().filter(|l| kinds.contains(&l.kind));
    loops.filter_map(|l| l.extent.as_int()).fold(1, i64::saturating_mul)
}

/// The iterations of the longest loop of a kind.
pub(super) fn longest(kernel: &Kernel<'_>, kind: ForKind) -> i64 {
    let loops = kernel.schedule.loops.iter().filter(|l| l.kind == kind);
    loops.filter_map(|l| l.extent.as_int()).max().unwrap_or(1)
}
