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
//! and where sums are short and constant, which a compiler writes out.

use dietcode_syntax::{KernelDef, Role};

use super::{Traced, grid};
use crate::Result;
use crate::frontend;
use crate::ir::{Name, Program};
use crate::schedule::{Schedule, Trace};

/// Inner spatial loops that stay loops of their own.
const ROWS: usize = 2;

impl Traced {
    /// The micro-kernel that is the nest as it stands, for a CPU.
    pub fn nest(def: &KernelDef) -> Traced {
        let schedule =
            as_it_stands(&frontend::program(def)).expect("the outer spatial loops are neighbours, and outermost");
        Traced { trace: Trace::new(schedule.trace()) }
    }

    /// Whether it is the nest as it stands: nothing in it is split or copied.
    pub fn is_nest(&self) -> bool {
        use crate::schedule::Instruction::{DecomposeReduction, Fuse, Kind};
        self.trace.instructions.iter().all(|i| matches!(i, Fuse { .. } | Kind(..) | DecomposeReduction))
    }
}

fn as_it_stands(program: &Program) -> Result<Schedule> {
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
