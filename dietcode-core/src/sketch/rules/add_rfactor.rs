//! A long sum of few outputs is shared by tiles of the grid: blocks of a GPU, tasks of a CPU; split-K.
//!
//! It applies to a block that sums, where at the smallest workload instance the outputs make fewer tiles than the device has
//! multiprocessors, or the CPU cores, and the sum is long enough for two parts. On a GPU, the output has an axis: a sum over everything is
//! shared by the threads of one block. On a CPU, terms behind the end of the sum change nothing if its inputs are padded, since there
//! are as many parts at every shape. Whether it helps is measured: the partial sketch without it is kept.
//!
//! ```text
//! for i, j                      for k_1 in 0..k_split bound to the grid, or parallel
//!   for k                  →      for i, j, k_0: y_parts[k_1][i][j] += x · w       a second kernel adds them in order, or
//!     y[i][j] += x · w            for i, j, k_0: y[i][j] += x · w                  atomic additions, where f32 is stored as it is
//! ```
//!
//! This rule says so; the rule that makes the tiles splits the sum. The number of parts is one of its decisions, so that a result has the
//! same bits on any number of threads.
//!
//! Source: `AddRFactor` of MetaSchedule.

use dietcode_syntax::Role;

use super::{PartialSketch, Rule};
use crate::Result;
use crate::ir::Block;
use crate::lower::can_be_padded;
use crate::machine::Target;
use crate::schedule::Combine;

/// What makes a sum one to be shared on a target.
struct Sizes {
    /// Outputs of a modest tile.
    outputs: i64,
    /// Tiles that are carried out at once.
    units: i64,
    /// The shortest part of a sum that is worth a tile.
    shortest: i64,
}

impl Sizes {
    fn of(target: &Target) -> Sizes {
        match target {
            // 256 threads with 4 each.
            Target::Cuda(device) => Sizes { outputs: 1024, units: device.multiprocessors.into(), shortest: 64 },
            // A part takes as long as threads take to begin.
            Target::Cpu(target) => Sizes { outputs: 64, units: target.cores, shortest: 1 << 14 },
        }
    }
}

/// The rule.
#[derive(Clone, Copy, Debug)]
pub struct AddRFactor;

impl Rule for AddRFactor {
    fn name(&self) -> &'static str {
        "AddRFactor"
    }

    fn apply(&self, partial: PartialSketch, block: usize) -> Result<Vec<PartialSketch>> {
        let own = partial.block(block);
        if partial.is_tiled() || !sums(&partial.bounds.target, own) {
            return Ok(vec![partial]);
        }
        let Sizes { outputs, units, shortest } = Sizes::of(&partial.bounds.target);
        let fills = partial.fewest_outputs(own) / outputs >= units;
        let Some(axis) = partial.longest(own).filter(|axis| !fills && partial.most(axis) >= 2 * shortest) else {
            return Ok(vec![partial]);
        };
        let ways = match partial.bounds.target {
            Target::Cpu(_) if can_be_padded(own, &axis) => vec![Combine::Workspace],
            Target::Cpu(_) => Vec::new(),
            Target::Cuda(_) if own.holds_sum() => vec![Combine::Workspace, Combine::Atomic],
            Target::Cuda(_) => vec![Combine::Workspace],
        };
        let shared = ways.into_iter().map(|combine| PartialSketch { combine: Some(combine), ..partial.clone() });
        Ok(std::iter::once(partial.clone()).chain(shared).collect())
    }
}

/// Whether it sums, on a GPU for more than one element.
fn sums(target: &Target, block: &Block) -> bool {
    block.reduction.is_some() && (target.cpu().is_some() || block.iters_of(Role::Spatial).next().is_some())
}
