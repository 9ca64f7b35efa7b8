//! What limits a space of schedules.

use std::collections::BTreeMap;

use crate::ir::Name;
use crate::machine::Target;

/// The largest extent or tile, also where no instance bounds an axis.
pub const MAX_EXTENT: i64 = 1 << 31;

/// What limits a space: the target, and how large the axes become.
#[derive(Clone, Debug, PartialEq)]
pub struct Bounds {
    /// The target.
    pub target: Target,
    /// The extents of each iteration variable of the block at the workload instances, each once, ascending. One without any is
    /// unbounded.
    pub extents: BTreeMap<Name, Vec<i64>>,
}
