//! The whole space of a program's schedules: its sketches, and the traces that are drawn from them.
//!
//! ```text
//! program ── rules ──► sketches ── sample ──► traces ── replay, postprocs, lower ──► applied
//!                                     ▲          │
//!                                     └─ mutate ─┴─ crossover
//! ```

mod apply;
mod generate;

use std::collections::BTreeMap;

pub use generate::drafts;

use dietcode_syntax::KernelDef;

use crate::ir::{Name, Program};
use crate::lower::LoopNest;
use crate::machine::Target;
use crate::schedule::{Schedule, Trace};

/// What limits a space: the target, and how large the axes become.
#[derive(Clone, Debug, PartialEq)]
pub struct Bounds {
    /// The target.
    pub target: Target,
    /// The extents of each iteration variable of the block at the workload instances, each once, ascending.
    pub extents: BTreeMap<Name, Vec<i64>>,
}

/// The sketches of a kernel on a target, for a set of workload instances.
#[derive(Clone, Debug)]
pub struct Space {
    /// The kernel.
    pub def: KernelDef,
    /// Its program, one block.
    pub program: Program,
    /// What limits it.
    pub bounds: Bounds,
    /// Traces with open decisions.
    pub sketches: Vec<Trace>,
    /// The user's own rule that made them, if one did, as errors about them begin.
    pub rule: Option<String>,
}

/// A trace carried out.
#[derive(Clone, Debug)]
pub struct Applied {
    /// The trace.
    pub trace: Trace,
    /// The kernels in the order of their launches; on a CPU there is one.
    pub schedules: Vec<Schedule>,
    /// The same, lowered.
    pub nests: Vec<LoopNest>,
    /// A hash of the structure of the lowered program: equal for traces that come to the same code.
    pub hash: [u8; 32],
}
