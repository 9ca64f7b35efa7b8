//! The nest as it stands: the micro-kernel without tiles, whose loops the C compiler vectorises as it can.
//!
//! ```text
//! parallel for the outer spatial loops, as one        all but the last two, so that nothing is divided in short rows
//!   for the other spatial loops
//!     for the reduction loops: one sum
//!     epilogue
//! ```
//!
//! It is padded nowhere and copies nothing. So it wins where tiles would be nearly all padding, where nothing is used again,
//! and where sums are short and constant, which a compiler unrolls.

use dietcode_syntax::Role;

use super::micro_kernel::NEST;
use super::{MicroKernel, grid};
use crate::Result;
use crate::ir::{Name, Program};
use crate::schedule::{Schedule, Trace};

/// Inner spatial loops that stay loops of their own.
const ROWS: usize = 2;

impl MicroKernel {
    /// The micro-kernel that is the nest as it stands, for a CPU.
    pub fn nest(program: &Program) -> MicroKernel {
        let mut schedule = as_it_stands(program).expect("the outer spatial loops are neighbours, and outermost");
        schedule.enter_postproc();
        MicroKernel::of_trace(Trace::new(schedule.trace()), NEST)
    }
}

/// A program's only block, its outer loops parallel.
pub(super) fn as_it_stands(program: &Program) -> Result<Schedule> {
    let block = &program.blocks[0];
    let mut schedule = Schedule::new(program, block);
    let spatial: Vec<Name> = block.iters_of(Role::Spatial).map(|iter| iter.name.clone()).collect();
    let outer = spatial.len().saturating_sub(ROWS).max(1).min(spatial.len());
    let grid = grid::fuse_all(&mut schedule, &spatial[..outer], "block")?;
    grid.iter().try_for_each(|name| schedule.parallel(name))?;
    if block.reduction.is_some() {
        schedule.decompose_reduction()?;
    }
    Ok(schedule)
}
