//! What a lowered kernel takes of the target, checked before anything is compiled.
//!
//! | limit                   | target | found                                        | allowed                         |
//! |-------------------------|--------|----------------------------------------------|---------------------------------|
//! | `threads`               | cuda   | threads of a block                           | of a block of the device        |
//! | `vthreads`              | cuda   | parts of a thread                            | [`cuda::MOST_VTHREADS`]         |
//! | `innermost factor`      | cuda   | iterations of the longest loop that is unrolled | [`cuda::MOST_INNERMOST`]        |
//! | `shared memory`         | cuda   | bytes of all tiles that live at once         | of a block whose launch opts in |
//! | `registers of a thread` | cuda   | of its arrays, and [`cuda::OTHER_REGISTERS`] | of a thread                     |
//! | `registers of a block`  | cuda   | the same, for all of its threads             | of a block                      |
//! | `overhang`              | cuda   | elements behind the end of a shared sum      | [`cuda::MOST_OVERHANG`]         |
//! | `grid`                  | cuda   | blocks at the largest workload instance      | along x                         |
//! | `vector registers`      | cpu    | of the accumulators that live at once        | all but [`cpu::OPERANDS`]       |
//! | `second-level cache`    | cpu    | bytes of all panels that live at once        | of one core                     |
//!
//! MetaSchedule: `VerifyGPUCode`, which reads the IR as this does. What a device has not (asynchronous copies, a matrix unit) is
//! a limit too. The copies of the innermost statement are limited by the primitives, which would write them out.
//!
//! Draws keep more (`sample/limits`): what register tiles share fits the first-level cache, a CPU's statement is unrolled a few
//! hundred times at most, no more blocks share a sum than there are multiprocessors, tiles begin inside of the largest extent. A
//! trace of other origin may be beyond these, since it is right nevertheless, and only seldom fast.

pub(in crate::sketch) mod cpu;
pub(in crate::sketch) mod cuda;
mod grid;
mod registers;

use std::fmt::{self, Display, Formatter};

use crate::lower::LoopNest;
use crate::machine::Target;
use crate::schedule::Schedule;
use crate::sketch::Bounds;
use crate::{Error, Result};

/// A limit that a kernel is over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limit {
    /// Which one, of the table above.
    pub name: &'static str,
    /// What the kernel takes.
    pub found: i64,
    /// What the target has.
    pub allowed: i64,
    /// Whether no kernel can be over it; else one that is, is slow, and draws keep to it.
    pub hard: bool,
    /// What it is counted in.
    unit: &'static str,
}

impl Display for Limit {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Limit { name, found, allowed, unit, .. } = self;
        write!(f, "{name}: it takes {found} {unit}, the target allows {allowed}")
    }
}

/// Refuses a kernel that is over one of these limits of the target.
///
/// # Errors
/// Each limit that it is over, with what was found and what is allowed.
pub(in crate::sketch) fn verify_limits(
    schedule: &Schedule,
    nest: &LoopNest,
    target: &Target,
    of: fn(&Limit) -> bool,
) -> Result<()> {
    let limits = match target {
        Target::Cpu(target) => cpu::limits(schedule, nest, target),
        Target::Cuda(device) => {
            cuda::instructions(schedule, device)?;
            cuda::limits(schedule, nest, device)
        }
    };
    refuse(schedule, limits.into_iter().filter(of).collect())
}

/// Refuses a kernel whose grid is larger than the device's, where the axes are as long as they become.
///
/// # Errors
/// The limit, with what was found and what is allowed.
pub(in crate::sketch) fn verify_grid(schedule: &Schedule, bounds: &Bounds) -> Result<()> {
    match &bounds.target {
        Target::Cpu(_) => Ok(()),
        Target::Cuda(device) => refuse(schedule, vec![grid::limit(schedule, &bounds.extents, device)]),
    }
}

fn refuse(schedule: &Schedule, limits: Vec<Limit>) -> Result<()> {
    let over: Vec<String> =
        limits.into_iter().filter(|limit| limit.found > limit.allowed).map(|limit| limit.to_string()).collect();
    if over.is_empty() {
        return Ok(());
    }
    Err(Error::input(format!("a kernel of `{}` is over the limits: {}", schedule.block.name, over.join("; "))))
}
